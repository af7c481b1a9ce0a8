package test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// worldReadableDir makes a folder that pmcd's user can read; t.TempDir is private.
func worldReadableDir(t *testing.T) string {
	t.Helper()
	dir := must(os.MkdirTemp("/tmp", "pmdaderived-"))(t)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// must returns the value of a call that may not fail: must(os.ReadFile(path))(t).
func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		require.NoError(tb, err)
		return v
	}
}

package derivedtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Update is the flag -update: golden files are written, not compared.
var Update = flag.Bool("update", false, "write the golden files again")

// Golden compares text with a file, or writes the file.
func Golden(t *testing.T, file, text string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *Update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

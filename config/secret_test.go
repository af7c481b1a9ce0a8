package config

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A user can read a file if its mode and the modes of all directories above it, after all links, allow it.
func TestFilesThatNotEverybodyMayRead(t *testing.T) {
	inTree(t, map[string]string{
		"open/a": "a = 1\n", "open/b": "b = 2\na(oneline) = text of b\n", "shut/c": "c = 3\n", "open/link": "->../shut/c", "shut/link": "->../open/a",
	})
	require.NoError(t, os.Chmod("open/b", 0o640))
	require.NoError(t, os.Chmod("shut", 0o750))
	for path, want := range map[string]bool{
		"open/a": false, "open/b": true, "shut/c": true, "open/link": true, "shut/link": false, "open/../shut/c": true, "open/none": true,
	} {
		assert.Equal(t, want, Secret(path), path)
	}

	loaded := Load([]string{"open/a", "open/b", "shut/c"}, nil)
	var secret []bool
	for _, s := range loaded.Sources {
		secret = append(secret, s.Secret)
	}
	assert.Equal(t, []bool{false, true, true}, secret)
	for _, d := range loaded.Definitions {
		assert.True(t, d.Secret, "%s: a has a text of b", d.Name)
	}

	before := scanFiles([]string{"open/a"}, readFiles)
	require.NoError(t, os.Chmod("open/a", 0o600))
	assert.NotEqual(t, before.digest, scanFiles([]string{"open/a"}, readFiles).digest, "a change of mode is a change")
}

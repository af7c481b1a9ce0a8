package identity

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/regular"
)

// If the state file is not a regular file, it is neither read, written, moved nor removed, and no call waits for it.
func TestStateThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	fifo, link, folder := filepath.Join(dir, "fifo"), filepath.Join(dir, "link"), filepath.Join(dir, "folder")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.NoError(t, os.Symlink("/dev/zero", link))
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, path := range []string{fifo, link, folder, "/dev/full", "/dev/zero", "/dev/urandom"} {
		before, err := os.Lstat(path)
		require.NoError(t, err)
		r, err := Load(path, testDomain)
		require.ErrorIs(t, err, regular.ErrNotRegular)
		assert.EqualError(t, err, "identities: open "+path+": not a regular file")
		pmid(t, r, "m")
		assert.True(t, r.changed)
		require.NoError(t, r.Save())
		after, err := os.Lstat(path)
		require.NoError(t, err)
		assert.True(t, os.SameFile(before, after), path)
		_, err = os.Lstat(path + ".damaged")
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = LoadReadOnly(path)
		require.ErrorIs(t, err, regular.ErrNotRegular)
	}
}

// removeLeftovers removes regular files only.
func TestLeftoverThatIsNoFile(t *testing.T) {
	path := stateFile(t)
	fifo := filepath.Join(filepath.Dir(path), leftoverPrefix(path)+"123")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	_, err := Load(path, testDomain)
	require.NoError(t, err)
	info, err := os.Lstat(fifo)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeNamedPipe, info.Mode().Type())
}

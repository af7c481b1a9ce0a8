package regular_test

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

// A file that is not regular is refused at once, for every user, and the error names it.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o666))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("/dev/zero", link))
	for _, path := range []string{fifo, link, dir, "/dev/full", "/dev/zero", "/dev/urandom", "/dev/null"} {
		for name, flag := range map[string]int{
			"read": os.O_RDONLY, "write": os.O_WRONLY,
			"append": os.O_WRONLY | os.O_APPEND,
		} {
			f, err := regular.Open(path, flag)
			require.ErrorIs(t, err, regular.ErrNotRegular, "%s %s", name, path)
			assert.Nil(t, f)
			assert.EqualError(t, err, "open "+path+": not a regular file")
		}
	}
}

func TestReadTakesNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("0123456789"), 0o600))
	link := path + ".link"
	require.NoError(t, os.Symlink(path, link))
	for most, want := range map[int64]string{4: "0123", 10: "0123456789", 99: "0123456789"} {
		text, err := regular.Read(link, most)
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
	}
	_, err := regular.Open(link, os.O_RDONLY|syscall.O_NOFOLLOW)
	require.ErrorIs(t, err, syscall.ELOOP)
	_, err = regular.Read(path+".none", 1)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.EqualError(t, err, "open "+path+".none: no such file or directory")
}

// A file that somebody has a lease on is opened when the lease is over: to wait for that is the caller's business.
func TestLeasesMakeNobodyWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	const setLease = 1024
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, syscall.F_WRLCK)
	if errno == syscall.EINVAL || errno == syscall.EOPNOTSUPP {
		return // a file system without leases
	}
	require.Zero(t, errno)
	_, err = regular.Open(path, os.O_RDONLY)
	require.ErrorIs(t, err, syscall.EAGAIN)
}

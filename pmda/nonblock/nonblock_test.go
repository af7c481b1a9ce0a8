package nonblock

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair returns two sockets that are connected.
func pair(t *testing.T) (ours, theirs int) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = syscall.Close(fds[0])
		_ = syscall.Close(fds[1])
	})
	return fds[0], fds[1]
}

func TestReadAndWrite(t *testing.T) {
	ours, theirs := pair(t)
	b := make([]byte, 10)
	_, err := Read(ours, b)
	require.Equal(t, syscall.EAGAIN, err)
	assert.False(t, Arrived(ours))

	n, err := Write(theirs, []byte("reply"))
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	assert.True(t, Arrived(ours))
	n, err = Read(ours, b)
	require.NoError(t, err)
	assert.Equal(t, "reply", string(b[:n]))
	assert.False(t, Arrived(ours))

	n, err = Read(ours, nil)
	require.NoError(t, err)
	assert.Zero(t, n)

	big, err := Write(theirs, make([]byte, 8<<20))
	require.NoError(t, err)
	assert.Less(t, big, 8<<20, "what there is room for")
	_, err = Write(theirs, b)
	require.Equal(t, syscall.EAGAIN, err)
}

func TestEndOfTheStream(t *testing.T) {
	ours, theirs := pair(t)
	require.NoError(t, syscall.Shutdown(theirs, syscall.SHUT_WR))
	assert.True(t, Arrived(ours))
	n, err := Read(ours, make([]byte, 1))
	require.NoError(t, err)
	assert.Zero(t, n)

	_, err = Read(-1, make([]byte, 1))
	require.Equal(t, syscall.EBADF, err)
	assert.True(t, Arrived(-1), "a read tells what is wrong")
}

func TestNothingIsAllocated(t *testing.T) {
	ours, theirs := pair(t)
	b := make([]byte, 1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = Write(theirs, b)
		_ = Arrived(ours)
		_, _ = Read(ours, b)
		_, _ = Read(ours, b)
	}))
}

package nonblock

import (
	"os"
	"syscall"
	"testing"
	"time"

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

	n, err := Write(theirs, []byte("reply"))
	require.NoError(t, err)
	assert.Equal(t, 5, n)
	n, err = Read(ours, b)
	require.NoError(t, err)
	assert.Equal(t, "reply", string(b[:n]))

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
	n, err := Read(ours, make([]byte, 1))
	require.NoError(t, err)
	assert.Zero(t, n)

	_, err = Read(-1, make([]byte, 1))
	require.Equal(t, syscall.EBADF, err)
}

func TestUnread(t *testing.T) {
	var ends [2]int
	require.NoError(t, syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK))
	defer syscall.Close(ends[0])
	defer syscall.Close(ends[1])
	for _, want := range []int{0, 5, 10} {
		for _, end := range ends {
			n, err := Unread(end)
			require.NoError(t, err)
			assert.Equal(t, want, n)
		}
		_, err := Write(ends[1], []byte("bytes"))
		require.NoError(t, err)
	}
	_, err := Unread(-1)
	require.Equal(t, syscall.EBADF, err)
}

func TestRoom(t *testing.T) {
	ours, theirs := pair(t)
	require.NoError(t, Room(ours, 0), "an empty socket has room")
	_, err := Write(ours, make([]byte, 8<<20))
	require.NoError(t, err)
	began := time.Now()
	require.ErrorIs(t, Room(ours, 20*time.Millisecond), os.ErrDeadlineExceeded)
	assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
	require.ErrorIs(t, Room(ours, -time.Second), os.ErrDeadlineExceeded)

	done := make(chan error)
	go func() { done <- Room(ours, time.Minute) }()
	for b := make([]byte, 1<<20); err == nil; {
		_, err = Read(theirs, b)
	}
	require.NoError(t, <-done)
	require.NoError(t, syscall.Shutdown(theirs, syscall.SHUT_RD))
	require.NoError(t, Room(ours, 0), "a write tells what is wrong")
}

func TestNothingIsAllocated(t *testing.T) {
	ours, theirs := pair(t)
	b := make([]byte, 1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = Write(theirs, b)
		_, _ = Read(ours, b)
		_, _ = Read(ours, b)
	}))
}

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

// Armed once, an epoll instance tells once, also of what is there already.
func TestArmed(t *testing.T) {
	ours, theirs := pair(t)
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(epoll) })
	require.Equal(t, syscall.ENOENT, Arm(epoll, ours), "it does not know the socket")
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLONESHOT, Fd: int32(ours)}
	require.NoError(t, syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, ours, &event))
	assert.False(t, Fired(epoll))

	_, err = Write(theirs, []byte("request"))
	require.NoError(t, err)
	assert.True(t, Fired(epoll))
	assert.False(t, Fired(epoll), "it has told")
	require.NoError(t, Arm(epoll, ours))
	assert.True(t, Fired(epoll))

	_, err = Read(ours, make([]byte, 10))
	require.NoError(t, err)
	require.NoError(t, Arm(epoll, ours))
	assert.False(t, Fired(epoll), "nothing to read")
	require.NoError(t, syscall.Shutdown(theirs, syscall.SHUT_WR))
	assert.True(t, Fired(epoll), "the end of the stream")
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

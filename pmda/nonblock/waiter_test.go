package nonblock

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long what must happen soon may take.
const patience = 10 * time.Second

// newWaiter returns a Waiter for one of two sockets that are connected.
func newWaiter(t *testing.T) (w *Waiter, ours, theirs int) {
	t.Helper()
	ours, theirs = pair(t)
	w, err := NewWaiter(ours)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	return w, ours, theirs
}

// asleep calls wait in a goroutine and returns when the Waiter has armed its epoll instance.
func asleep(t *testing.T, w *Waiter, wait func() error) (result <-chan error) {
	t.Helper()
	armed := make(chan struct{}, 1)
	for _, arrived := range []*func(uintptr) bool{&w.readable, &w.writable} {
		look := *arrived
		*arrived = func(epoll uintptr) bool {
			defer func() {
				select {
				case armed <- struct{}{}:
				default:
				}
			}()
			return look(epoll)
		}
	}
	done := make(chan error, 1)
	go func() { done <- wait() }()
	<-armed
	return done
}

func soon(t *testing.T, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		require.FailNow(t, "still waiting")
		return nil
	}
}

func write(t *testing.T, fd, bytes int) {
	t.Helper()
	n, err := Write(fd, make([]byte, bytes))
	require.NoError(t, err)
	require.Equal(t, bytes, n)
}

func read(t *testing.T, fd int) {
	t.Helper()
	_, err := Read(fd, make([]byte, 1<<20))
	require.NoError(t, err)
}

// A Waiter returns as long as there is something to read, and not when there is not.
func TestWaitReadable(t *testing.T) {
	w, ours, theirs := newWaiter(t)
	for range 3 {
		result := asleep(t, w, w.WaitReadable)
		write(t, theirs, 5)
		require.NoError(t, soon(t, result))
		for range 3 {
			require.NoError(t, w.WaitReadable(), "it is there still")
		}
		read(t, ours)

		require.NoError(t, w.SetDeadline(time.Now().Add(5*time.Millisecond)))
		require.ErrorIs(t, w.WaitReadable(), os.ErrDeadlineExceeded)
		require.NoError(t, w.SetDeadline(time.Time{}))
	}

	result := asleep(t, w, w.WaitReadable)
	require.NoError(t, syscall.Shutdown(theirs, syscall.SHUT_WR))
	require.NoError(t, soon(t, result), "the end of the stream")
	require.NoError(t, w.WaitReadable())
}

// What came after a wait had ended early, and what was there before the first, is not overlooked.
func TestWaitReadableLate(t *testing.T) {
	w, ours, theirs := newWaiter(t)
	for range 3 {
		require.NoError(t, w.SetDeadline(time.Now().Add(time.Millisecond)))
		require.ErrorIs(t, w.WaitReadable(), os.ErrDeadlineExceeded)
		write(t, theirs, 5)
		require.NoError(t, w.SetDeadline(time.Time{}))
		require.NoError(t, w.WaitReadable())
		read(t, ours)
	}
	write(t, theirs, 5)
	early, err := NewWaiter(ours)
	require.NoError(t, err)
	defer func() { _ = early.Close() }()
	require.NoError(t, early.WaitReadable())

	dead, over := pair(t)
	require.NoError(t, syscall.Shutdown(over, syscall.SHUT_RDWR))
	last, err := NewWaiter(dead)
	require.NoError(t, err)
	defer func() { _ = last.Close() }()
	require.NoError(t, last.WaitReadable(), "over before it began")
}

// What somebody else reads before the waiting goroutine has run does not end its wait.
func TestWaitReadableTaken(t *testing.T) {
	w, ours, theirs := newWaiter(t)
	looks, taken := 0, make(chan bool, 1)
	look := w.readable
	w.readable = func(epoll uintptr) bool {
		if looks++; looks != 2 {
			return look(epoll)
		}
		_, _ = Read(ours, make([]byte, 1))
		arrived := look(epoll)
		taken <- !arrived
		return arrived
	}
	result := asleep(t, w, w.WaitReadable)
	write(t, theirs, 1)
	require.True(t, <-taken)
	write(t, theirs, 1)
	require.NoError(t, soon(t, result))
	assert.Equal(t, 3, looks)
}

// A wait for room and one for bytes follow each other on the same Waiter.
func TestWaitWritable(t *testing.T) {
	w, ours, theirs := newWaiter(t)
	require.NoError(t, w.WaitWritable(), "an empty socket has room")
	_, err := Write(ours, make([]byte, 8<<20))
	require.NoError(t, err)
	require.NoError(t, w.SetDeadline(time.Now().Add(5*time.Millisecond)))
	require.ErrorIs(t, w.WaitWritable(), os.ErrDeadlineExceeded)
	require.ErrorIs(t, w.WaitReadable(), os.ErrDeadlineExceeded)
	require.NoError(t, w.SetDeadline(time.Time{}))

	result := asleep(t, w, w.WaitWritable)
	write(t, theirs, 1)
	for err == nil {
		_, err = Read(theirs, make([]byte, 1<<20))
	}
	require.NoError(t, soon(t, result))
	require.NoError(t, w.WaitReadable())
	read(t, ours)
	result = asleep(t, w, w.WaitReadable)
	write(t, theirs, 1)
	require.NoError(t, soon(t, result))
}

// Of the events that a socket has, the poller is told of the one that somebody waits for, once.
func TestWhatWakes(t *testing.T) {
	w, ours, theirs := newWaiter(t)
	poller := func(fd int) (told func() bool) { // as Go's registers what it knows
		epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
		require.NoError(t, err)
		t.Cleanup(func() { _ = syscall.Close(epoll) })
		event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLOUT | syscall.EPOLLRDHUP | 1<<31, Fd: int32(fd)}
		require.NoError(t, syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd, &event))
		return func() bool { return fired(epoll) }
	}
	var epoll int
	require.NoError(t, w.raw.Control(func(fd uintptr) { epoll = int(fd) }))
	ofWaiter, ofSocket := poller(epoll), poller(ours)
	ofSocket() // there is room from the beginning
	assert.False(t, ofWaiter())

	looks, told, look := 0, make(chan struct{}), w.readable
	w.readable = func(epoll uintptr) bool {
		if looks++; looks == 2 {
			<-told // or it might take the event before the test has seen it
		}
		return look(epoll)
	}
	result := asleep(t, w, w.WaitReadable)
	write(t, ours, 5)
	read(t, theirs)
	assert.False(t, ofWaiter(), "our request was read")
	assert.True(t, ofSocket(), "that would have woken us")
	write(t, theirs, 5)
	assert.True(t, ofWaiter(), "the answer")
	close(told)
	require.NoError(t, soon(t, result))
	read(t, ours)

	ofWaiter()
	write(t, theirs, 5)
	assert.False(t, ofWaiter(), "nobody waits")
	require.NoError(t, syscall.Shutdown(theirs, syscall.SHUT_RDWR))
	assert.False(t, ofWaiter(), "nobody waits")
	assert.True(t, ofSocket())
}

func TestWaiterClose(t *testing.T) {
	w, ours, _ := newWaiter(t)
	result := asleep(t, w, w.WaitReadable)
	require.NoError(t, w.Close())
	err := soon(t, result)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Error(t, w.WaitReadable())
	require.Error(t, w.WaitWritable())
	require.Error(t, w.SetDeadline(time.Now()))
	require.ErrorIs(t, w.Close(), os.ErrClosed)
	_, err = Read(ours, make([]byte, 1))
	require.Equal(t, syscall.EAGAIN, err, "the descriptor is its owner's")
}

func TestNoWaiter(t *testing.T) {
	_, err := NewWaiter(-1)
	require.ErrorIs(t, err, syscall.EBADF)

	w, ours, _ := newWaiter(t)
	forget := func(epoll uintptr) { err = syscall.EpollCtl(int(epoll), syscall.EPOLL_CTL_DEL, ours, nil) }
	require.NoError(t, w.raw.Control(forget))
	require.NoError(t, err)
	require.NoError(t, w.WaitReadable(), "a read tells what is wrong")
}

func TestWaitingAllocatesNothing(t *testing.T) {
	w, ours, theirs := newWaiter(t)
	b := make([]byte, 1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = Write(theirs, b)
		_ = w.WaitReadable()
		_, _ = Read(ours, b)
		_ = w.WaitWritable()
	}))
}

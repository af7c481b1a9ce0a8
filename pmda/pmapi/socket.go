package pmapi

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"pmdaderived/pmda/nonblock"
)

// socket is the socket of a connection, out of Go's poller: it would wake a thread each time that pmcd reads a request
// (docs/decisions/0010). Its descriptor is not blocking. readNow and writeSoon may be called while another goroutine is
// in waitReadable; Read and Write wait the same way, so they may not. SetDeadline and Close may be called at any
// time.
type socket struct {
	waiter *nonblock.Waiter // for fd, as long as it is open

	mu     sync.Mutex // against a close while fd is in use
	fd     int        // guarded by mu
	closed bool       // guarded by mu
}

// newSocket makes a socket of a connection, which it closes, even if it fails: a duplicate of the descriptor stays.
func newSocket(nc net.Conn) (*socket, error) {
	fd, err := duplicate(nc)
	_ = nc.Close() // takes it out of the poller
	if err != nil {
		return nil, err
	}
	waiter, err := nonblock.NewWaiter(fd)
	if err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return &socket{waiter: waiter, fd: fd}, nil
}

func duplicate(nc net.Conn) (fd int, err error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("no socket: %T", nc)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0, err
	}
	var errno syscall.Errno
	err = raw.Control(func(old uintptr) {
		var dup uintptr
		dup, _, errno = syscall.Syscall(syscall.SYS_FCNTL, old, syscall.F_DUPFD_CLOEXEC, 0)
		fd = int(dup)
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("fcntl", errno)
	}
	return fd, err
}

// Read waits until something has arrived, or for the deadline.
func (s *socket) Read(b []byte) (int, error) {
	for {
		n, err := s.readNow(b)
		if !errors.Is(err, syscall.EAGAIN) {
			return n, err
		}
		if err := s.waiter.WaitReadable(); err != nil {
			return 0, err
		}
	}
}

// readNow reads what has arrived; EAGAIN if nothing has.
func (s *socket) readNow(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, net.ErrClosed
	}
	n, err := nonblock.Read(s.fd, b)
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return 0, err
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write waits until there has been room for everything, or for the deadline.
func (s *socket) Write(b []byte) (done int, err error) {
	for {
		n, err := s.writeNow(b[done:])
		if done += n; err != nil || done == len(b) {
			return done, err
		}
		if err := s.waiter.WaitWritable(); err != nil {
			return done, err
		}
	}
}

// writeSoon is Write that waits for so long at most, in place of the deadline. What there is room for it writes in
// any case: on a machine that is short of CPU a short time can be over before the write has begun.
func (s *socket) writeSoon(b []byte, patience time.Duration) (done int, err error) {
	for end := time.Now().Add(patience); ; {
		n, err := s.writeNow(b[done:])
		if done += n; err != nil || done == len(b) {
			return done, err
		}
		if err := s.awaitRoom(time.Until(end)); err != nil {
			return done, err
		}
	}
}

// writeNow writes what there is room for, which may be nothing.
func (s *socket) writeNow(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, net.ErrClosed
	}
	n, err := nonblock.Write(s.fd, b)
	if err != nil && !errors.Is(err, syscall.EAGAIN) {
		return n, os.NewSyscallError("write", err)
	}
	return n, nil
}

// awaitRoom waits without the waiter, which another goroutine may be waiting with. Meanwhile Close waits, too.
func (s *socket) awaitRoom(d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	return nonblock.Room(s.fd, d)
}

// waitReadable waits until there is something to read, or for the deadline.
func (s *socket) waitReadable() error { return s.waiter.WaitReadable() }

// SetDeadline says when Read, Write and waitReadable give up waiting, with os.ErrDeadlineExceeded; the zero time is never.
// A Read that finds something and a Write that finds room need not wait: they succeed after the deadline, too.
func (s *socket) SetDeadline(t time.Time) error { return s.waiter.SetDeadline(t) }

// Close ends the calls under way. More than once is no error.
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	return errors.Join(s.waiter.Close(), os.NewSyscallError("close", syscall.Close(s.fd)))
}

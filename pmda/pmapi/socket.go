package pmapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// socket is the socket of a connection: that of package net, and what never waits. A net.Conn lets one goroutine read
// at a time, waiting included, so readNow and writeSoon go past it: they may be called while another goroutine
// is in waitReadable. SetDeadline and Close may be called at any time.
type socket struct {
	net.Conn
	raw syscall.RawConn

	// The system call of readNow or writeSoon under way: what it is for and what came of it. The functions are values,
	// made once, so that a fetch allocates none.
	buf         []byte
	n           int
	err         error
	read, write func(fd uintptr)
}

// newSocket takes over a connection, which it closes if it fails.
func newSocket(nc net.Conn) (*socket, error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("no socket: %T", nc), nc.Close())
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, nc.Close())
	}
	s := &socket{Conn: nc, raw: raw}
	s.read = func(fd uintptr) { s.n, s.err = syscall.Read(int(fd), s.buf) }
	s.write = func(fd uintptr) { s.n, s.err = syscall.Write(int(fd), s.buf) }
	return s, nil
}

// readNow reads what has arrived; EAGAIN if nothing has.
func (s *socket) readNow(b []byte) (int, error) {
	n, err := s.transfer("read", s.read, b)
	if n == 0 && err == nil && len(b) > 0 {
		return 0, io.EOF
	}
	return n, err
}

// writeSoon writes b and waits for room for so long at most. What there is room for it writes in any case: on a machine
// that is short of CPU a short time can be over before the write has begun.
func (s *socket) writeSoon(b []byte, timeout time.Duration) (int, error) {
	n, err := s.transfer("write", s.write, b)
	if n == len(b) || err != nil && !errors.Is(err, syscall.EAGAIN) {
		return n, err
	}
	if err := s.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return n, err
	}
	rest, err := s.Write(b[n:])
	return n + rest, err
}

// transfer makes one system call that does not wait, since the sockets of package net have O_NONBLOCK.
func (s *socket) transfer(op string, call func(fd uintptr), b []byte) (int, error) {
	s.buf = b
	defer func() { s.buf = nil }()
	for {
		if err := s.raw.Control(call); err != nil {
			return 0, err
		}
		switch {
		case s.err == nil:
			return s.n, nil
		case errors.Is(s.err, syscall.EAGAIN):
			return 0, s.err
		case !errors.Is(s.err, syscall.EINTR):
			return 0, os.NewSyscallError(op, s.err)
		}
	}
}

// waitReadable waits until there is something to read or the connection has ended, or for the deadline.
func (s *socket) waitReadable() error { return s.raw.Read(readable) }

// readable reports whether a read would return anything, be it an error or the end.
func readable(fd uintptr) bool {
	var first [1]byte
	_, _, err := syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK)
	return !errors.Is(err, syscall.EAGAIN)
}

// interruptible sets a deadline that the end of the context brings forward, until release is called.
// Errors of set are left to the read or write that follows.
func interruptible(ctx context.Context, deadline time.Time, set func(time.Time) error) (release func()) {
	_ = set(deadline)
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = set(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-done // or it would hit the next wait
		}
	}
}

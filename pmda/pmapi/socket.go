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

// socket is the socket of a connection. It adds reads and writes that do not wait to those of package net. A net.Conn
// lets one goroutine at a time read, and waitReadable counts as a read. So readNow and writeSoon use the descriptor
// directly, and may be called while another goroutine is in waitReadable. SetDeadline and Close may be called at any
// time.
type socket struct {
	net.Conn
	raw syscall.RawConn

	// buf, n and err are the argument and the results of the current system call of readNow or writeSoon. read and
	// write make the call. They are fields so that a fetch does not allocate closures.
	buf         []byte
	n           int
	err         error
	read, write func(fd uintptr)
}

// newSocket returns the socket of nc. On an error it closes nc.
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

// readNow reads bytes that have arrived. It returns EAGAIN if there are none.
func (s *socket) readNow(b []byte) (int, error) {
	n, err := s.transfer("read", s.read, b)
	if n == 0 && err == nil && len(b) > 0 {
		return 0, io.EOF
	}
	return n, err
}

// writeSoon writes b and waits for space in the buffer of the socket up to timeout. First it writes as much as there is
// space for, without a deadline: on a busy machine a short timeout may be over before a write begins.
func (s *socket) writeSoon(b []byte, timeout time.Duration) error {
	n, err := s.transfer("write", s.write, b)
	if n == len(b) || err != nil && !errors.Is(err, syscall.EAGAIN) {
		return err
	}
	if err := s.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err = s.Write(b[n:])
	return err
}

// transfer makes one system call. It does not wait, because the sockets of package net have O_NONBLOCK.
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

// waitReadable waits until there is something to read, the connection has ended, or the deadline has passed.
func (s *socket) waitReadable() error { return s.raw.Read(readable) }

// readable reports whether a read would return at once, also with an error or the end.
func readable(fd uintptr) bool {
	var first [1]byte
	_, _, err := syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK)
	return !errors.Is(err, syscall.EAGAIN)
}

// interruptible sets a deadline with set. If the context ends before release is called, it sets a deadline in the past.
// Errors of set are ignored: the next read or write returns them.
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
			<-done // otherwise its deadline could interrupt the next wait
		}
	}
}

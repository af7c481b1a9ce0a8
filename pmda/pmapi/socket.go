package pmapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"pmdaderived/internal/nowait"
)

// socket is the socket of a connection. Its reads and writes wait with Go's poller, or not at all. readNow and writeSoon
// may be called while another goroutine is in waitReadable. SetDeadline and Close may be called at any time.
type socket struct {
	net.Conn
	file *nowait.File
}

// newSocket returns the socket of nc. On an error it closes nc.
func newSocket(nc net.Conn) (*socket, error) {
	file, err := nowait.New(nc)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%T is not a valid socket: %w", nc, err), nc.Close())
	}
	return &socket{Conn: nc, file: file}, nil
}

// Read waits for bytes and reads them.
func (s *socket) Read(b []byte) (int, error) { return s.file.Read(b) }

// Write writes all bytes, and waits for space in the buffer of the socket.
func (s *socket) Write(b []byte) (int, error) { return s.file.Write(b) }

// readNow reads bytes that have arrived. It returns EAGAIN if there are none.
func (s *socket) readNow(b []byte) (int, error) { return s.file.ReadNow(b) }

// writeSoon writes b and waits for space in the buffer of the socket up to timeout. First it writes as much as there is
// space for, without a deadline: on a busy machine a short timeout may be over before a write begins.
func (s *socket) writeSoon(b []byte, timeout time.Duration) error {
	n, err := s.file.WriteNow(b)
	if n == len(b) || err != nil && !errors.Is(err, syscall.EAGAIN) {
		return err
	}
	if err := s.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err = s.Write(b[n:])
	return err
}

// waitReadable waits until there is something to read, the connection has ended, or the deadline has passed.
func (s *socket) waitReadable() error { return s.file.WaitReadable() }

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

package nonblock

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Waiter waits in Go's poller for a descriptor that is not there itself. The poller would register it for both
// directions and for good, so that a thread is woken each time that a peer has read what was written. It knows an
// epoll instance of the Waiter's instead, which tells of one event at a time: what was waited for.
//
// One goroutine may wait at a time; Close and SetDeadline may be called at any time.
type Waiter struct {
	fd   int
	file *os.File // of the epoll instance
	raw  syscall.RawConn

	readable, writable func(epoll uintptr) bool // arrived for one event each, as values, made once

	armed uint32 // the event that the instance is to tell of and has not told of yet; of whoever is in raw.Read
}

// NewWaiter returns a Waiter for a descriptor, which must stay open until the Waiter is closed.
func NewWaiter(fd int) (*Waiter, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLONESHOT, Fd: int32(fd)}
	err = errors.Join(
		os.NewSyscallError("epoll_ctl", unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &event)),
		os.NewSyscallError("fcntl", unix.SetNonblock(epoll, true)))
	if err != nil {
		return nil, errors.Join(err, unix.Close(epoll))
	}
	w := &Waiter{fd: fd, file: os.NewFile(uintptr(epoll), "epoll")}
	w.readable = func(epoll uintptr) bool { return w.arrived(int(epoll), unix.EPOLLIN) }
	w.writable = func(epoll uintptr) bool { return w.arrived(int(epoll), unix.EPOLLOUT) }
	if w.raw, err = w.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

// WaitReadable returns when the descriptor has something to read, the end of the stream or an error. After a
// deadline the error is os.ErrDeadlineExceeded, after Close another one.
func (w *Waiter) WaitReadable() error { return w.raw.Read(w.readable) }

// WaitWritable is WaitReadable for room to write.
func (w *Waiter) WaitWritable() error { return w.raw.Read(w.writable) }

// arrived reports whether an event is there and sees to it that the poller is told if it is not. A wait that ended early
// leaves the instance armed, which does for the next one.
func (w *Waiter) arrived(epoll int, event uint32) bool {
	if w.armed != event {
		if arm(epoll, w.fd, event) != nil {
			return true // a read or write tells what is wrong
		}
		w.armed = event
	}
	if !fired(epoll) {
		return false
	}
	w.armed = 0
	return true
}

// SetDeadline ends the wait under way and those to come at t; the zero time is never.
func (w *Waiter) SetDeadline(t time.Time) error { return w.file.SetReadDeadline(t) }

// Close ends the wait under way. When it returns nobody uses the descriptor any more.
func (w *Waiter) Close() error { return w.file.Close() }

// arm has an epoll instance tell once of an event on fd, which it knows.
func arm(epoll, fd int, events uint32) error {
	event := syscall.EpollEvent{Events: events | syscall.EPOLLONESHOT, Fd: int32(fd)}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, uintptr(epoll), syscall.EPOLL_CTL_MOD, uintptr(fd),
		uintptr(unsafe.Pointer(&event)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// fired reports whether an epoll instance has something to tell, and takes one such thing from it.
func fired(epoll int) bool {
	var event syscall.EpollEvent
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&event)), 1, 0, 0, 0)
		if errno != syscall.EINTR {
			return errno == 0 && n > 0
		}
	}
}

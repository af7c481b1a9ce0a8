package pmda

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"pmdaderived/pmda/nonblock"
)

// lull waits for a descriptor in Go's poller, once at a time. The descriptor is in an epoll instance of its own
// and only that is in the poller's: so no thread is woken for what arrives while nobody waits here.
type lull struct {
	fd    int
	epoll int
	file  *os.File // of epoll
	raw   syscall.RawConn
	fired func(epoll uintptr) bool
}

func newLull(fd int) (*lull, error) {
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
	l := &lull{fd: fd, epoll: epoll, file: os.NewFile(uintptr(epoll), "epoll"), fired: func(epoll uintptr) bool {
		return nonblock.Fired(int(epoll))
	}}
	if l.raw, err = l.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// wait returns when the descriptor has something to read.
func (l *lull) wait() error {
	if err := nonblock.Arm(l.epoll, l.fd); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	return l.raw.Read(l.fired)
}

func (l *lull) close() error { return l.file.Close() }

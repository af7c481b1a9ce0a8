package pmda

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeEnd is one end of a pipe. It has the operations that os.File lacks.
type pipeEnd struct {
	raw   syscall.RawConn
	other int // unix.O_RDONLY or unix.O_WRONLY: the mode of the other end

	// countUnread sets n and err. It is a field so that a call of unread does not allocate a closure.
	countUnread func(fd uintptr)
	n           uint32
	err         error
}

// init fails if f is no pipe or its other end cannot be opened.
func (e *pipeEnd) init(f *os.File, other int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeNamedPipe {
		return os.ErrInvalid
	}
	if e.raw, err = f.SyscallConn(); err != nil {
		return err
	}
	e.other = other
	e.countUnread = func(fd uintptr) { e.n, e.err = unix.IoctlGetUint32(int(fd), unix.TIOCINQ) }
	end, err := e.reopen()
	if err != nil {
		return err
	}
	return unix.Close(end)
}

// unread returns the number of bytes in the pipe.
func (e *pipeEnd) unread() (int, error) {
	if err := e.raw.Control(e.countUnread); err != nil {
		return 0, err
	}
	return int(e.n), e.err
}

// reopen opens the other end without blocking. The caller closes it at once: while it is open, a reader of the pipe
// does not see the end of the stream, and a writer does not get EPIPE.
func (e *pipeEnd) reopen() (end int, err error) {
	controlErr := e.raw.Control(func(fd uintptr) {
		end, err = unix.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), e.other|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	return end, errors.Join(controlErr, os.NewSyscallError("open", err))
}

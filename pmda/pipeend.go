package pmda

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeEnd is one end of a pipe, for what os.File does not do.
type pipeEnd struct {
	raw   syscall.RawConn
	other int // unix.O_RDONLY or unix.O_WRONLY: what the other end is for

	countUnread func(fd uintptr) // a value, made once, so that a request allocates none; it leaves n and err
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

// unread is how many bytes are in the pipe.
func (e *pipeEnd) unread() (int, error) {
	if err := e.raw.Control(e.countUnread); err != nil {
		return 0, err
	}
	return int(e.n), e.err
}

// reopen opens the other end, not blocking. It is not kept: while there is another one the end of the stream does not
// show.
func (e *pipeEnd) reopen() (end int, err error) {
	controlErr := e.raw.Control(func(fd uintptr) {
		end, err = unix.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), e.other|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	return end, errors.Join(controlErr, os.NewSyscallError("open", err))
}

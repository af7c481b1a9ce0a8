package pmda

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"pmdaderived/internal/nowait"
)

// pipeEnd is one end of a pipe. It has the operations that os.File lacks.
type pipeEnd struct {
	file  *nowait.File
	other int // unix.O_RDONLY or unix.O_WRONLY: the mode of the other end
}

// init fails if f is no pipe, if it may block, or if its other end cannot be opened.
func (e *pipeEnd) init(f *os.File, other int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeNamedPipe {
		return os.ErrInvalid
	}
	if e.file, err = nowait.New(f); err != nil {
		return err
	}
	e.other = other
	end, err := e.reopen()
	if err != nil {
		return err
	}
	return unix.Close(end)
}

// reopen opens the other end without blocking. The caller closes it at once: while it is open, a reader of the pipe
// does not see the end of the stream, and a writer does not get EPIPE.
func (e *pipeEnd) reopen() (end int, err error) {
	controlErr := e.file.Control(func(fd uintptr) {
		end, err = unix.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), e.other|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	return end, errors.Join(controlErr, os.NewSyscallError("open", err))
}

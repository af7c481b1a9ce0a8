package pmda

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipeEnd is one end of a pipe, for what os.File does not do.
type pipeEnd struct {
	raw   syscall.RawConn
	other int // unix.O_RDONLY or unix.O_WRONLY: what the other end is for

	look  func(fd uintptr) // a value, made once, so that a request allocates none; it leaves n and errno
	n     int32
	errno syscall.Errno
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
	e.look = func(fd uintptr) { // not told to the scheduler, as the calls of package quiet
		_, _, e.errno = syscall.RawSyscall(syscall.SYS_IOCTL, fd, unix.TIOCINQ, uintptr(unsafe.Pointer(&e.n)))
	}
	end, err := e.reopen()
	if err != nil {
		return err
	}
	return unix.Close(end)
}

// unread is how many bytes are in the pipe.
func (e *pipeEnd) unread() (int, error) {
	if err := e.raw.Control(e.look); err != nil {
		return 0, err
	}
	if e.errno != 0 {
		return 0, e.errno
	}
	return int(e.n), nil
}

// reopen opens the other end, not blocking. It is not kept: while there is another one the end of the stream does not
// show.
func (e *pipeEnd) reopen() (end int, err error) {
	controlErr := e.raw.Control(func(fd uintptr) { end, err = reopen(int(fd), e.other) })
	return end, errors.Join(controlErr, err)
}

func reopen(fd, mode int) (int, error) {
	end, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), mode|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	return end, os.NewSyscallError("open", err)
}

func canReopen(fd, mode int) bool {
	end, err := reopen(fd, mode)
	return err == nil && unix.Close(end) == nil
}

// setNonblock sets or clears O_NONBLOCK.
func (e *pipeEnd) setNonblock(on bool) (err error) {
	controlErr := e.raw.Control(func(fd uintptr) { err = unix.SetNonblock(int(fd), on) })
	return errors.Join(controlErr, os.NewSyscallError("fcntl", err))
}

// duplicate returns another descriptor of the end.
func (e *pipeEnd) duplicate() (dup int, err error) {
	controlErr := e.raw.Control(func(fd uintptr) { dup, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	return dup, errors.Join(controlErr, os.NewSyscallError("fcntl", err))
}

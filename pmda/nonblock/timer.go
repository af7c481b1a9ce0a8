package nonblock

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Timer is a timer of the kernel (timerfd_create(2)) that Go's poller waits for. One of Go's own has the
// scheduler's monitor wake up with it, and whoever it wakes has another thread look for work. Set may be called at any
// time, and by anybody; one goroutine may be in Wait.
type Timer struct {
	file *os.File // closes itself when nobody has the timer any more
	fd   int      // of file
	raw  syscall.RawConn
}

// NewTimer returns a timer that is not set.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &Timer{fd: fd, file: os.NewFile(uintptr(fd), "timer")}
	if t.raw, err = t.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, t.file.Close())
	}
	return t, nil
}

// Set lets the timer go off once, after d or at once, and not when it was set to before.
func (t *Timer) Set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(d, 1).Nanoseconds())}
	settime(t.fd, &spec)
	runtime.KeepAlive(t.file)
}

// Wait returns when the timer has gone off.
func (t *Timer) Wait() { _ = t.raw.Read(expired) } // fails only for what is closed

// expired takes note that a timer has gone off.
func expired(fd uintptr) bool {
	var times [8]byte
	_, err := Read(int(fd), times[:])
	return !errors.Is(err, syscall.EAGAIN)
}

package quiet

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Timer ends a wait at a time, as a time.Timer does. Setting a time.Timer, and its end, wake a thread for nothing while another one serves a request. A Timer
// is a timerfd(2) and does not. One goroutine may be in Wait, another one in Set.
type Timer struct {
	file *os.File // in Go's poller
	raw  syscall.RawConn

	// Arguments and results of the two calls. The functions are values, made once, so that no call allocates.
	spec  unix.ItimerSpec
	ticks [8]byte
	set   func(fd uintptr)
	ended func(fd uintptr) bool
}

// NewTimer makes a Timer that is not set.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &Timer{file: os.NewFile(uintptr(fd), "timer")}
	if err = t.file.SetDeadline(time.Time{}); err != nil { // it is not in the poller, and no Wait would wait
		t.Close()
		return nil, err
	}
	if t.raw, err = t.file.SyscallConn(); err != nil {
		t.Close()
		return nil, err
	}
	t.set = func(fd uintptr) {
		_, _, _ = syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, fd, 0, uintptr(unsafe.Pointer(&t.spec)), 0, 0, 0)
	}
	t.ended = func(fd uintptr) bool {
		_, errno := Read(fd, t.ticks[:])
		return errno != syscall.EAGAIN
	}
	return t, nil
}

// Set has Wait return after d, once, and not at the time set before.
func (t *Timer) Set(d time.Duration) {
	t.spec.Value = unix.NsecToTimespec(max(1, d.Nanoseconds())) // 0 would be never
	_ = t.raw.Control(t.set)                                    // but for a closed one it cannot fail
}

// Wait waits for the time that is set. It reports whether that has come; else the Timer was closed.
func (t *Timer) Wait() bool { return t.raw.Read(t.ended) == nil }

// Close ends Wait.
func (t *Timer) Close() { _ = t.file.Close() }

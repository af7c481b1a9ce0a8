// Package nonblock makes system calls on descriptors with O_NONBLOCK without telling Go's scheduler.
//
// The scheduler prepares for a call that blocks: it wakes its monitor thread, if that sleeps, which then looks
// some sixty times in the next milliseconds whether the call has returned. After a pause that costs several
// times what a small request does. A call that cannot block needs none of it. Those that wait do tell it: a Waiter waits
// in Go's poller, and Room blocks a thread in poll(2), for as long as it is told at most.
//
// What the other calls are given must not block: neither a file, nor a terminal, nor a descriptor without O_NONBLOCK.
// A collection of garbage may have to wait until they return, so no call should copy more than about a MiB.
//
// docs/decisions/0007-calls-that-cannot-block.md has the figures.
package nonblock

import (
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Read is read(2). At the end of the stream n is 0 and err nil; where nothing has arrived err is EAGAIN.
func Read(fd int, b []byte) (n int, err error) {
	return transfer(syscall.SYS_READ, fd, b)
}

// Write is write(2). It writes what there is room for; if there is none, err is EAGAIN.
func Write(fd int, b []byte) (n int, err error) {
	return transfer(syscall.SYS_WRITE, fd, b)
}

func transfer(call uintptr, fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// Unread is how many bytes a pipe holds, whichever end it is asked of.
func Unread(pipe int) (n int, err error) {
	var bytes int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(pipe), unix.TIOCINQ, uintptr(unsafe.Pointer(&bytes)))
	if errno != 0 {
		return 0, errno
	}
	return int(bytes), nil
}

// Room waits until there is room to write, or for d: then the error is os.ErrDeadlineExceeded. A thread is blocked
// meanwhile.
func Room(fd int, d time.Duration) error {
	room := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	for end := time.Now().Add(d); ; d = time.Until(end) {
		n, err := unix.Poll(room, int(max(d, 0).Round(time.Millisecond).Milliseconds()))
		switch {
		case err == nil && n == 0:
			return os.ErrDeadlineExceeded
		case !errors.Is(err, unix.EINTR):
			return os.NewSyscallError("poll", err)
		}
	}
}

//go:build race

package nowait

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// call is the call of call.go for the race detector, which has to know that what one goroutine writes to a pipe is read
// by another.
func call(number, fd uintptr, b []byte, flags uintptr) (n int, errno syscall.Errno) {
	var err error
	switch number {
	case syscall.SYS_READ:
		n, err = syscall.Read(int(fd), b)
	case syscall.SYS_WRITE:
		n, err = syscall.Write(int(fd), b)
	default:
		n, _, err = syscall.Recvfrom(int(fd), b, int(flags))
	}
	errno, _ = err.(syscall.Errno)
	return n, errno
}

func unread(fd uintptr) (n int, errno syscall.Errno) {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	errno, _ = err.(syscall.Errno)
	return n, errno
}

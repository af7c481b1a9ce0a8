//go:build !race

package nowait

import (
	"syscall"
	"unsafe"
)

// call makes a system call whose first arguments are a descriptor and memory: read(2), write(2) or recvfrom(2) with
// flags and no address.
func call(number, fd uintptr, b []byte, flags uintptr) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
	return int(n), errno
}

// unread returns the number of bytes in a pipe.
func unread(fd uintptr) (int, syscall.Errno) {
	var n int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	return int(n), errno
}

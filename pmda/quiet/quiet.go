//go:build !race

package quiet

import (
	"syscall"
	"unsafe"
)

// Read is read(2). The number of bytes counts only without an error.
func Read(fd uintptr, b []byte) (int, syscall.Errno) { return call(syscall.SYS_READ, fd, b, 0) }

// Write is write(2). The number of bytes counts only without an error.
func Write(fd uintptr, b []byte) (int, syscall.Errno) { return call(syscall.SYS_WRITE, fd, b, 0) }

// Readable reports whether a read from a socket would return anything, be it an error or the end.
func Readable(fd uintptr) bool {
	var first [1]byte
	_, errno := call(syscall.SYS_RECVFROM, fd, first[:], syscall.MSG_PEEK)
	return errno != syscall.EAGAIN
}

func call(number, fd uintptr, b []byte, flags uintptr) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(number, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), flags, 0, 0)
	return int(n), errno
}

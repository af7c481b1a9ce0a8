//go:build !race

package pmda

import (
	"syscall"
	"unsafe"
)

// quietly is read(2) or write(2), of which the scheduler is not told.
func quietly(call, fd uintptr, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

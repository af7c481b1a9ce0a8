//go:build race

package pmda

import (
	"errors"
	"syscall"
)

// quietly is read(2) or write(2) as package syscall makes it: the race detector takes what one end of a pipe has
// written for ordered before what the other one reads.
func quietly(call, fd uintptr, b []byte) (n int, errno syscall.Errno) {
	var err error
	if call == syscall.SYS_READ {
		n, err = syscall.Read(int(fd), b)
	} else {
		n, err = syscall.Write(int(fd), b)
	}
	errors.As(err, &errno)
	return max(n, 0), errno
}

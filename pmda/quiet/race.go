//go:build race

package quiet

import (
	"errors"
	"syscall"
)

// The calls are those of package syscall here: the race detector takes what one end of a pipe has written for ordered
// before what the other one reads.

// Read is read(2). The number of bytes counts only without an error.
func Read(fd uintptr, b []byte) (int, syscall.Errno) { return outcome(syscall.Read(int(fd), b)) }

// Write is write(2). The number of bytes counts only without an error.
func Write(fd uintptr, b []byte) (int, syscall.Errno) { return outcome(syscall.Write(int(fd), b)) }

// Readable reports whether a read from a socket would return anything, be it an error or the end.
func Readable(fd uintptr) bool {
	var first [1]byte
	_, _, err := syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK)
	return !errors.Is(err, syscall.EAGAIN)
}

func outcome(n int, err error) (int, syscall.Errno) {
	var errno syscall.Errno
	errors.As(err, &errno)
	return max(n, 0), errno
}

package pmda

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHangup is the error of [UntilHangup] when pmcd has closed its end of a pipe.
var ErrHangup = errors.New("pmcd closed the pipe")

// UntilHangup runs f in a goroutine and waits for it. It returns nil when f has returned. When pmcd closes the pipe,
// or ctx ends, f gets the time left to finish. If it does not return in that time, UntilHangup returns ErrHangup or the
// cause of ctx, and f still runs.
//
// It is for preparations before [Server.Serve] that may hang, such as a read from a disk or a network file system: a
// process whose pmcd has gone must end in spite of them. Results of f may be read only after nil.
func UntilHangup(ctx context.Context, in *os.File, left time.Duration, f func()) error {
	read, write, err := os.Pipe() // poll(2) waits for descriptors only
	if err != nil {
		return err
	}
	defer read.Close()
	wake := sync.OnceFunc(func() { _ = write.Close() })
	defer context.AfterFunc(ctx, wake)()
	done := make(chan struct{})
	go func() {
		defer wake()
		defer close(done)
		f()
	}()
	hungUp, err := hangup(in, read)
	if err != nil {
		<-done // the pipe cannot be watched
	}
	select {
	case <-done:
		return nil
	case <-time.After(left):
	}
	if hungUp {
		return ErrHangup
	}
	return context.Cause(ctx)
}

// hangup waits until the other end of one of two pipes is closed, and reports whether it is that of the first.
func hangup(in, other *os.File) (first bool, err error) {
	fds := []unix.PollFd{{Events: unix.POLLRDHUP}, {}}
	for i, f := range []*os.File{in, other} {
		raw, err := f.SyscallConn() // Fd would make the descriptor a blocking one
		if err == nil {
			err = raw.Control(func(fd uintptr) { fds[i].Fd = int32(fd) }) // the caller closes it after we have returned
		}
		if err != nil {
			return false, err
		}
	}
	for {
		if _, err = unix.Poll(fds, -1); !errors.Is(err, unix.EINTR) {
			return fds[0].Revents != 0, os.NewSyscallError("poll", err)
		}
	}
}

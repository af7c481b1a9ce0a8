package pmda

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHangup says that pmcd has closed its end of a pipe.
var ErrHangup = errors.New("pmcd closed the pipe")

// UntilHangup runs f on a goroutine of its own and returns nil when it has returned. But when the pipe from pmcd has no other
// end any more, or ctx has ended, f has only so much time left: after that it goes on alone, and the error is ErrHangup or the
// cause of ctx. It is for what may wait for a disk or a file system before [Server.Serve] begins, in a process that ends
// then. What f leaves may be read after nil only.
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
		<-done // nobody else can be waited for
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

// hangup waits until one of two descriptors has no other end any more, and reports whether the first has not.
func hangup(in, other *os.File) (first bool, err error) {
	fds := []unix.PollFd{{Events: unix.POLLRDHUP}, {}}
	for i, f := range []*os.File{in, other} {
		raw, err := f.SyscallConn() // Fd would change how the descriptor waits
		if err == nil {
			err = raw.Control(func(fd uintptr) { fds[i].Fd = int32(fd) }) // whose owners wait for us
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

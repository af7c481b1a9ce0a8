package pmda

import (
	"errors"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Stdio takes the two pipes that pmcd has opened away from file descriptors 0 and 1 and returns
// them, ready for [Server.Serve]: the context of Serve can interrupt them, and children do not
// inherit them. In their place come /dev/null and a second standard error, so that a stray print ends
// up in the log and not between two PDUs. It is called once, after [DropPrivileges].
//
// The pipe to pmcd is made to hold a large reply, which would cost a turn of both processes for each 64 KiB otherwise.
func Stdio() (in, out *os.File, err error) {
	if in, err = duplicate(unix.Stdin, "pipe from pmcd"); err != nil {
		return nil, nil, err
	}
	if out, err = duplicate(unix.Stdout, "pipe to pmcd"); err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	if err := replaceStandard(); err != nil {
		return nil, nil, errors.Join(err, in.Close(), out.Close())
	}
	return in, out, nil
}

// pipeSize is what a pipe to pmcd holds, in bytes: as much as one that is not root may ask for
// (/proc/sys/fs/pipe-max-size). Memory is taken for what is in it.
const pipeSize = 1 << 20

// duplicate duplicates a standard descriptor to a number above them. Go's poller waits for pipes and sockets; a terminal or
// a file is shared with other processes and left as it is.
func duplicate(fd int, name string) (*os.File, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(dup, &st); err == nil {
		kind := st.Mode & unix.S_IFMT
		if kind == unix.S_IFSOCK || kind == unix.S_IFIFO {
			if err := unix.SetNonblock(dup, true); err != nil {
				return nil, fmt.Errorf("%s: %w", name, errors.Join(err, unix.Close(dup)))
			}
		}
		if kind == unix.S_IFIFO && fd == unix.Stdout {
			_, _ = unix.FcntlInt(uintptr(dup), unix.F_SETPIPE_SZ, pipeSize) // else it stays as it is
		}
	}
	return os.NewFile(uintptr(dup), name), nil
}

// replaceStandard gives descriptors 0 and 1 something harmless.
func replaceStandard() error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	if err := unix.Dup2(int(null.Fd()), unix.Stdin); err != nil {
		return fmt.Errorf("replace standard input: %w", err)
	}
	if err := unix.Dup2(unix.Stderr, unix.Stdout); err != nil {
		return fmt.Errorf("replace standard output: %w", err)
	}
	return nil
}

// IgnoreSIGPIPE lets writes to a pipe without a reader fail with EPIPE, whatever the descriptor.
// Without it the Go runtime ends the process, without any clean-up, when that pipe is standard
// output or standard error. Child processes start with the default again.
func IgnoreSIGPIPE() {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) // never read: what does not fit is dropped
}

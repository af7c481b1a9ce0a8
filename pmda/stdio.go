package pmda

import (
	"errors"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Stdio moves the two pipes from pmcd and to pmcd away from file descriptors 0 and 1 and returns
// them for [Server.Serve]. The context of Serve can interrupt them, and child processes do not inherit them.
// Descriptor 0 becomes /dev/null and descriptor 1 a second standard error: text that a library prints goes to the
// log and not between two PDUs. Call it once, after [DropPrivileges].
//
// Stdio also enlarges the buffer of the pipe to pmcd. With the usual 64 KiB a large reply would need a switch between
// the two processes for each 64 KiB.
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

// pipeSize is the size in bytes of the buffer of a pipe to pmcd. It is the most that a user other than root may have
// (/proc/sys/fs/pipe-max-size). The kernel allocates memory only for the bytes that are in the pipe.
const pipeSize = 1 << 20

// duplicate duplicates a standard descriptor to a number above 2. It makes pipes and sockets non-blocking, so that Go's
// poller waits for them. A terminal or a file stays blocking, because the mode would change for other processes, too.
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
			_, _ = unix.FcntlInt(uintptr(dup), unix.F_SETPIPE_SZ, pipeSize) // on an error it keeps its size
		}
	}
	return os.NewFile(uintptr(dup), name), nil
}

// replaceStandard makes descriptor 0 /dev/null and descriptor 1 a copy of standard error.
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

// IgnoreSIGPIPE makes writes to a pipe without a reader fail with EPIPE, for any descriptor.
// Without it the Go runtime ends the process, without any clean-up, when that pipe is standard
// output or standard error. Child processes start with the default again.
func IgnoreSIGPIPE() {
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) // not read: Notify drops signals when the channel is full
}

package pmda

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// OpenLog makes the file at path the standard error stream of the process, so that everything
// lands there: a logger on os.Stderr, the traces of the Go runtime, messages of child processes.
// An existing file is kept as path.prev, replacing the one before; the new one (mode 0644) begins
// with the line that PCP's logs begin with. Anything else that is at path, such as /dev/null
// or a named pipe, is written to as it is.
//
// It is called after [DropPrivileges], so that the file belongs to the user who writes it, and best after
// [Greet]: an agent that was slow to start, and which pmcd has replaced since, then leaves the log of its
// successor alone. Standard output goes along where it is standard error, as [Stdio] leaves it. When the file
// cannot be opened or written both stay as they are.
func OpenLog(path, program string, now time.Time) error {
	f, err := openLogFile(path)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	defer f.Close() // fd 2 is the one in use
	if err := writeLogHead(f, program, now); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	along := outputIsError()
	if err := unix.Dup2(int(f.Fd()), unix.Stderr); err != nil {
		return fmt.Errorf("log %s: redirect standard error: %w", path, err)
	}
	if along {
		if err := unix.Dup2(unix.Stderr, unix.Stdout); err != nil {
			return fmt.Errorf("log %s: redirect standard output: %w", path, err)
		}
	}
	return nil
}

// outputIsError reports whether standard output and standard error are one file. One that is closed is none.
func outputIsError() bool {
	output, outputErr := os.Stdout.Stat()
	stderr, stderrErr := os.Stderr.Stat()
	return outputErr == nil && stderrErr == nil && os.SameFile(output, stderr)
}

func openLogFile(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().IsRegular(), info.Mode().Type() == fs.ModeSymlink:
		if err := os.Rename(path, path+".prev"); err != nil {
			return nil, err
		}
	default:
		return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	}
	// O_EXCL: whoever can write to the directory cannot choose what we write to.
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
}

func writeLogHead(f *os.File, program string, now time.Time) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost" // the line is for people, the log works without a name
	}
	_, err = fmt.Fprintf(f, "Log for %s on %s started %s\n\n", program, host, now.Format(time.ANSIC))
	return err
}

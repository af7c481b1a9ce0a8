package pmda

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pmdaderived/internal/regular"
)

// OpenLog makes the file at path the standard error stream of the process, so that everything
// lands there: a logger on os.Stderr, the traces of the Go runtime, messages of child processes.
// An existing file is kept as path.prev, replacing the one before; the new one (mode 0644) begins
// with the line that PCP's logs begin with. /dev/null is written to as it is; anything else at path is refused, since a
// named pipe or a terminal makes those wait who write to it.
//
// In a directory where the process can make no files, its own at path and path.prev are used: the text moves from the one
// to the other ([GiveLog] makes them).
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
		err := os.Rename(path, path+".prev")
		if errors.Is(err, fs.ErrPermission) && info.Mode().IsRegular() {
			return emptyLogFile(path)
		}
		if err != nil {
			return nil, err
		}
	case isNull(info):
		return os.OpenFile(path, os.O_WRONLY, 0)
	default:
		return nil, &fs.PathError{Op: "open", Path: path, Err: regular.ErrNotRegular}
	}
	// O_EXCL: whoever can write to the directory cannot choose what we write to.
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
}

// isNull reports whether a file is the device that takes everything at once, whatever its path.
func isNull(info fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	want, known := null.Sys().(*syscall.Stat_t)
	return ok && known && info.Mode().Type() == null.Mode().Type() && have.Rdev == want.Rdev
}

// emptyLogFile opens the file at path after it has moved its text to path.prev.
func emptyLogFile(path string) (*os.File, error) {
	f, err := regular.Open(path, os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	if err := moveText(f, path+".prev"); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func moveText(f *os.File, to string) error {
	former, err := regular.Open(to, os.O_WRONLY|os.O_TRUNC|unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	if _, err := io.Copy(former, f); err != nil {
		return errors.Join(err, former.Close())
	}
	return errors.Join(former.Close(), f.Truncate(0))
}

// GiveLog makes the files that [OpenLog] needs where the account cannot make them itself: root owns the folder
// of agents' logs from PCP 6.3 on. It is called before [DropPrivileges], with the same account. It does nothing when
// the process is not root, for files that exist, and in a folder that somebody else than root can write to or has put
// a link in the place of: who can could have root make a file elsewhere.
func GiveLog(path, username, groupname string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	dir, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // OpenLog says what is wrong, if anything is
	}
	defer dir.Close()
	var stat unix.Stat_t
	if unix.Fstat(int(dir.Fd()), &stat) != nil || stat.Uid != 0 || stat.Mode&0o022 != 0 {
		return nil
	}
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil
	}
	ids, err := lookupIdentity(username, groupname)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	for _, name := range []string{filepath.Base(path), filepath.Base(path) + ".prev"} {
		if err := createFile(dir, name, ids); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("log: %s: %w", name, err)
		}
	}
	return nil
}

// createFile makes an empty file that belongs to ids.
func createFile(dir *os.File, name string, ids identity) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	return errors.Join(f.Chown(ids.uid, ids.gid), f.Close())
}

func writeLogHead(f *os.File, program string, now time.Time) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost" // the line is for people, the log works without a name
	}
	_, err = fmt.Fprintf(f, "Log for %s on %s started %s\n\n", program, host, now.Format(time.ANSIC))
	return err
}

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

// OpenLog makes the file at path the standard error of the process: a logger on os.Stderr, the traces of the Go
// runtime and the messages of child processes are written to it. If standard output is the same file as standard
// error, as [Stdio] leaves it, it becomes the new file, too. program and now are for the first line, which is like that
// of PCP's logs. On an error both stay as they are.
//
// The new file has the mode 0644. A file that exists becomes path.prev and replaces an older path.prev. /dev/null is
// used as it is, and so is a link in /dev, like /dev/stderr. Any other kind of file is refused: a named pipe or a
// terminal would make writers wait.
//
// If the process may not create files in the directory, OpenLog uses the files path and path.prev that exist, see
// [GiveLog]. It copies the text of the first to the second and empties the first.
//
// Call it after [DropPrivileges], so that the file belongs to the user who writes it. Call it after [Greet], which
// fails for an agent that was too slow to start: its log would replace that of the agent that pmcd has started since.
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

// outputIsError reports whether standard output and standard error are the same file. It is false if one of them is
// closed.
func outputIsError() bool {
	output, outputErr := os.Stdout.Stat() //nolint:forbidigo // nothing is written to it
	stderr, stderrErr := os.Stderr.Stat()
	return outputErr == nil && stderrErr == nil && os.SameFile(output, stderr)
}

func openLogFile(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() == fs.ModeSymlink && filepath.Dir(filepath.Clean(path)) == "/dev":
		return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) // renaming /dev/stderr would break the host
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
	// O_EXCL: a user who can write to the directory cannot make us write to another file by a link.
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
}

// isNull reports whether a file is the null device, under any path.
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

// GiveLog creates path and path.prev for [OpenLog], as empty files of the account username. It is needed since PCP 6.3,
// where root owns the directory of agents' logs. Call it before [DropPrivileges], with the same account.
//
// It does nothing if the process is not root, and leaves files alone that exist. It also does nothing if the directory
// is a link, or if any other user than root can write to it: such a user could make root create a file elsewhere.
func GiveLog(path, username, groupname string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	dir, err := os.OpenFile(filepath.Dir(path), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // OpenLog reports the error, if it matters
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

// createFile creates an empty file that belongs to ids. It fails if the file exists.
func createFile(dir *os.File, name string, ids identity) error {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(dir.Fd()), name, flags, 0o644)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	return errors.Join(f.Chown(ids.uid, ids.gid), f.Close())
}

func writeLogHead(f *os.File, program string, now time.Time) error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost" // the log is good without the name
	}
	_, err = fmt.Fprintf(f, "Log for %s on %s started %s\n\n", program, host, now.Format(time.ANSIC))
	return err
}

// Package regular opens regular files only. A configured path may name anything: a named pipe without a writer, on which
// open waits, a device without an end, or a device on which open has an effect.
//
//	Open    configuration, definitions, the state file, the log
//	Read    likewise, whole, within a limit
//
// Any other file is [ErrNotRegular]. It is not opened, unless it takes the place of a regular file at that moment.
package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular means that something other than a regular file is at the path.
var ErrNotRegular = errors.New("not a regular file")

// Open opens the regular file at path, through symbolic links unless flag has O_NOFOLLOW. It does not create a file. It
// does not wait, even if a named pipe takes the place of the file meanwhile, or another process holds a lease. Errors
// are *fs.PathError.
func Open(path string, flag int) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, openError(path, err)
	}
	f, err := os.OpenFile(path, flag|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		_ = f.Close()
		return nil, openError(path, err)
	}
	return f, nil
}

// openError returns err in the form of os.Open's errors.
func openError(path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return &fs.PathError{Op: "open", Path: path, Err: err}
}

// Read reads at most most bytes of the regular file at path. To detect a file that is larger than a limit, pass the
// limit plus one.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

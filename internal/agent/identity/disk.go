package identity

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"pmdaderived/internal/regular"
)

// disk is what replaceFile does to a file system. Tests have one that loses its power.
type disk interface {
	// create makes a file of its own in a folder, with a name as os.CreateTemp makes it, that all may read.
	create(dir, pattern string) (diskFile, error)
	rename(from, to string) error
	remove(path string) error
	// syncDir makes renames in a folder last.
	syncDir(dir string) error
}

// diskFile is a new file that is open for writing.
type diskFile interface {
	Name() string
	Write(text []byte) (int, error)
	Sync() error
	Close() error
}

// replaceFile gives the file at path another content, what write writes: it has the old one or the new one at every instant,
// even if the machine stops. When it returns an error, no temporary file is left; one that a process leaves
// that is killed meanwhile is for removeLeftovers.
func replaceFile(d disk, path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	tmp, err := d.create(dir, leftoverPrefix(path)+"*")
	if err != nil {
		return err
	}
	if err = write(tmp); err == nil {
		err = tmp.Sync()
	}
	if err == nil {
		err = d.rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, d.remove(tmp.Name()), tmp.Close())
	}
	return errors.Join(tmp.Close(), d.syncDir(dir)) // it is locked until it has its name
}

// leftoverPrefix is how the names of temporary files for a path begin; digits follow.
func leftoverPrefix(path string) string { return "." + filepath.Base(path) + "." }

// removeLeftovers removes the temporary files of writers that have been killed. A living one has its file
// locked. What cannot be removed stays: it does no harm.
func removeLeftovers(path string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), leftoverPrefix(path))
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(filepath.Dir(path), e.Name())
		f, err := regular.Open(name, os.O_WRONLY|syscall.O_NOFOLLOW)
		if err != nil {
			continue
		}
		if lock(f) == nil {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}

// lock locks a file until it is closed or the process ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// osDisk is the file system of the machine.
type osDisk struct{}

func (osDisk) create(dir, pattern string) (diskFile, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	_ = lock(f) // a file system without locks: at worst a start of ours makes this write fail
	if err := f.Chmod(0o644); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return f, nil
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) remove(path string) error     { return os.Remove(path) }

// syncDir does nothing where directories cannot be opened or synced.
func (osDisk) syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil //nolint:nilerr // the file is in place
	}
	if err = d.Sync(); errors.Is(err, syscall.EINVAL) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

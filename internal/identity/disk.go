package identity

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// disk has the file operations of replaceFile. Tests have one that loses its power.
type disk interface {
	// create makes a new file in a folder, as os.CreateTemp does, but readable by everyone.
	create(dir, pattern string) (diskFile, error)
	rename(from, to string) error
	remove(path string) error
	// syncDir writes the renames in a folder to the disk.
	syncDir(dir string) error
}

// diskFile is a new file, open for writing.
type diskFile interface {
	Name() string
	Write(text []byte) (int, error)
	Sync() error
	Close() error
}

// replaceFile replaces the content of the file at path by what write writes. At every instant the file has the old
// content or the new one, even if the machine stops. After an error no temporary file is left. A process that is
// killed may leave one, which removeLeftovers removes.
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
	return errors.Join(tmp.Close(), d.syncDir(dir))
}

// leftoverPrefix returns the beginning of the names of temporary files for a path. Digits follow it.
func leftoverPrefix(path string) string { return "." + filepath.Base(path) + "." }

// removeLeftovers removes the temporary files of processes that were killed. If another
// agent is writing the file now, its write fails, and it tries again. A file that cannot be removed stays, and does no
// harm.
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
		_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
	}
}

// osDisk is the file system of the machine.
type osDisk struct{}

func (osDisk) create(dir, pattern string) (diskFile, error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o644); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()), f.Close())
	}
	return f, nil
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) remove(path string) error     { return os.Remove(path) }

// syncDir does nothing on file systems where directories cannot be opened or synced.
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

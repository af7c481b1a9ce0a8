package mmv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/performancecopilot/speed/v4"
	"golang.org/x/sys/unix"

	"pmdaderived/derived/agent/control"
)

// file is an MMV file that speed writes. One goroutine uses it.
//
// speed v4.0.0 checks nothing: a text that is too long goes over into the next one, two metrics may
// have one number, a value that is set after Stop ends the process, and what panics while a file is
// started does so in goroutines that nobody can recover. A test checks what is handed to it.
type file struct {
	path   string
	client *speed.PCPClient
	locked *os.File // the file once more, with our lock on it
	size   int64
	set    []func(number uint64) error // by slot
}

// errInUse means that another process exports under the same name.
var errInUse = errors.New("another process exports under this name")

// create makes the file dir/name with numbers by slot and puts it into place. Whatever was left there by a process that is
// gone is replaced.
func create(dir, name string, all []control.Metric, numbers []uint64) (*file, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, errors.New("speed writes for little-endian machines only")
	}
	if err := unix.Access(dir+"/", unix.W_OK|unix.X_OK); err != nil { // speed would make the directory
		return nil, &fs.PathError{Op: "access", Path: dir, Err: err}
	}
	path := filepath.Join(dir, name)
	if err := unused(path); err != nil {
		return nil, err
	}
	removeOrphans(dir, name)
	hidden := filepath.Join(dir, hiddenPrefix(name)+strconv.Itoa(os.Getpid()))
	client, err := newClient(name, hidden)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, client: client}
	if err := f.make(hidden, all, numbers); err != nil {
		_ = os.Remove(hidden) // it may not exist
		f.release()
		return nil, err
	}
	return f, nil
}

// make writes the file at hidden and moves it into place.
func (f *file) make(hidden string, all []control.Metric, numbers []uint64) error {
	if err := f.register(all, numbers); err != nil {
		return err
	}
	if err := f.client.Start(); err != nil {
		return err
	}
	if err := f.lock(hidden); err != nil {
		return err
	}
	return os.Rename(hidden, f.path)
}

// unused says whether a file may be replaced: there is none, or its owner is gone.
func unused(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // should it be a named pipe
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return errInUse
		}
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return nil
}

// hiddenPrefix is what the number of the process that makes a file follows, in its name until it is in place.
func hiddenPrefix(name string) string { return "." + name + "." }

// removeOrphans removes the hidden files of processes that were killed while they made them. What cannot be removed is
// left to the next time.
func removeOrphans(dir, name string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), hiddenPrefix(name))
		pid, err := strconv.Atoi(number)
		if !ours || err != nil || pid <= 0 || !e.Type().IsRegular() || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			continue
		}
		if path := filepath.Join(dir, e.Name()); unused(path) == nil {
			_ = os.Remove(path)
		}
	}
}

// register tells speed of all metrics.
func (f *file) register(all []control.Metric, numbers []uint64) error {
	domain, err := newDomain(control.BucketNames())
	if err != nil {
		return err
	}
	for i := range all {
		made, setters, err := newMetric(&all[i], domain, numbers[len(f.set):])
		if err == nil {
			err = f.client.Register(made)
		}
		if err != nil {
			return fmt.Errorf("metric %s: %w", all[i].Name, err)
		}
		f.set = append(f.set, setters...)
	}
	return nil
}

// lock takes the lock that others look for.
func (f *file) lock(path string) error {
	locked, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	f.locked = locked
	if err := unix.Flock(int(locked.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	info, err := locked.Stat()
	if err != nil {
		return err
	}
	f.size = info.Size()
	return nil
}

// write sets the number of a slot. It is not called after close.
func (f *file) write(slot int, number uint64) error { return f.set[slot](number) }

// errLost means that somebody has taken the file away.
var errLost = errors.New("the file was removed or cut short")

// intact returns errLost if the file is no longer in its place, or shorter, when to write to the
// mapping would be a SIGBUS.
func (f *file) intact() error {
	info, err := f.locked.Stat()
	if err != nil {
		return err
	}
	inPlace, err := os.Lstat(f.path)
	if err != nil || !os.SameFile(info, inPlace) || info.Size() < f.size {
		return errLost
	}
	return nil
}

// close removes the file, unless it is no longer ours, and gives up the mapping.
func (f *file) close() error {
	var err error
	if f.intact() == nil {
		err = os.Remove(f.path)
	}
	f.release()
	return err
}

// release gives up what the process holds of the file.
func (f *file) release() {
	_ = f.client.Stop() // it is an error to stop what has not been started, and there is nobody to tell
	if f.locked != nil {
		f.locked.Close()
	}
}

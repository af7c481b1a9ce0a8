package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// kernel reports changes in directories, without those below: an fsnotify.Watcher, or a test.
type kernel interface {
	Add(dir string) error
	Remove(dir string) error
	Close() error
}

// eventSource is a kernel with its channels of events and errors.
type eventSource struct {
	kernel
	events <-chan fsnotify.Event
	errors <-chan error
}

func openEventSource() (eventSource, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return eventSource{}, err
	}
	return eventSource{kernel: w, events: w.Events, errors: w.Errors}, nil
}

// notifier calls wakeRun when the kernel reports a change that concerns a path list. Its goroutine runs
// forwardEvents. The other methods belong to one goroutine.
type notifier struct {
	eventSource
	wakeRun func()                          // called from the goroutine of the notifier
	watched atomic.Pointer[map[string]bool] // directories with all entries, and files of the path list
	tried   map[string]attempt              // by directory
	done    chan struct{}                   // closed when forwardEvents has ended
}

// attempt is the result of a watch, and the directory that was there.
type attempt struct {
	info fs.FileInfo // nil: none
	err  error
}

func newNotifier(f eventSource, tell func()) *notifier {
	n := &notifier{eventSource: f, wakeRun: tell, tried: map[string]attempt{}, done: make(chan struct{})}
	n.watched.Store(&map[string]bool{})
	go n.forwardEvents()
	return n
}

// close ends the notifier, and waits for its goroutine.
func (n *notifier) close() {
	_ = n.Close() // an error loses nothing
	<-n.done
}

// forwardEvents receives all events at once, even while watch is running: fsnotify may hold the lock that Add and
// Remove need until an error has been received.
func (n *notifier) forwardEvents() {
	defer close(n.done)
	for {
		select {
		case e, ok := <-n.events:
			if !ok {
				return
			}
			watched := *n.watched.Load()
			path := filepath.Clean(e.Name) // below / it begins with two slashes
			if watched[path] || watched[filepath.Dir(path)] {
				n.wakeRun()
			}
		case _, ok := <-n.errors:
			if !ok {
				return
			}
			n.wakeRun() // events were lost, and may have concerned any file
		}
	}
}

// watch makes the kernel watch directories that were loaded, and of the other paths of a path list the directory above.
// It returns the first error that leaves a directory unwatched.
func (n *notifier) watch(paths, dirs []string) error {
	watched, all := map[string]bool{}, map[string]bool{}
	for _, dir := range dirs {
		dir = filepath.Clean(dir)
		watched[dir], all[dir] = true, true
	}
	for _, path := range paths {
		if path = filepath.Clean(path); path != "." && !watched[path] {
			watched[path], all[filepath.Dir(path)] = true, true
		}
	}
	n.watched.Store(&watched)
	for dir := range n.tried {
		if !all[dir] {
			_ = n.Remove(dir) // the kernel may have done so already
			delete(n.tried, dir)
		}
	}
	var failed error
	for _, dir := range slices.Sorted(maps.Keys(all)) { // in order, so that the first error is the same the next time
		err := n.addDir(dir)
		if err != nil && failed == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			failed = &fs.PathError{Op: "watch", Path: dir, Err: err}
		}
	}
	return failed
}

// addDir makes the kernel watch a directory, once while its path leads to the same one with the same mode, because
// each denial by SELinux is a record in the audit log. It tries again after an error of another kind.
func (n *notifier) addDir(dir string) error {
	last := n.tried[dir]
	info, err := os.Stat(dir)
	if err != nil {
		delete(n.tried, dir)
		return err
	}
	if last.info != nil && os.SameFile(last.info, info) && last.info.Mode() == info.Mode() &&
		(last.err == nil || errors.Is(last.err, fs.ErrPermission)) {
		return last.err
	}
	err = n.Add(dir)
	n.tried[dir] = attempt{info, err}
	return err
}

package config

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// kernel tells of changes in directories, without those below: fsnotify.Watcher, or a test.
type kernel interface {
	Add(dir string) error
	Remove(dir string) error
	Close() error
}

// eventSource is a kernel with what it tells.
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

// notifier follows the places of a path list through the kernel.
type notifier struct {
	eventSource
	wakeRun func()                    // called from a goroutine of its own for every event that matters
	dirs    atomic.Pointer[watchDirs] // what matters
	done    chan struct{}             // closed when nothing comes any more
}

func newNotifier(f eventSource, tell func()) *notifier {
	n := &notifier{eventSource: f, wakeRun: tell, done: make(chan struct{})}
	n.dirs.Store(&watchDirs{})
	go n.forwardEvents()
	return n
}

// close ends the notifier and waits for it.
func (n *notifier) close() {
	_ = n.Close() // nothing is lost with it
	<-n.done
}

// forwardEvents takes events as they come, whatever the owner of the notifier is doing: while fsnotify waits
// for somebody to take an error it may hold the lock that Add and Remove need.
func (n *notifier) forwardEvents() {
	defer close(n.done)
	for {
		select {
		case e, ok := <-n.events:
			if !ok {
				return
			}
			if n.dirs.Load().matters(filepath.Clean(e.Name)) { // below / it begins with two slashes
				n.wakeRun()
			}
		case _, ok := <-n.errors:
			if !ok {
				return
			}
			n.wakeRun() // events were lost: whatever they were about is looked at
		}
	}
}

// follow has the kernel watch the places that a path list has now. If these change meanwhile, it tells. It returns
// the first error that leaves a place unwatched.
func (n *notifier) watch(paths []string) error {
	all := findWatchDirs(paths)
	before := n.dirs.Swap(&all)
	for dir := range *before {
		if all[dir] == nil {
			_ = n.Remove(dir) // the kernel may have done so already
		}
	}
	var failed error
	for _, dir := range slices.Sorted(maps.Keys(all)) { // in order, so that the first error is the same the next time
		// Also those watched already: another directory may have come in the place of the former.
		err := n.Add(dir)
		if err != nil && failed == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			failed = &fs.PathError{Op: "watch", Path: dir, Err: err}
		}
	}
	if !reflect.DeepEqual(findWatchDirs(paths), all) {
		n.wakeRun()
	}
	return failed
}

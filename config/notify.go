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

// feed is a kernel with what it tells.
type feed struct {
	kernel
	events <-chan fsnotify.Event
	errors <-chan error
}

func openFeed() (feed, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return feed{}, err
	}
	return feed{kernel: w, events: w.Events, errors: w.Errors}, nil
}

// notifier follows the places of a path list through the kernel.
type notifier struct {
	feed
	tell   func()                   // called from a goroutine of its own for every event that matters
	places atomic.Pointer[placeSet] // what matters
	done   chan struct{}            // closed when nothing comes any more
}

func newNotifier(f feed, tell func()) *notifier {
	n := &notifier{feed: f, tell: tell, done: make(chan struct{})}
	n.places.Store(&placeSet{})
	go n.pump()
	return n
}

// close ends the notifier and waits for it.
func (n *notifier) close() {
	_ = n.Close() // nothing is lost with it
	<-n.done
}

// pump takes events as they come, whatever the owner of the notifier is doing: while fsnotify waits
// for somebody to take an error it may hold the lock that Add and Remove need.
func (n *notifier) pump() {
	defer close(n.done)
	for {
		select {
		case e, ok := <-n.events:
			if !ok {
				return
			}
			if n.places.Load().matters(filepath.Clean(e.Name)) { // below / it begins with two slashes
				n.tell()
			}
		case _, ok := <-n.errors:
			if !ok {
				return
			}
			n.tell() // events were lost: whatever they were about is looked at
		}
	}
}

// follow has the kernel watch the places that a path list has now. If these change meanwhile, it tells. It returns
// the first error that leaves a place unwatched.
func (n *notifier) follow(paths []string) error {
	all := trace(paths)
	before := n.places.Swap(&all)
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
	if !reflect.DeepEqual(trace(paths), all) {
		n.tell()
	}
	return failed
}

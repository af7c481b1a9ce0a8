package config

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
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
	tell    func()                   // called from a goroutine of its own for every event that matters
	places  atomic.Pointer[placeSet] // what matters
	watched map[string]fileID
	done    chan struct{} // closed when nothing comes any more
}

func newNotifier(f feed, tell func()) *notifier {
	n := &notifier{feed: f, tell: tell, watched: map[string]fileID{}, done: make(chan struct{})}
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
	defer n.tell() // so that the owner finds out
	defer close(n.done)
	for {
		select {
		case e, ok := <-n.events:
			if !ok {
				return
			}
			if n.matters(e) {
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

func (n *notifier) matters(e fsnotify.Event) bool {
	all := *n.places.Load()
	name := filepath.Clean(e.Name) // below / it begins with two slashes
	if all[name] != nil && e.Has(fsnotify.Remove|fsnotify.Rename|fsnotify.Chmod) {
		return true
	}
	p := all[filepath.Dir(name)]
	entry := filepath.Base(name)
	return p != nil && (p.names[entry] || p.whole && !Ignored(entry))
}

// watch follows exactly these places. fresh reports whether one of them was not followed before, so
// that what happened in it just now may have been missed. It returns the first error that leaves an
// end of the path list unwatched.
func (n *notifier) watch(all placeSet) (fresh bool, err error) {
	n.places.Store(&all)
	for dir, id := range n.watched {
		if p := all[dir]; p == nil || p.id != id {
			_ = n.Remove(dir) // the kernel may have done so already
			delete(n.watched, dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(all)) { // in order, so that the first error is the same the next time
		p := all[dir]
		// Also those watched already: a directory made anew may have the identity of the former.
		addErr := n.Add(dir)
		_, known := n.watched[dir]
		switch {
		case addErr == nil:
			n.watched[dir] = p.id
			fresh = fresh || !known
		case errors.Is(addErr, fs.ErrNotExist), errors.Is(addErr, syscall.ENOTDIR):
			delete(n.watched, dir)
			fresh = true
		default:
			delete(n.watched, dir)
			// A directory that may be passed and not listed is on the way only, or else Load reports it.
			if err == nil && (p.end || !errors.Is(addErr, fs.ErrPermission)) {
				err = &fs.PathError{Op: "watch", Path: dir, Err: addErr}
			}
		}
	}
	return fresh, err
}

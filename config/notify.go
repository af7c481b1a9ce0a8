package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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
	wakeRun func()                    // called from the goroutine of the notifier
	dirs    atomic.Pointer[watchDirs] // the directories of the last watch
	denied  map[string]denial         // by directory; belongs to watch
	ignored map[string]eventCount     // events that did not matter, by directory; belongs to forwardEvents
	done    chan struct{}             // closed when forwardEvents has ended

	mu   sync.Mutex
	busy map[string]time.Time // when a directory had busyEvents; guarded by mu
}

// eventCount is a number of events since a time.
type eventCount struct {
	since time.Time
	n     int
}

var errBusy = fmt.Errorf("%d changes of other files within %v", busyEvents, fastPoll)

// denial is why the kernel does not watch a directory, and what was there.
type denial struct {
	err  error
	info fs.FileInfo
}

func newNotifier(f eventSource, tell func()) *notifier {
	n := &notifier{
		eventSource: f, wakeRun: tell, denied: map[string]denial{}, ignored: map[string]eventCount{},
		busy: map[string]time.Time{}, done: make(chan struct{}),
	}
	n.dirs.Store(&watchDirs{})
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
			path := filepath.Clean(e.Name) // below / it begins with two slashes
			if n.dirs.Load().matters(path) || n.isBusy(filepath.Dir(path)) {
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

// isBusy counts an event that did not matter, and reports whether its directory has become busy.
func (n *notifier) isBusy(dir string) bool {
	now, c := time.Now(), n.ignored[dir]
	if now.Sub(c.since) >= fastPoll {
		c = eventCount{since: now}
	}
	c.n++
	n.ignored[dir] = c
	if c.n != busyEvents {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy[dir] = now
	return true
}

// watch makes the kernel watch the directories that decide the content of a path list now. If they change in the
// meantime, it calls wakeRun. It returns the first error that leaves a directory unwatched.
func (n *notifier) watch(paths []string) error {
	all := findWatchDirs(paths)
	before := n.dirs.Swap(&all)
	for dir := range *before {
		if all[dir] == nil {
			_ = n.Remove(dir) // the kernel may have done so already
			delete(n.denied, dir)
		}
	}
	var failed error
	for _, dir := range slices.Sorted(maps.Keys(all)) { // in order, so that the first error is the same the next time
		err := n.addDir(dir)
		if err != nil && failed == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			failed = &fs.PathError{Op: "watch", Path: dir, Err: err}
		}
	}
	if !reflect.DeepEqual(findWatchDirs(paths), all) {
		n.wakeRun()
	}
	return failed
}

// addDir makes the kernel watch a directory, also one that is watched already: another directory may have its path now.
// If that is denied, it does not try again before another directory is there, or its mode has changed: each denial by
// SELinux is a record in the audit log.
//
// A busy directory is watched again after slowPoll, and remains an error for fastPoll more, to see if it is still busy.
func (n *notifier) addDir(dir string) error {
	n.mu.Lock()
	since, busy := n.busy[dir]
	age := time.Since(since)
	if busy && age >= slowPoll+fastPoll {
		delete(n.busy, dir)
		busy = false
	}
	n.mu.Unlock()
	if busy && age < slowPoll {
		_ = n.Remove(dir) // it may be removed already
		return errBusy
	}
	info, statErr := os.Stat(dir)
	if was, ok := n.denied[dir]; ok && statErr == nil && os.SameFile(was.info, info) && was.info.Mode() == info.Mode() {
		return was.err
	}
	delete(n.denied, dir)
	err := n.Add(dir)
	if statErr == nil && errors.Is(err, fs.ErrPermission) {
		n.denied[dir] = denial{err, info}
	}
	if err == nil && busy {
		return errBusy
	}
	return err
}

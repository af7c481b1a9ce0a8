package config

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"pmdaderived/internal/wait"
)

const (
	// After an event the files are compared when there has been no other event for quietTime, at the latest delayLimit
	// after the first one: a deployment causes many events, and an endless stream of events must not hide a change.
	quietTime  = 25 * time.Millisecond
	delayLimit = time.Second

	// A file that looks half-written counts as complete when it has not changed for settleTime, at the latest after
	// settleLimit.
	settleTime  = 750 * time.Millisecond
	settleLimit = 10 * time.Second

	// pollInterval is the time between comparisons by size, time and inode. The kernel does not report what other hosts
	// do, a target of a link, a file that is mounted, or a directory that takes the place of a listed one.
	pollInterval = 10 * time.Second

	// readInterval is the time between comparisons by content, for changes that leave size, time and inode as they are.
	readInterval = time.Minute

	// retryPoll is the time until files are read again after a transient error.
	retryPoll = time.Second
)

// Watcher notices that the content of a path list differs from the last load. Run has a goroutine of the caller; any
// goroutine may call RecordLoad. The loads have the user of this process as AgentUser.
type Watcher struct {
	paths      []string
	log        logrus.FieldLogger
	openSource func() (eventSource, error)
	isMounted  func(path string) bool // isMountRoot, or a test
	wake       chan struct{}          // capacity 1: something has happened

	mu        sync.Mutex
	loaded    fileState  // the last load; guarded by mu
	announced *fileState // the state that changed was called for, until the next RecordLoad; guarded by mu

	// The fields below belong to Run.
	notifier         *notifier
	stamp            [sha256.Size]byte // digest of sizes, times and inodes when the contents were last read
	readDue          time.Time         // when the contents are read again, whatever the stamp is
	candidate        fileState         // the last state that differs from loaded and is not announced
	candidateSince   time.Time         // when candidate was first found
	changedSince     time.Time         // when the files began to differ; zero: they do not
	pollReasonLogged bool              // pollReason has been logged
	pollReason       string            // why the kernel does not report all changes; "": it does
}

// NewWatcher returns a watcher of a path list as Load takes it. It opens nothing before Run.
func NewWatcher(paths []string, log logrus.FieldLogger) *Watcher {
	return &Watcher{paths: paths, log: log, openSource: openEventSource, isMounted: isMountRoot, wake: make(chan struct{}, 1)}
}

// RecordLoad tells the watcher of a load, which may have any cause. It reports whether the load may be used. It
// returns false if a change was announced and the files have changed again since: they may be half-written. The
// caller should discard the load, and Run announces the change again when it is complete. Entries of other users in a
// sticky directory, which could change all the time, do not cause that. Any goroutine may call RecordLoad. It does not
// wait.
func (w *Watcher) RecordLoad(l *Loaded) bool {
	now := l.state()
	w.mu.Lock()
	defer w.mu.Unlock()
	announced := w.announced
	w.announced = nil
	if announced != nil && announced.own != now.own {
		w.wakeRun()
		return false
	}
	w.loaded = now
	if now.transient {
		w.wakeRun()
	}
	return true
}

// wakeRun makes Run compare the files soon. It does not wait.
func (w *Watcher) wakeRun() { wait.Signal(w.wake) }

// Run calls changed when the content of the files, or whether everyone can read or write them, differs from the last
// RecordLoad. It returns when ctx ends. changed must not wait. Run does not call it again for the same content before
// RecordLoad.
//
// It reads all files once for each burst of events, when a poll finds another size, time or inode, and each minute.
func (w *Watcher) Run(ctx context.Context, changed func()) {
	defer w.closeNotifier()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var since time.Time // the first event since the last comparison; zero: none
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
			now := time.Now()
			if since.IsZero() {
				since = now
			}
			timer.Reset(min(quietTime, since.Add(delayLimit).Sub(now)))
		case <-timer.C:
			isPoll := since.IsZero()
			since = time.Time{}
			timer.Reset(w.compareFiles(isPoll, changed))
		}
	}
}

// compareFiles reads the contents if they are due, or a poll finds another stamp, or there was an event. It returns
// the time until the next comparison if nothing happens.
func (w *Watcher) compareFiles(isPoll bool, changed func()) time.Duration {
	now, stamps := time.Now(), scanFiles(w.paths, stampFiles)
	w.watchFiles(stamps)
	if isPoll && stamps.digest == w.stamp && now.Before(w.readDue) {
		return min(pollInterval, w.readDue.Sub(now))
	}
	w.stamp = stamps.digest
	stable := time.Duration(0)
	if isPoll { // no quiet time has passed before it
		stable = quietTime
	}
	files := scanFiles(w.paths, readFiles)
	if !slices.Equal(files.dirs, stamps.dirs) {
		w.wakeRun()
	}
	wait := w.compareContents(files, stable, changed)
	w.readDue = now.Add(wait)
	return min(pollInterval, wait)
}

// compareContents compares the files with the last load, and announces a change that has been the same for the time
// stable. It returns the time until the contents are read again.
func (w *Watcher) compareContents(files fileState, stable time.Duration, changed func()) time.Duration {
	now, next := time.Now(), readInterval
	if files.transient {
		next = retryPoll
	}

	w.mu.Lock()
	served, pending := w.loaded, w.announced
	if files.digest == served.digest {
		w.announced = nil
	}
	w.mu.Unlock()
	if files.digest == served.digest || pending != nil && files.digest == pending.digest {
		w.changedSince = time.Time{}
		return next
	}

	first := w.changedSince.IsZero()
	if first {
		w.changedSince = now
	}
	if first || files.digest != w.candidate.digest {
		w.candidate, w.candidateSince = files, now
	}
	if halfWritten(served, files) {
		stable = settleTime
	}
	if age := now.Sub(w.candidateSince); age < stable && now.Sub(w.changedSince) < settleLimit {
		return min(stable-age, next)
	}
	w.changedSince = time.Time{}
	w.mu.Lock()
	w.announced = &files
	w.mu.Unlock()
	changed()
	return next
}

// watchFiles makes the kernel report changes in the directories and of the listed files as far as it can.
func (w *Watcher) watchFiles(files fileState) {
	err := w.openNotifier()
	if err == nil {
		err = w.notifier.watch(w.paths, files.dirs)
	}
	if err == nil {
		err = w.mountedFile(files)
	}
	w.logPollReason(err)
}

// mountedFile returns an error about the first file that is mounted by itself: its directory, which the kernel watches,
// hears nothing of a change that is made outside the mount.
func (w *Watcher) mountedFile(files fileState) error {
	for _, name := range slices.Sorted(maps.Keys(files.sources)) {
		if w.isMounted(files.sources[name].Path) {
			return fmt.Errorf("%s is mounted by itself", name)
		}
	}
	return nil
}

// isMountRoot reports whether something is mounted at a path. Kernels before 5.8 do not tell.
func isMountRoot(path string) bool {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, 0, &stat)
	return err == nil && stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// logPollReason logs why the kernel does not report all changes, when that changes.
func (w *Watcher) logPollReason(why error) {
	reason := ""
	if why != nil {
		reason = why.Error()
	}
	if w.pollReasonLogged && reason == w.pollReason {
		return
	}
	w.pollReasonLogged, w.pollReason = true, reason
	if why == nil {
		w.log.Info("the kernel reports changes of definition files")
		return
	}
	w.log.WithFields(logrus.Fields{"reason": why, "interval": pollInterval}).
		Warn("the kernel does not report all changes of definition files, polling them")
}

func (w *Watcher) openNotifier() error {
	if w.notifier != nil {
		return nil
	}
	f, err := w.openSource()
	if err == nil {
		w.notifier = newNotifier(f, w.wakeRun)
	}
	return err
}

func (w *Watcher) closeNotifier() {
	if w.notifier != nil {
		w.notifier.close()
		w.notifier = nil
	}
}

package config

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/wait"
)

const (
	// A change is looked at when nothing has happened for quiet, at the latest delayLimit after the
	// first event: a deployment is many events, and an endless stream of them must not hide anything.
	quietTime  = 25 * time.Millisecond
	delayLimit = time.Second

	// A file that looks half-written is believed when it has stayed the same for settled, at the latest
	// after patience.
	settleTime  = 750 * time.Millisecond
	settleLimit = 10 * time.Second

	// slowPoll is how often the files are looked at where the kernel tells of changes: there are changes that
	// it does not tell of, such as those of other hosts, or a file system mounted over a directory.
	slowPoll = time.Minute

	// fastPoll is how often while the kernel cannot tell of all changes, because its limits are exhausted.
	fastPoll = 10 * time.Second

	// retryPoll is how soon files are looked at again that could not be read for a reason that passes.
	retryPoll = time.Second
)

// Watcher notices that what a path list holds is not what was loaded last.
type Watcher struct {
	paths      []string
	log        logrus.FieldLogger
	openSource func() (eventSource, error)
	wake       chan struct{} // something has happened

	mu        sync.Mutex
	loaded    fileState  // what was loaded last; guarded by mu
	announced *fileState // what changed was called for and RecordLoad not yet; guarded by mu

	// The fields below belong to Run.
	notifier         *notifier
	candidate        fileState // seen last, and not announced yet
	candidateSince   time.Time // when candidate was first seen
	changedSince     time.Time // since when there is something to announce; zero: there is nothing
	pollReasonLogged bool      // blind has been logged
	pollReason       string    // why polls are short; "": they are not
}

// NewWatcher makes a watcher of a path list as Load takes it. It opens nothing before Run.
func NewWatcher(paths []string, log logrus.FieldLogger) *Watcher {
	return &Watcher{paths: paths, log: log, openSource: openEventSource, wake: make(chan struct{}, 1)}
}

// RecordLoad tells the watcher what has just been loaded, whether because of a change or for another reason.
// It reports whether to use it: false means that a change was announced and the files have changed
// again since, perhaps halfway. Then the load is better thrown away; the change is announced again when
// it is over. It may be called from any goroutine.
func (w *Watcher) RecordLoad(l *Loaded) bool {
	now := l.state()
	w.mu.Lock()
	defer w.mu.Unlock()
	announced := w.announced
	w.announced = nil
	if announced != nil && announced.digest != now.digest {
		w.wakeRun()
		return false
	}
	w.loaded = now
	if now.transient {
		w.wakeRun()
	}
	return true
}

// wakeRun makes Run look soon; it does not wait.
func (w *Watcher) wakeRun() { wait.Signal(w.wake) }

// Run calls changed whenever the content of the files, or who can write them, is not what RecordLoad was told
// last, until ctx ends. changed must not wait; it is not called again for the same content before RecordLoad.
//
// Looking costs a read of all files: once for each burst of events that concern them, and at each poll.
func (w *Watcher) Run(ctx context.Context, changed func()) {
	defer w.closeNotifier()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var since time.Time // the first event since the last look; zero: none
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
			rest := time.Duration(0)
			if since.IsZero() { // no silence has been waited for
				rest = quietTime
			}
			since = time.Time{}
			timer.Reset(w.compareFiles(rest, changed))
		}
	}
}

// compareFiles compares the files with what was loaded, announces a change that has stayed the same for rest,
// and returns when to look again if nothing happens.
func (w *Watcher) compareFiles(rest time.Duration, changed func()) time.Duration {
	poll := w.watchFiles()
	now, files := time.Now(), scanFiles(w.paths)
	if files.transient {
		poll = min(poll, retryPoll)
	}

	w.mu.Lock()
	served, pending := w.loaded, w.announced
	if files.digest == served.digest {
		w.announced = nil
	}
	w.mu.Unlock()
	if files.digest == served.digest || pending != nil && files.digest == pending.digest {
		w.changedSince = time.Time{}
		return poll
	}

	first := w.changedSince.IsZero()
	if first {
		w.changedSince = now
	}
	if first || files.digest != w.candidate.digest {
		w.candidate, w.candidateSince = files, now
	}
	if halfWritten(served, files) {
		rest = settleTime
	}
	if age := now.Sub(w.candidateSince); age < rest && now.Sub(w.changedSince) < settleLimit {
		return min(rest-age, poll)
	}
	w.changedSince = time.Time{}
	w.mu.Lock()
	w.announced = &files
	w.mu.Unlock()
	changed()
	return poll
}

// watchFiles has the kernel tell of changes as far as it can, and returns how often to look besides.
func (w *Watcher) watchFiles() time.Duration {
	err := w.openNotifier()
	if err == nil {
		err = w.notifier.watch(w.paths)
	}
	w.logPollReason(err)
	if err != nil {
		return fastPoll
	}
	return slowPoll
}

// logPollReason logs why files have to be looked at often, when that changes.
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
	w.log.WithFields(logrus.Fields{"reason": why, "interval": fastPoll}).
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

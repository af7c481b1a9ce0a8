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
	quiet      = 25 * time.Millisecond
	delayLimit = time.Second

	// A file that looks half-written is believed when it has stayed the same for settled, at the latest
	// after patience.
	settled  = 750 * time.Millisecond
	patience = 10 * time.Second

	// safetyNet is how often the files are looked at where the kernel tells of changes: there are changes that
	// it does not tell of, such as those of other hosts, or a file system mounted over a directory.
	safetyNet = time.Minute

	// pollInterval is how often while the kernel cannot tell of all changes, because its limits are exhausted.
	pollInterval = 10 * time.Second

	// unreadAgain is how soon files are looked at again that could not be read for a reason that passes.
	unreadAgain = time.Second
)

// Watcher notices that what a path list holds is not what was loaded last.
type Watcher struct {
	paths []string
	log   logrus.FieldLogger
	open  func() (feed, error)
	news  chan struct{} // something has happened

	mu      sync.Mutex
	served  state  // what was loaded last; guarded by mu
	pending *state // what changed was called for and Took not yet; guarded by mu

	// The fields below belong to Run.
	notifier  *notifier
	candidate state     // seen last, and not announced yet
	seen      time.Time // when candidate was first seen
	held      time.Time // since when there is something to announce; zero: there is nothing
	reported  bool      // blind has been logged
	blind     string    // why polls are short; "": they are not
}

// NewWatcher makes a watcher of a path list as Load takes it. It opens nothing before Run.
func NewWatcher(paths []string, log logrus.FieldLogger) *Watcher {
	return &Watcher{paths: paths, log: log, open: openFeed, news: make(chan struct{}, 1)}
}

// Took tells the watcher what has just been loaded, whether because of a change or for another reason.
// It reports whether to use it: false means that a change was announced and the files have changed
// again since, perhaps halfway. Then the load is better thrown away; the change is announced again when
// it is over. It may be called from any goroutine.
func (w *Watcher) Took(l *Loaded) bool {
	now := l.state()
	w.mu.Lock()
	defer w.mu.Unlock()
	announced := w.pending
	w.pending = nil
	if announced != nil && announced.digest != now.digest {
		w.tell()
		return false
	}
	w.served = now
	if now.passing {
		w.tell()
	}
	return true
}

// tell makes Run look soon; it does not wait.
func (w *Watcher) tell() { wait.Signal(w.news) }

// Run calls changed whenever the content of the files, or who can write them, is not what Took was told
// last, until ctx ends. changed must not wait; it is not called again for the same content before Took.
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
		case <-w.news:
			now := time.Now()
			if since.IsZero() {
				since = now
			}
			timer.Reset(min(quiet, since.Add(delayLimit).Sub(now)))
		case <-timer.C:
			rest := time.Duration(0)
			if since.IsZero() { // no silence has been waited for
				rest = quiet
			}
			since = time.Time{}
			timer.Reset(w.look(rest, changed))
		}
	}
}

// look compares the files with what was loaded, announces a change that has stayed the same for rest,
// and returns when to look again if nothing happens.
func (w *Watcher) look(rest time.Duration, changed func()) time.Duration {
	poll := w.follow()
	now, files := time.Now(), scan(w.paths)
	if files.passing {
		poll = min(poll, unreadAgain)
	}

	w.mu.Lock()
	served, pending := w.served, w.pending
	if files.digest == served.digest {
		w.pending = nil
	}
	w.mu.Unlock()
	if files.digest == served.digest || pending != nil && files.digest == pending.digest {
		w.held = time.Time{}
		return poll
	}

	first := w.held.IsZero()
	if first {
		w.held = now
	}
	if first || files.digest != w.candidate.digest {
		w.candidate, w.seen = files, now
	}
	if halfWritten(served, files) {
		rest = settled
	}
	if age := now.Sub(w.seen); age < rest && now.Sub(w.held) < patience {
		return min(rest-age, poll)
	}
	w.held = time.Time{}
	w.mu.Lock()
	w.pending = &files
	w.mu.Unlock()
	changed()
	return poll
}

// follow has the kernel tell of changes as far as it can, and returns how often to look besides.
func (w *Watcher) follow() time.Duration {
	err := w.openNotifier()
	if err == nil {
		err = w.notifier.follow(w.paths)
	}
	w.setBlind(err)
	if err != nil {
		return pollInterval
	}
	return safetyNet
}

// setBlind logs why files have to be looked at often, when that changes.
func (w *Watcher) setBlind(why error) {
	reason := ""
	if why != nil {
		reason = why.Error()
	}
	if w.reported && reason == w.blind {
		return
	}
	w.reported, w.blind = true, reason
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
	f, err := w.open()
	if err == nil {
		w.notifier = newNotifier(f, w.tell)
	}
	return err
}

func (w *Watcher) closeNotifier() {
	if w.notifier != nil {
		w.notifier.close()
		w.notifier = nil
	}
}

package soak

import (
	"slices"
	"sync"
	"time"
)

// Grace is the time after the end of a disturbance within which all must be well again.
const Grace = 2 * time.Second

// cause is a kind of disturbance.
type cause int

const (
	agentGone    cause = iota // wave does not run
	pmcdGone                  // pmcd does not run
	pmcdSIGHUP                // pmcd gets a SIGHUP: it drops the agent whose reply it is waiting for
	pmcdStill                 // pmcd waits for an agent that lies
	agentsMarked              // pmcd tells its clients that agents have come, gone or restarted, also later than they did
)

// disturbance is the time of one disturbance; end is zero while it lasts.
type disturbance struct {
	cause      cause
	begin, end time.Time
}

// disturbances has the times of all disturbances. It is safe for concurrent use.
type disturbances struct {
	mu   sync.Mutex
	list []disturbance
}

// begin adds a disturbance and returns the function that ends it.
func (w *disturbances) begin(c cause) (ends func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := len(w.list)
	w.list = append(w.list, disturbance{cause: c, begin: time.Now()})
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list[i].end = time.Now()
	}
}

// note adds a disturbance that has ended. One with the end of another of the same cause makes that longer.
func (w *disturbances) note(c cause, begin, end time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.list {
		if s := &w.list[i]; s.cause == c && !begin.After(s.end) && !end.Before(s.begin) {
			if end.After(s.end) {
				s.end = end
			}
			return
		}
	}
	w.list = append(w.list, disturbance{c, begin, end})
}

// affect reports whether one of the causes was there, or had ended less than Grace ago, at any time between from and
// to.
func (w *disturbances) affect(from, to time.Time, causes ...cause) bool {
	return w.overlap(from.Add(-Grace), to, causes...)
}

// overlap reports whether one of the causes was there at any time between from and to.
func (w *disturbances) overlap(from, to time.Time, causes ...cause) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.list {
		s := &w.list[i]
		for _, c := range causes {
			if s.cause == c && to.After(s.begin) && (s.end.IsZero() || from.Before(s.end)) {
				return true
			}
		}
	}
	return false
}

// count returns the number of disturbances of a cause.
func (w *disturbances) count(c cause) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.list {
		if s.cause == c {
			n++
		}
	}
	return n
}

// lastEnd returns when one of the causes last ended before a time; the time since if none has.
func (w *disturbances) lastEnd(since, before time.Time, causes ...cause) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.list {
		if s := &w.list[i]; slices.Contains(causes, s.cause) && s.end.After(since) && s.end.Before(before) {
			since = s.end
		}
	}
	return since
}

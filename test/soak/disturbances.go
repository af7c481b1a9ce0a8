package soak

import (
	"sync"
	"time"
)

// Grace is how soon all has to be well again after the cause of a disturbance is gone.
const Grace = 2 * time.Second

// cause is what disturbs.
type cause int

const (
	agentGone  cause = iota // wave does not run
	pmcdGone                // pmcd does not run
	pmcdSIGHUP              // pmcd gets a SIGHUP: it drops the agent whose reply it is waiting for
)

// disturbance is a time in which something was disturbed; end is zero while it lasts.
type disturbance struct {
	cause      cause
	begin, end time.Time
}

// disturbances knows when what was disturbed. Its methods may be called by any number of goroutines.
type disturbances struct {
	mu   sync.Mutex
	list []disturbance
}

// begin notes the begin of a disturbance and returns what notes its end.
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

// affect reports whether one of the causes was there, or less than Grace ago, at any time between two.
func (w *disturbances) affect(from, to time.Time, causes ...cause) bool {
	return w.overlap(from.Add(-Grace), to, causes...)
}

// overlap reports whether one of the causes was there at any time between two.
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

// count is how often a cause has been there.
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

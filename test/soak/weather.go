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
	agentGone cause = iota // wave does not run
	pmcdGone               // pmcd does not run
	pmcdTold               // pmcd gets a SIGHUP: it drops the agent whose reply it is waiting for
)

// spell is a time in which something was disturbed; end is zero while it lasts.
type spell struct {
	cause      cause
	begin, end time.Time
}

// weather knows when what was disturbed. Its methods may be called by any number of goroutines.
type weather struct {
	mu     sync.Mutex
	spells []spell
}

// begins notes the begin of a disturbance and returns what notes its end.
func (w *weather) begins(c cause) (ends func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := len(w.spells)
	w.spells = append(w.spells, spell{cause: c, begin: time.Now()})
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.spells[i].end = time.Now()
	}
}

// bad reports whether one of the causes was there, or less than Grace ago, at any time between two.
func (w *weather) bad(from, to time.Time, causes ...cause) bool {
	return w.during(from.Add(-Grace), to, causes...)
}

// during reports whether one of the causes was there at any time between two.
func (w *weather) during(from, to time.Time, causes ...cause) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.spells {
		s := &w.spells[i]
		for _, c := range causes {
			if s.cause == c && to.After(s.begin) && (s.end.IsZero() || from.Before(s.end)) {
				return true
			}
		}
	}
	return false
}

// count is how often a cause has been there.
func (w *weather) count(c cause) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.spells {
		if s.cause == c {
			n++
		}
	}
	return n
}

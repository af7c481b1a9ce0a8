package soak

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// maxLogged is how many problems of a kind are written to the log.
const maxLogged = 20

// gapLength is for how long missing values are noted as if all were so at the same time.
const gapLength = 100 * time.Millisecond

// kind is a kind of problem.
type kind int

const (
	wrongValue   kind = iota
	missingValue      // without a cause
	failedCall        // an error from pmcd, or a lost connection, without a cause
	failedTool
	kinds
)

func (k kind) String() string {
	return [...]string{"wrong value", "missing value", "failed call", "failed tool"}[k]
}

// tally counts what clients see. Its methods may be called by any number of goroutines.
type tally struct {
	begin time.Time // of the clients

	fetches, values, lines atomic.Int64
	excused                atomic.Int64 // metrics without a value, and calls that failed, with a cause
	problems               [kinds]atomic.Int64

	liesTold atomic.Int64 // lies
	lying    atomic.Int64 // agents, at the moment
	misled   atomic.Int64 // values that were wrong while any of them did

	mu   sync.Mutex // guards what follows
	gaps []gap      // in order of time
	lie  string     // the last one that an agent began to tell
	last time.Time  // when that was
	log  io.Writer
}

// gap is values that were missing at about one time.
type gap struct {
	at     time.Time
	values int64
	misled int64 // those while an agent lied
}

// addProblem counts one and tells it, unless there have been many.
func (t *tally) addProblem(k kind, format string, args ...any) {
	switch lying := t.lying.Load() > 0; {
	case k == missingValue:
		t.addMissing(time.Now(), lying)
	case k == wrongValue && lying:
		t.misled.Add(1)
	}
	if t.problems[k].Add(1) <= maxLogged {
		t.logf("%s after %.1f s%s: %s", k, time.Since(t.begin).Seconds(), t.currentLie(), fmt.Sprintf(format, args...))
	}
}

// addMissing notes that a value was.
func (t *tally) addMissing(at time.Time, lying bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.gaps); n == 0 || at.Sub(t.gaps[n-1].at) > gapLength {
		t.gaps = append(t.gaps, gap{at: at})
	}
	g := &t.gaps[len(t.gaps)-1]
	g.values++
	if lying {
		g.misled++
	}
}

// currentLie says which lie an agent has begun to tell, and when; empty if none has.
func (t *tally) currentLie() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lie == "" {
		return ""
	}
	return fmt.Sprintf(" (%s for %.1f s)", t.lie, time.Since(t.last).Seconds())
}

// beginLie notes that an agent begins to lie, and returns what notes that it says the truth again.
func (t *tally) beginLie(lie string) (honest func()) {
	t.mu.Lock()
	t.lie, t.last = lie, time.Now()
	t.mu.Unlock()
	t.lying.Add(1)
	return func() { t.lying.Add(-1) }
}

// logf writes a line to the log.
func (t *tally) logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.log, format+"\n", args...)
}

// total is how many problems there have been.
func (t *tally) total() (n int64) {
	for i := range t.problems {
		n += t.problems[i].Load()
	}
	return n
}

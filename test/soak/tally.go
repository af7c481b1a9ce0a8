package soak

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// mostTold is how many problems of a kind are written to the log.
const mostTold = 20

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

	older  atomic.Int64 // ns by which a sample was older than a plain value of the same fetch, at most
	told   atomic.Int64 // lies
	lying  atomic.Int64 // agents, at the moment
	misled atomic.Int64 // values that were wrong or missing while any of them did

	mu  sync.Mutex // guards log
	log io.Writer
}

// problem counts one and tells it, unless there have been many.
func (t *tally) problem(k kind, format string, args ...any) {
	if (k == wrongValue || k == missingValue) && t.lying.Load() > 0 {
		t.misled.Add(1)
	}
	if t.problems[k].Add(1) <= mostTold {
		t.tell("%s after %.1f s: %s", k, time.Since(t.begin).Seconds(), fmt.Sprintf(format, args...))
	}
}

// age notes by how many ns a sample is older than a plain value of the same fetch.
func (t *tally) age(by int64) {
	for was := t.older.Load(); by > was; was = t.older.Load() {
		if t.older.CompareAndSwap(was, by) {
			return
		}
	}
}

// lies notes that an agent begins to lie, and returns what notes that it says the truth again.
func (t *tally) lies() (honest func()) {
	t.told.Add(1)
	t.lying.Add(1)
	return func() { t.lying.Add(-1) }
}

// tell writes a line to the log.
func (t *tally) tell(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.log, format+"\n", args...)
}

// bad is how many problems there have been.
func (t *tally) bad() (n int64) {
	for i := range t.problems {
		n += t.problems[i].Load()
	}
	return n
}

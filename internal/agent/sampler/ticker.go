package sampler

import (
	"slices"
	"time"

	"pmdaderived/internal/freshness"
)

// maxEarly is how long before a tick its sample may be taken. It exceeds freshness.Lead, so that a sample that was made
// for a client at the time of the tick is used.
const maxEarly = 2 * freshness.Lead

// rhythm is what windows with the same ticker have in common.
type rhythm struct {
	interval  time.Duration
	perClient bool
}

// ticker has the ticks of the windows with one interval. Those with a span and per-client windows have different
// tickers.
type ticker struct {
	rhythm
	windows []int // indexes of the windows
	pending []int // windows without their sample of the last tick, in ascending order

	tick     int64     // number of the last tick
	tickTime time.Time // its time, a multiple of the interval; zero: there was none
	nextTick time.Time

	incomplete bool // the last tick is not published; read for per-client windows only

	// These are for per-client windows.
	unreadInterval time.Duration // between the ticks of windows that no client reads; 0: they have none
	together       []int         // by window of the set: see tickTogether
	read           map[int]bool  // windows that a client reads, by their representative in together
}

// tickAfter returns the time of the next tick, a multiple of the interval by the wall clock. If there is none, it is in
// a year.
func (t *ticker) tickAfter(now time.Time) time.Time {
	interval := t.interval
	if t.perClient && len(t.read) == 0 {
		if interval = t.unreadInterval; interval == 0 {
			return now.AddDate(1, 0, 0)
		}
	}
	return now.Add(interval - time.Duration(now.UnixNano()%int64(interval)))
}

// windowsAt returns the windows that have a tick at a time.
func (t *ticker) windowsAt(at time.Time) []int {
	if !t.perClient || t.unreadInterval > 0 && at.UnixNano()%int64(t.unreadInterval) == 0 {
		return slices.Clone(t.windows)
	}
	return slices.DeleteFunc(slices.Clone(t.windows), func(i int) bool { return !t.read[t.together[i]] })
}

// sinceMultiple returns the time since the last multiple of the interval.
func (t *ticker) sinceMultiple(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() % int64(t.interval))
}

// deadline returns the latest time at which a sample for the last tick may be taken.
func (t *ticker) deadline() time.Time { return t.tickTime.Add(t.interval / 2) }

// nextEvent returns the time at which RunDue is to be called again: for the next tick, or the deadline of the last one.
func (t *ticker) nextEvent() time.Time {
	if late := t.deadline(); len(t.pending) > 0 && late.Before(t.nextTick) {
		return late.Add(1) // a sample that is taken at the deadline counts
	}
	return t.nextTick
}

// takeExpired returns the pending windows, which pend no more, if the deadline has passed.
func (t *ticker) takeExpired(now time.Time) (expired []int) {
	if now.After(t.deadline()) {
		expired, t.pending = t.pending, nil
	}
	return expired
}

// startTick starts the tick of the present interval. It returns false if it is too late for that, as after the clock
// was set.
func (t *ticker) startTick(now time.Time) bool {
	since := t.sinceMultiple(now)
	if since > t.interval/2 {
		return false
	}
	at := now.Add(-since)
	if t.tickTime.IsZero() {
		t.tick++
	} else {
		t.tick += int64(max(1, at.Sub(t.tickTime).Round(t.interval)/t.interval))
	}
	t.tickTime, t.incomplete = at, true
	return true
}

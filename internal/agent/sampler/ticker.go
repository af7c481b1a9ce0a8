package sampler

import (
	"slices"
	"time"
)

// clock has the ticks of one interval.
type ticker struct {
	interval       time.Duration
	unreadInterval time.Duration // between the ticks of windows that nobody looks at; 0: they have none
	perClient      bool          // its windows are since the last look
	group          []int         // of such windows, see together
	readGroups     map[int]bool  // groups: somebody looks at one of them
	incomplete     bool          // the last tick is not complete
	windows        []int         // that have these ticks
	pending        []int         // those of them that have yet to get their sample of the last tick
	tick           int64         // number of the last one
	tickTime       time.Time     // when that was, or was to be; zero: there was none
	nextTick       time.Time
}

// after is when the next tick is, at a multiple of the interval by the wall clock; never: in a year.
func (t *ticker) tickAfter(now time.Time) time.Time {
	interval := t.interval
	if t.perClient && len(t.readGroups) == 0 {
		if interval = t.unreadInterval; interval == 0 {
			return now.AddDate(1, 0, 0)
		}
	}
	return now.Add(interval - time.Duration(now.UnixNano()%int64(interval)))
}

// due are the windows that have a tick at a time.
func (t *ticker) windowsAt(at time.Time) []int {
	if !t.perClient || t.unreadInterval > 0 && at.UnixNano()%int64(t.unreadInterval) == 0 {
		return slices.Clone(t.windows)
	}
	return slices.DeleteFunc(slices.Clone(t.windows), func(i int) bool { return !t.readGroups[t.group[i]] })
}

// since is how long ago the last multiple was.
func (t *ticker) sinceMultiple(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() % int64(t.interval))
}

// late is until when a sample for the last tick may be taken.
func (t *ticker) deadline() time.Time { return t.tickTime.Add(t.interval / 2) }

// look is when there is something to do next.
func (t *ticker) nextEvent() time.Time {
	if late := t.deadline(); len(t.pending) > 0 && late.Before(t.nextTick) {
		return late.Add(1) // a sample may be taken just then
	}
	return t.nextTick
}

// expire gives up the windows for whose samples of the last tick it is too late, and returns them.
func (t *ticker) takeExpired(now time.Time) (expired []int) {
	if now.After(t.deadline()) {
		expired, t.pending = t.pending, nil
	}
	return expired
}

// advance begins the present tick; false: it is too late for that, or the clock was set.
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

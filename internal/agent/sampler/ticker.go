package sampler

import (
	"slices"
	"time"
)

// clock has the ticks of one interval.
type clock struct {
	every   time.Duration
	seldom  time.Duration // between the ticks of windows that nobody looks at; 0: they have none
	looks   bool          // its windows are since the last look
	group   []int         // of such windows, see together
	watched map[int]bool  // groups: somebody looks at one of them
	begun   bool          // the last tick is not complete
	windows []int         // that have these ticks
	pending []int         // those of them that have yet to get their sample of the last tick
	tick    int64         // number of the last one
	at      time.Time     // when that was, or was to be; zero: there was none
	next    time.Time
}

// after is when the next tick is, at a multiple of the interval by the wall clock; never: in a year.
func (c *clock) after(now time.Time) time.Time {
	every := c.every
	if c.looks && len(c.watched) == 0 {
		if every = c.seldom; every == 0 {
			return now.AddDate(1, 0, 0)
		}
	}
	return now.Add(every - time.Duration(now.UnixNano()%int64(every)))
}

// due are the windows that have a tick at a time.
func (c *clock) due(at time.Time) []int {
	if !c.looks || c.seldom > 0 && at.UnixNano()%int64(c.seldom) == 0 {
		return slices.Clone(c.windows)
	}
	return slices.DeleteFunc(slices.Clone(c.windows), func(i int) bool { return !c.watched[c.group[i]] })
}

// since is how long ago the last multiple was.
func (c *clock) since(now time.Time) time.Duration {
	return time.Duration(now.UnixNano() % int64(c.every))
}

// late is until when a sample for the last tick may be taken.
func (c *clock) late() time.Time { return c.at.Add(c.every / 2) }

// look is when there is something to do next.
func (c *clock) look() time.Time {
	if late := c.late(); len(c.pending) > 0 && late.Before(c.next) {
		return late.Add(1) // a sample may be taken just then
	}
	return c.next
}

// expire gives up the windows for whose samples of the last tick it is too late, and returns them.
func (c *clock) expire(now time.Time) (late []int) {
	if now.After(c.late()) {
		late, c.pending = c.pending, nil
	}
	return late
}

// advance begins the present tick; false: it is too late for that, or the clock was set.
func (c *clock) advance(now time.Time) bool {
	since := c.since(now)
	if since > c.every/2 {
		return false
	}
	at := now.Add(-since)
	if c.at.IsZero() {
		c.tick++
	} else {
		c.tick += int64(max(1, at.Sub(c.at).Round(c.every)/c.every))
	}
	c.at, c.begun = at, true
	return true
}

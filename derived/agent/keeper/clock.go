package keeper

import "time"

// clock has the ticks of one interval.
type clock struct {
	every   time.Duration
	windows []int     // that have these ticks
	pending []int     // those of them that have yet to get their sample of the last tick
	tick    int64     // number of the last one
	at      time.Time // when that was, or was to be; zero: there was none
	next    time.Time
}

// after is the next multiple of the interval by the wall clock.
func (c *clock) after(now time.Time) time.Time { return now.Add(c.every - c.since(now)) }

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

// advance goes on to the present tick, if there is a new one.
func (c *clock) advance(now time.Time) {
	if now.Before(c.next) {
		return
	}
	c.next = c.after(now)
	since := c.since(now)
	if since > c.every/2 { // woken too late for the last one, or the clock was set
		return
	}
	at := now.Add(-since)
	if c.at.IsZero() {
		c.tick++
	} else {
		c.tick += int64(max(1, at.Sub(c.at).Round(c.every)/c.every))
	}
	c.at = at
	c.pending = append(c.pending[:0], c.windows...)
}

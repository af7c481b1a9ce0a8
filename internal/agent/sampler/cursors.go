package sampler

import (
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/window"
)

// Cursor is the position of a client context in the ticks of one metric with per-client windows. The zero value is that
// of a context that has not fetched the metric.
type Cursor struct {
	// Sampler.mu guards these.
	tick       int64     // the newest tick that the context has read
	expires    time.Time // the context is not expected to fetch again after that
	windowIDs  []int     // the per-client windows of the metric
	registered bool      // the cursor is in Sampler.cursors

	// These belong to the request loop.
	values   []*derived.Vector // the results that ReadSince has returned last,
	valueIDs []int             // and the IDs of their windows
}

// ReadSince returns the results for a client's fetch of a metric, and moves the cursor to the tick of p, the state when
// the fetch arrived. indexes are the per-client windows of the metric. The client is expected to fetch again before
// until: if it comes later, it starts with a first fetch.
func (s *Sampler) ReadSince(r *Results, p *Published, c *Cursor, indexes []uint32, until time.Time) *derived.Results {
	s.mu.Lock()
	// Accumulators are kept for cursors, and for the last two complete ticks, since a fetch may have loaded the state
	// just before a new one. If p is older, a cursor at its tick would have no accumulator.
	if latest := r.published.Load(); p.tick != latest.tick && p.tick != latest.previous {
		p = latest
	}
	tick, first := c.tick, !c.registered
	c.tick, c.expires = p.tick, until
	c.windowIDs = r.appendIDs(c.windowIDs[:0], indexes)
	if c.registered = true; first {
		s.cursors[c] = struct{}{}
	}
	s.mu.Unlock()
	values, since := p.shared, p.since[tick]
	firstRead := func(i uint32) bool { return r.firstRead(c, i, p, since) }
	switch {
	case first:
		s.wakeRun()
	case since != nil && !slices.ContainsFunc(indexes, firstRead):
		values = window.WithPrevious(r.windows, indexes, since, func(i uint32) *derived.Vector { return r.lastValue(c, i) })
	}
	c.values, c.valueIDs = c.values[:0], r.appendIDs(c.valueIDs[:0], indexes)
	for _, i := range indexes {
		c.values = append(c.values, values.Values[i]) // values itself would keep the results of all windows in memory
	}
	return values
}

// appendIDs appends the IDs of windows.
func (r *Results) appendIDs(to []int, some []uint32) []int {
	for _, i := range some {
		to = append(to, r.windowIDs[i])
	}
	return to
}

// firstRead reports whether the client has not read a window in this metric, because the definition was edited since.
// Then either the window is newer than the client's last tick, so that since has the result of a first fetch, or
// another metric had the window before and nothing was added to it since.
//
// since has the result of a first fetch if it is the same vector as in p.shared: the result of an accumulator is a
// vector of its own.
func (r *Results) firstRead(c *Cursor, i uint32, p *Published, since *derived.Results) bool {
	v := since.Values[i]
	if v == nil {
		return r.lastValue(c, i) == nil
	}
	return v == p.shared.Values[i] && v.Code >= 0
}

// lastValue returns the result of a window that the client has read last, nil if it has read none.
func (r *Results) lastValue(c *Cursor, i uint32) *derived.Vector {
	n := slices.Index(c.valueIDs, r.windowIDs[i])
	if n < 0 {
		return nil
	}
	return c.values[n]
}

// ExtendCursor keeps the cursor of a client whose fetch had no values, so that its next fetch goes on from there.
func (s *Sampler) ExtendCursor(c *Cursor, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.expires = until
}

// DropCursor drops the cursor of a context that has ended.
func (s *Sampler) DropCursor(c *Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cursors, c)
	c.registered = false
}

// beginPerClientTick begins a tick of per-client windows. lastTicks are the ticks that cursors have, by window: the
// windows accumulate from each of them. They also do so from the last two complete ticks, which cursors may have when
// this tick is complete.
func (s *Sampler) beginPerClientTick(t *ticker, lastTicks map[int][]int64) {
	now := s.results.published.Load()
	restarted := make(map[int]bool) // groups with a new window
	for _, i := range t.windows {
		restarted[t.group[i]] = restarted[t.group[i]] || !s.windows.TickBegun(i)
	}
	for _, i := range t.windows {
		if restarted[t.group[i]] {
			s.windows.RestartShared(i)
		}
		s.windows.BeginTick(i, append(lastTicks[i], now.tick, now.previous)...)
	}
}

// publishIfComplete publishes the last tick of per-client windows once it is complete.
func (s *Sampler) publishIfComplete(t *ticker) {
	if t.perClient && t.incomplete && len(t.pending) == 0 {
		t.incomplete = false
		s.windows.EndTick(t.tick, t.windows...)
		s.publish(t)
	}
}

// scanCursors sets the groups of windows that clients read, and returns the ticks that they have read last, by window.
// It drops the cursors that have expired.
func (s *Sampler) scanCursors(t *ticker, now time.Time) (lastTicks map[int][]int64) {
	lastTicks, t.readGroups = make(map[int][]int64), make(map[int]bool)
	s.mu.Lock()
	defer s.mu.Unlock()
	for cursor := range s.cursors {
		if cursor.expires.Before(now) {
			delete(s.cursors, cursor)
			cursor.registered = false
			continue
		}
		for _, id := range cursor.windowIDs {
			i, ok := s.indexes[id]
			if !ok {
				continue // the set does not have the window any more
			}
			t.readGroups[t.group[i]] = true
			if !slices.Contains(lastTicks[i], cursor.tick) {
				lastTicks[i] = append(lastTicks[i], cursor.tick)
			}
		}
	}
	return lastTicks
}

package sampler

import (
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/window"
)

// Look is what a client context has seen of a metric with windows that are since its last look. The zero value is a context that has not looked. It
// belongs to one goroutine, but for what Keeper.looks guards.
type Cursor struct {
	tick       int64     // the newest that it has seen
	expires    time.Time // it is expected to come again
	windowIDs  []int     // by number
	registered bool      // to the Keeper

	values   []*derived.Vector // the last time, of each of
	valueIDs []int             // these windows, by number
}

// See is what a client is told of a metric with some windows that are since its last look, as it was known at s, when its fetch came: all metrics of that
// are of one tick. It is expected to come again until a time, and begins anew if it comes later.
func (s *Sampler) ReadSince(r *Results, p *Published, c *Cursor, indexes []uint32, until time.Time) *derived.Results {
	s.mu.Lock()
	if latest := r.published.Load(); p.tick != latest.tick && p.tick != latest.previous { // what came after s is not known any more
		p = latest
	}
	tick, first := c.tick, !c.registered
	c.tick, c.expires = p.tick, until
	c.windowIDs = r.appendIDs(c.windowIDs[:0], indexes)
	if c.registered = true; first {
		s.cursors[c] = struct{}{}
	}
	s.mu.Unlock()
	values := p.shared
	if first {
		s.wakeRun()
	} else if since := p.since[tick]; since != nil && !slices.ContainsFunc(indexes, func(i uint32) bool { return r.restarted(c, i, p, since) }) {
		values = window.WithPrevious(r.windows, indexes, since, func(i uint32) *derived.Vector { return r.lastValue(c, i) })
	}
	c.values, c.valueIDs = c.values[:0], r.appendIDs(c.valueIDs[:0], indexes)
	for _, i := range indexes {
		c.values = append(c.values, values.Values[i]) // not r, which has the values of all other windows
	}
	return values
}

// numbersOf appends the numbers of windows of b.
func (r *Results) appendIDs(to []int, some []uint32) []int {
	for _, i := range some {
		to = append(to, r.windowIDs[i])
	}
	return to
}

// anew reports whether a metric with a window begins anew, so that all its windows have the same ticks: it was edited, and either the window has begun
// after the tick of since, or the client was told nothing of it, which another metric had kept.
func (r *Results) restarted(c *Cursor, i uint32, p *Published, since *derived.Results) bool {
	v := since.Values[i]
	if v == nil {
		return r.lastValue(c, i) == nil
	}
	return v == p.shared.Values[i] && v.Code >= 0
}

// told is what a client was told of a window of b; nil: nothing.
func (r *Results) lastValue(c *Cursor, i uint32) *derived.Vector {
	n := slices.Index(c.valueIDs, r.windowIDs[i])
	if n < 0 {
		return nil
	}
	return c.values[n]
}

// Expect says until when a client is expected to come again that has come, and was told nothing.
func (s *Sampler) ExtendCursor(c *Cursor, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.expires = until
}

// Forget forgets what a client has seen that has gone.
func (s *Sampler) DropCursor(c *Cursor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cursors, c)
	c.registered = false
}

// begin begins a tick of the windows that are since the last look. Clients have seen some ticks last, and may see the newest one until this is complete, and
// the one before: with a fetch that came then.
func (s *Sampler) beginPerClientTick(t *ticker, lastTicks map[int][]int64) {
	now := s.results.published.Load()
	restarted := make(map[int]bool) // groups with a window that is new
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

// finish shows a tick of such windows that is complete.
func (s *Sampler) publishIfComplete(t *ticker) {
	if t.perClient && t.incomplete && len(t.pending) == 0 {
		t.incomplete = false
		s.windows.EndTick(t.tick, t.windows...)
		s.publish(t)
	}
}

// watch finds out which windows are to be sampled because somebody looks, and which ticks were seen of them last. Who has not come for too long is forgotten.
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
				continue // it has gone
			}
			t.readGroups[t.group[i]] = true
			if !slices.Contains(lastTicks[i], cursor.tick) {
				lastTicks[i] = append(lastTicks[i], cursor.tick)
			}
		}
	}
	return lastTicks
}

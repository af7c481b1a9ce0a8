package sampler

import (
	"maps"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/upstream"
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

// Shown is what is known at a time. Immutable. Nil: nothing is.
type Published struct {
	shared   *derived.Results
	tick     int64                      // the newest that is complete of the windows that are since the last look
	previous int64                      // the one that was so before
	since    map[int64]*derived.Results // likewise of these, by the tick that a client has seen
}

// Now is what is known now.
func (r *Results) Latest() *Published {
	if r == nil {
		return nil
	}
	return r.published.Load()
}

// Results are what windows come to, but for those that are since the last look: there they are what a client finds at its first one.
func (p *Published) Shared() *derived.Results {
	if p == nil {
		return nil
	}
	return p.shared
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
		values = window.Else(r.windows, indexes, since, func(i uint32) *derived.Vector { return r.lastValue(c, i) })
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
		restarted[t.group[i]] = restarted[t.group[i]] || !s.windows.Begun(i)
	}
	for _, i := range t.windows {
		if restarted[t.group[i]] {
			s.windows.Restart(i)
		}
		s.windows.Begin(i, append(lastTicks[i], now.tick, now.previous)...)
	}
}

// finish shows a tick of such windows that is complete.
func (s *Sampler) publishIfComplete(t *ticker) {
	if t.perClient && t.incomplete && len(t.pending) == 0 {
		t.incomplete = false
		s.windows.Done(t.tick, t.windows...)
		s.publish(t)
	}
}

// together tells the group of each window that is since the last look: the windows of one metric, and those of the same operands, have the same ticks. Else
// a sum through a count would be no average for a client that looks for the first time, if others look at the count alone.
func groupWindows(set *derived.Set, series []*upstream.Series) []int {
	parent := make([]int, len(series)) // another one of it, or itself
	root := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	perClient := func(i int) bool { return series[i] != nil && set.Windows()[i].Span == 0 }
	firstOf := make(map[*upstream.Series]int)
	for i, s := range series {
		if parent[i] = i; !perClient(i) {
			continue
		}
		if first, ok := firstOf[s]; ok {
			parent[i] = first
		} else {
			firstOf[s] = i
		}
	}
	for _, m := range set.Metrics() {
		last := -1
		for _, w := range m.Needs().Windows {
			i := int(w)
			if !perClient(i) {
				continue
			}
			if last >= 0 {
				parent[root(i)] = root(last)
			}
			last = i
		}
	}
	for i := range parent {
		parent[i] = root(i)
	}
	return parent
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

// show publishes what is known now, with another tick if that is complete.
func (s *Sampler) publish(complete *ticker) {
	next := &Published{shared: s.windows.Results()}
	if last := s.results.published.Load(); last != nil {
		next.tick, next.previous, next.since = last.tick, last.previous, last.since
	}
	if complete == nil {
		next.since = maps.Clone(next.since)
		for tick, results := range next.since {
			next.since[tick] = s.results.withSpans(results, next.shared)
		}
	} else {
		next.since = make(map[int64]*derived.Results)
		for _, i := range complete.windows {
			for _, tick := range s.windows.Seen(i) {
				if next.since[tick] == nil {
					next.since[tick] = s.windows.Since(tick)
				}
			}
		}
		next.previous, next.tick = next.tick, complete.tick
	}
	s.options.Figures.WindowValues.Store(int64(s.windows.Kept()))
	s.mu.Lock()
	s.results.published.Store(next)
	s.mu.Unlock()
}

// spans is r with the present results of the windows that have a span: they do not wait for the next tick of the others.
func (r *Results) withSpans(base, now *derived.Results) *derived.Results {
	merged := &derived.Results{Values: slices.Clone(now.Values), Names: now.Names}
	for i, w := range r.windows {
		if w.Span == 0 {
			merged.Values[i] = base.Values[i]
		}
	}
	return merged
}

// move makes what was shown of a set that of another one, whose windows had other places.
func (p *Published) reindex(oldIndexes []int, results *derived.Results) *Published {
	next := &Published{shared: results, tick: p.tick, previous: p.previous, since: maps.Clone(p.since)}
	for tick, r := range next.since {
		next.since[tick] = reindexResults(oldIndexes, results, r)
	}
	return next
}

// moved is r with former results in place of those that windows had.
func reindexResults(oldIndexes []int, current, former *derived.Results) *derived.Results {
	reindexed := &derived.Results{Values: slices.Clone(current.Values), Names: current.Names}
	for i, old := range oldIndexes {
		if old >= 0 {
			reindexed.Values[i] = former.Values[old]
		}
	}
	return reindexed
}

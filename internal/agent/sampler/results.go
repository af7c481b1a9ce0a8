package sampler

import (
	"maps"
	"slices"
	"sync/atomic"

	"pmdaderived/derived"
)

// Board shows what the windows of a set come to. Nil: it has none.
type Results struct {
	windows   []*derived.Window
	windowIDs []int                     // of them
	published atomic.Pointer[Published] // written under Keeper.seen once others have the Board
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

// swap makes a board for another set.
func (s *Sampler) newResults(set *derived.Set, oldIndexes []int, hasWindows bool) {
	former := s.results
	if s.results = nil; hasWindows {
		s.results = &Results{windows: set.Windows(), windowIDs: s.windowIDs}
		first := &Published{shared: s.windows.Results()}
		if former != nil {
			first = former.published.Load().reindex(oldIndexes, first.shared)
		}
		s.results.published.Store(first)
	}
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
			for _, tick := range s.windows.ReadTicks(i) {
				if next.since[tick] == nil {
					next.since[tick] = s.windows.ReadSince(tick)
				}
			}
		}
		next.previous, next.tick = next.tick, complete.tick
	}
	s.options.Figures.WindowValues.Store(int64(s.windows.Retained()))
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

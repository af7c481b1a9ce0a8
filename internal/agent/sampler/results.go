package sampler

import (
	"maps"
	"slices"
	"sync/atomic"

	"pmdaderived/derived"
)

// Results has the results of the windows of one set, now and later. Nil has none: the set has no windows.
type Results struct {
	windows   []*derived.Window
	windowIDs []int                     // by index
	published atomic.Pointer[Published] // replaced under Sampler.mu
}

// Published is the state of Results at one time. It is immutable. Nil has no results.
type Published struct {
	shared   *derived.Results
	bytes    []int                      // that each window retains
	tick     int64                      // the newest complete tick of per-client windows
	previous int64                      // the complete tick before
	since    map[int64]*derived.Results // results of per-client windows, by the tick that a client has read last
}

// Latest returns the state now.
func (r *Results) Latest() *Published {
	if r == nil {
		return nil
	}
	return r.published.Load()
}

// Shared has one result per window, the same for all clients. For per-client windows it is the result of a first fetch.
func (p *Published) Shared() *derived.Results {
	if p == nil {
		return nil
	}
	return p.shared
}

// Bytes returns the size of the values that a window retains.
func (p *Published) Bytes(i uint32) int {
	if p == nil {
		return 0
	}
	return p.bytes[i]
}

// newResults makes the Results of a new set. Cursors stay valid: windows that were in the former set keep their
// results.
func (s *Sampler) newResults(set *derived.Set, oldIndexes []int, hasWindows bool) {
	former := s.results
	if s.results = nil; hasWindows {
		s.results = &Results{windows: set.Windows(), windowIDs: s.windowIDs}
		first := &Published{shared: s.windows.Results()}
		if former != nil {
			first = former.published.Load().reindex(oldIndexes, first.shared)
		}
		first.bytes = s.windows.Bytes()
		s.results.published.Store(first)
	}
}

// publish publishes the present results. complete is the ticker of per-client windows whose last tick is complete: then
// there are new results for each cursor. If it is nil, only windows with a span have new results.
func (s *Sampler) publish(complete *ticker) {
	next := &Published{shared: s.windows.Results(), bytes: s.windows.Bytes()}
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
					next.since[tick] = s.windows.ResultsSince(tick)
				}
			}
		}
		next.previous, next.tick = next.tick, complete.tick
	}
	s.mu.Lock()
	s.results.published.Store(next)
	s.mu.Unlock()
}

// withSpans returns base with the present results of the windows with a span: they do not wait for the next tick of
// per-client windows.
func (r *Results) withSpans(base, now *derived.Results) *derived.Results {
	merged := &derived.Results{Values: slices.Clone(now.Values), Names: now.Names}
	for i, w := range r.windows {
		if w.Span == 0 {
			merged.Values[i] = base.Values[i]
		}
	}
	return merged
}

// reindex makes a state for a new set from that of the former one. Windows have other indexes there.
func (p *Published) reindex(oldIndexes []int, results *derived.Results) *Published {
	next := &Published{shared: results, tick: p.tick, previous: p.previous, since: maps.Clone(p.since)}
	for tick, r := range next.since {
		next.since[tick] = reindexResults(oldIndexes, results, r)
	}
	return next
}

// reindexResults returns current with the former results of the windows that were in the former set.
func reindexResults(oldIndexes []int, current, former *derived.Results) *derived.Results {
	reindexed := &derived.Results{Values: slices.Clone(current.Values), Names: current.Names}
	for i, old := range oldIndexes {
		if old >= 0 {
			reindexed.Values[i] = former.Values[old]
		}
	}
	return reindexed
}

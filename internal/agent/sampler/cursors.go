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
type Look struct {
	tick    int64     // the newest that it has seen
	until   time.Time // it is expected to come again
	windows []int     // by number
	known   bool      // to the Keeper

	told []*derived.Vector // the last time, of each of
	of   []int             // these windows, by number
}

// Shown is what is known at a time. Immutable. Nil: nothing is.
type Shown struct {
	results *derived.Results
	tick    int64                      // the newest that is complete of the windows that are since the last look
	before  int64                      // the one that was so before
	since   map[int64]*derived.Results // likewise of these, by the tick that a client has seen
}

// Now is what is known now.
func (b *Board) Now() *Shown {
	if b == nil {
		return nil
	}
	return b.shown.Load()
}

// Results are what windows come to, but for those that are since the last look: there they are what a client finds at its first one.
func (s *Shown) Results() *derived.Results {
	if s == nil {
		return nil
	}
	return s.results
}

// See is what a client is told of a metric with some windows that are since its last look, as it was known at s, when its fetch came: all metrics of that
// are of one tick. It is expected to come again until a time, and begins anew if it comes later.
func (k *Keeper) See(b *Board, s *Shown, l *Look, some []uint32, until time.Time) *derived.Results {
	k.seen.Lock()
	if now := b.shown.Load(); s.tick != now.tick && s.tick != now.before { // what came after s is not known any more
		s = now
	}
	tick, first := l.tick, !l.known
	l.tick, l.until = s.tick, until
	l.windows = b.numbersOf(l.windows[:0], some)
	if l.known = true; first {
		k.looks[l] = struct{}{}
	}
	k.seen.Unlock()
	r := s.results
	if first {
		k.wake()
	} else if since := s.since[tick]; since != nil && !slices.ContainsFunc(some, func(i uint32) bool { return b.anew(l, i, s, since) }) {
		r = window.Else(b.windows, some, since, func(i uint32) *derived.Vector { return b.told(l, i) })
	}
	l.told, l.of = l.told[:0], b.numbersOf(l.of[:0], some)
	for _, i := range some {
		l.told = append(l.told, r.Values[i]) // not r, which has the values of all other windows
	}
	return r
}

// numbersOf appends the numbers of windows of b.
func (b *Board) numbersOf(to []int, some []uint32) []int {
	for _, i := range some {
		to = append(to, b.numbers[i])
	}
	return to
}

// anew reports whether a metric with a window begins anew, so that all its windows have the same ticks: it was edited, and either the window has begun
// after the tick of since, or the client was told nothing of it, which another metric had kept.
func (b *Board) anew(l *Look, i uint32, s *Shown, since *derived.Results) bool {
	v := since.Values[i]
	if v == nil {
		return b.told(l, i) == nil
	}
	return v == s.results.Values[i] && v.Code >= 0
}

// told is what a client was told of a window of b; nil: nothing.
func (b *Board) told(l *Look, i uint32) *derived.Vector {
	at := slices.Index(l.of, b.numbers[i])
	if at < 0 {
		return nil
	}
	return l.told[at]
}

// Expect says until when a client is expected to come again that has come, and was told nothing.
func (k *Keeper) Expect(l *Look, until time.Time) {
	k.seen.Lock()
	defer k.seen.Unlock()
	l.until = until
}

// Forget forgets what a client has seen that has gone.
func (k *Keeper) Forget(l *Look) {
	k.seen.Lock()
	defer k.seen.Unlock()
	delete(k.looks, l)
	l.known = false
}

// begin begins a tick of the windows that are since the last look. Clients have seen some ticks last, and may see the newest one until this is complete, and
// the one before: with a fetch that came then.
func (k *Keeper) begin(c *clock, seen map[int][]int64) {
	now := k.board.shown.Load()
	joined := make(map[int]bool) // groups with a window that is new
	for _, i := range c.windows {
		joined[c.group[i]] = joined[c.group[i]] || !k.windows.Begun(i)
	}
	for _, i := range c.windows {
		if joined[c.group[i]] {
			k.windows.Restart(i)
		}
		k.windows.Begin(i, append(seen[i], now.tick, now.before)...)
	}
}

// finish shows a tick of such windows that is complete.
func (k *Keeper) finish(c *clock) {
	if c.looks && c.begun && len(c.pending) == 0 {
		c.begun = false
		k.windows.Done(c.tick, c.windows...)
		k.show(c)
	}
}

// together tells the group of each window that is since the last look: the windows of one metric, and those of the same operands, have the same ticks. Else
// a sum through a count would be no average for a client that looks for the first time, if others look at the count alone.
func together(set *derived.Set, series []*upstream.Series) []int {
	group := make([]int, len(series)) // another one of it, or itself
	of := func(i int) int {
		for group[i] != i {
			i = group[i]
		}
		return i
	}
	looks := func(i int) bool { return series[i] != nil && set.Windows()[i].Span == 0 }
	known := make(map[*upstream.Series]int)
	for i, s := range series {
		if group[i] = i; !looks(i) {
			continue
		}
		if first, ok := known[s]; ok {
			group[i] = first
		} else {
			known[s] = i
		}
	}
	for _, m := range set.Metrics() {
		last := -1
		for _, w := range m.Needs().Windows {
			i := int(w)
			if !looks(i) {
				continue
			}
			if last >= 0 {
				group[of(i)] = of(last)
			}
			last = i
		}
	}
	for i := range group {
		group[i] = of(i)
	}
	return group
}

// watch finds out which windows are to be sampled because somebody looks, and which ticks were seen of them last. Who has not come for too long is forgotten.
func (k *Keeper) watch(c *clock, now time.Time) (seen map[int][]int64) {
	seen, c.watched = make(map[int][]int64), make(map[int]bool)
	k.seen.Lock()
	defer k.seen.Unlock()
	for l := range k.looks {
		if l.until.Before(now) {
			delete(k.looks, l)
			l.known = false
			continue
		}
		for _, number := range l.windows {
			i, ok := k.places[number]
			if !ok {
				continue // it has gone
			}
			c.watched[c.group[i]] = true
			if !slices.Contains(seen[i], l.tick) {
				seen[i] = append(seen[i], l.tick)
			}
		}
	}
	return seen
}

// show publishes what is known now, with another tick if that is complete.
func (k *Keeper) show(done *clock) {
	next := &Shown{results: k.windows.Results()}
	if former := k.board.shown.Load(); former != nil {
		next.tick, next.before, next.since = former.tick, former.before, former.since
	}
	if done == nil {
		next.since = maps.Clone(next.since)
		for tick, r := range next.since {
			next.since[tick] = k.board.spans(r, next.results)
		}
	} else {
		next.since = make(map[int64]*derived.Results)
		for _, i := range done.windows {
			for _, tick := range k.windows.Seen(i) {
				if next.since[tick] == nil {
					next.since[tick] = k.windows.Since(tick)
				}
			}
		}
		next.before, next.tick = next.tick, done.tick
	}
	k.options.Figures.WindowValues.Store(int64(k.windows.Kept()))
	k.seen.Lock()
	k.board.shown.Store(next)
	k.seen.Unlock()
}

// spans is r with the present results of the windows that have a span: they do not wait for the next tick of the others.
func (b *Board) spans(r, now *derived.Results) *derived.Results {
	made := &derived.Results{Values: slices.Clone(now.Values), Names: now.Names}
	for i, w := range b.windows {
		if w.Span == 0 {
			made.Values[i] = r.Values[i]
		}
	}
	return made
}

// move makes what was shown of a set that of another one, whose windows had other places.
func (s *Shown) move(places []int, results *derived.Results) *Shown {
	next := &Shown{results: results, tick: s.tick, before: s.before, since: maps.Clone(s.since)}
	for tick, r := range next.since {
		next.since[tick] = moved(places, results, r)
	}
	return next
}

// moved is r with former results in place of those that windows had.
func moved(places []int, r, former *derived.Results) *derived.Results {
	made := &derived.Results{Values: slices.Clone(r.Values), Names: r.Names}
	for i, old := range places {
		if old >= 0 {
			made.Values[i] = former.Values[old]
		}
	}
	return made
}

package window

import (
	"maps"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
)

// Begin begins a tick of a window that is since the last look: seen are the ticks that clients have seen last, of which it is to be known what
// came after them. What is not asked for any more is forgotten.
func (ws *Windows) Begin(i int, seen ...int64) {
	w := &ws.all[i]
	w.begun = true
	for tick := range w.since {
		if !slices.Contains(seen, tick) {
			delete(w.since, tick)
		}
	}
	for _, tick := range seen {
		if w.since[tick] == nil {
			w.since[tick] = New(w.Window)
		}
	}
}

// Begun reports whether a window that is since the last look has begun a tick.
func (ws *Windows) Begun(i int) bool { return ws.all[i].begun }

// Restart has a client at its first look find nothing of a window that came before: it is to have the same ticks as another one.
func (ws *Windows) Restart(i int) { ws.all[i].ring.Restart() }

// Seen are the ticks of which it is known what came after them.
func (ws *Windows) Seen(i int) []int64 { return slices.Collect(maps.Keys(ws.all[i].since)) }

// Done ends a tick of some windows that are since the last look: it is in their results from now on, and it is known what comes after it.
func (ws *Windows) Done(tick int64, of ...int) {
	for _, i := range of {
		w := &ws.all[i]
		if w.since[tick] == nil {
			w.since[tick] = New(w.Window)
		}
		if w.added {
			w.added, w.value = false, w.ring.Value()
			if ws.First == 0 {
				w.value = &derived.Vector{Type: w.Desc.Type}
			}
		}
	}
}

// Since is what a client is told that has seen a tick last, nil for the windows that nothing has come of since; see [Else]. Of those where it is not
// known what came after that tick it is told what it would find at its first look: they are newer, or would keep too many values.
func (ws *Windows) Since(tick int64) *derived.Results {
	r := ws.Results()
	for i := range ws.all {
		w := &ws.all[i]
		switch all := w.since[tick]; {
		case all == nil:
		case all.last != nil:
			r.Values[i] = all.Value()
		case w.value.Code >= 0:
			r.Values[i] = nil
		}
	}
	return r
}

// Else is r, with what a client was told before in place of some windows that nothing has come of since: but a sum is told once, and a count is 0. told
// knows of each what that was.
func Else(of []*derived.Window, some []uint32, r *derived.Results, told func(i uint32) *derived.Vector) *derived.Results {
	if !slices.ContainsFunc(some, func(i uint32) bool { return r.Values[i] == nil }) {
		return r
	}
	made := &derived.Results{Values: slices.Clone(r.Values), Names: r.Names}
	for _, i := range some {
		if made.Values[i] != nil {
			continue
		}
		v := told(i)
		switch {
		case v.Code < 0:
		case of[i].Func == syntax.SumSample:
			v = &derived.Vector{Type: v.Type}
		case of[i].Func == syntax.CountSample:
			v = &derived.Vector{Type: v.Type, Insts: v.Insts, Bits: make([]uint64, len(v.Bits))}
		}
		made.Values[i] = v
	}
	return made
}

// One is the windows of a set for who has one client.
type One struct {
	*Windows
	before time.Duration // since of the newest Sample, < 0: there is none
	looks  []int         // that are since the last look
	some   []uint32      // the same
	tick   int64         // the newest
	seen   int64         // by the client
	looked bool
	told   *derived.Results // the last time
}

// NewOne makes the windows of a set, with so many ticks at the first look.
func NewOne(set *derived.Set, groups *derived.Groups, first int64) *One {
	none := NewWindows(groups)
	none.First = first
	ws, _ := none.Next(set)
	o := &One{Windows: ws, before: -1}
	for i, w := range set.Windows() {
		if w.Span == 0 {
			o.looks, o.some = append(o.looks, i), append(o.some, uint32(i))
		}
	}
	return o
}

// Begin begins a tick of the windows that are since the last look.
func (o *One) Begin(tick int64) {
	for _, i := range o.looks {
		o.Windows.Begin(i, o.seen)
	}
	o.tick = tick
}

// Done ends a tick.
func (o *One) Done() { o.Windows.Done(o.tick, o.looks...) }

// Sample takes a sample where there are no ticks: it is the tick of each window for which it is the first one in its interval. since is the time from the
// beginning of the first interval to the sample.
func (o *One) Sample(since time.Duration, taken derived.Sample) {
	tick := func(every time.Duration) (number int64, first bool) {
		number = 1 + int64(since/every)
		return number, o.before < 0 || number > 1+int64(o.before/every)
	}
	if number, first := tick(Every); first {
		o.Begin(number)
	}
	for i, w := range o.set.Windows() {
		if number, first := tick(w.Every); first {
			o.Add(i, number, taken, true)
		}
	}
	o.Done()
	o.before = since
}

// Look is what the client is told now.
func (o *One) Look() *derived.Results {
	r := o.Results()
	if o.looked {
		r = Else(o.set.Windows(), o.some, o.Since(o.seen), func(i uint32) *derived.Vector { return o.told.Values[i] })
	}
	o.seen, o.looked, o.told = o.tick, true, r
	return r
}

package window

import (
	"maps"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
)

// BeginTick begins a tick of a window that is since the last look: seen are the ticks that clients have seen last, of which it is to be known what
// came after them. What is not asked for any more is forgotten.
func (ws *Windows) BeginTick(i int, seen ...int64) {
	w := &ws.entries[i]
	w.tickBegun = true
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

// TickBegun reports whether a window that is since the last look has begun a tick.
func (ws *Windows) TickBegun(i int) bool { return ws.entries[i].tickBegun }

// RestartShared has a client at its first look find nothing of a window that came before: it is to have the same ticks as another one.
func (ws *Windows) RestartShared(i int) { ws.entries[i].shared.Restart() }

// ReadTicks are the ticks of which it is known what came after them.
func (ws *Windows) ReadTicks(i int) []int64 { return slices.Collect(maps.Keys(ws.entries[i].since)) }

// EndTick ends a tick of some windows that are since the last look: it is in their results from now on, and it is known what comes after it.
func (ws *Windows) EndTick(tick int64, of ...int) {
	for _, i := range of {
		w := &ws.entries[i]
		if w.since[tick] == nil {
			w.since[tick] = New(w.Window)
		}
		if w.tickHasValues {
			w.tickHasValues, w.result = false, w.shared.Value()
			if ws.FirstTicks == 0 {
				w.result = &derived.Vector{Type: w.Desc.Type}
			}
		}
	}
}

// ReadSince is what a client is told that has seen a tick last, nil for the windows that nothing has come of since; see [Else]. Of those where it is not
// known what came after that tick it is told what it would find at its first look: they are newer, or would keep too many values.
func (ws *Windows) ReadSince(tick int64) *derived.Results {
	r := ws.Results()
	for i := range ws.entries {
		w := &ws.entries[i]
		switch all := w.since[tick]; {
		case all == nil:
		case all.newest != nil:
			r.Values[i] = all.Value()
		case w.result.Code >= 0:
			r.Values[i] = nil
		}
	}
	return r
}

// WithPrevious is r, with what a client was told before in place of some windows that nothing has come of since: but a sum is told once, and a count is 0. told
// knows of each what that was.
func WithPrevious(of []*derived.Window, some []uint32, r *derived.Results, told func(i uint32) *derived.Vector) *derived.Results {
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

// SingleClient is the windows of a set for who has one client.
type SingleClient struct {
	*Windows
	sampled      time.Duration // since of the newest Sample, < 0: there is none
	perClient    []int         // that are since the last look
	perClientIDs []uint32      // the same
	newest       int64         // the newest
	readTick     int64         // by the client
	hasRead      bool
	previous     *derived.Results // the last time
}

// NewSingleClient makes the windows of a set, with so many ticks at the first look.
func NewSingleClient(set *derived.Set, groups *derived.Groups, first int64) *SingleClient {
	none := NewWindows(groups)
	none.FirstTicks = first
	ws, _ := none.ForSet(set)
	o := &SingleClient{Windows: ws, sampled: -1}
	for i, w := range set.Windows() {
		if w.Span == 0 {
			o.perClient, o.perClientIDs = append(o.perClient, i), append(o.perClientIDs, uint32(i))
		}
	}
	return o
}

// BeginTick begins a tick of the windows that are since the last look.
func (o *SingleClient) BeginTick(tick int64) {
	for _, i := range o.perClient {
		o.Windows.BeginTick(i, o.readTick)
	}
	o.newest = tick
}

// EndTick ends a tick.
func (o *SingleClient) EndTick() { o.Windows.EndTick(o.newest, o.perClient...) }

// Sample takes a sample where there are no ticks: it is the tick of each window for which it is the first one in its interval. since is the time from the
// beginning of the first interval to the sample.
func (o *SingleClient) Sample(since time.Duration, taken derived.Sample) {
	tick := func(every time.Duration) (number int64, first bool) {
		number = 1 + int64(since/every)
		return number, o.sampled < 0 || number > 1+int64(o.sampled/every)
	}
	if number, first := tick(PerClientInterval); first {
		o.BeginTick(number)
	}
	for i, w := range o.set.Windows() {
		if number, first := tick(w.Every); first {
			o.Add(i, number, taken, true)
		}
	}
	o.EndTick()
	o.sampled = since
}

// Read is what the client is told now.
func (o *SingleClient) Read() *derived.Results {
	r := o.Results()
	if o.hasRead {
		r = WithPrevious(o.set.Windows(), o.perClientIDs, o.ReadSince(o.readTick), func(i uint32) *derived.Vector { return o.previous.Values[i] })
	}
	o.readTick, o.hasRead, o.previous = o.newest, true, r
	return r
}

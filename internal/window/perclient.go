package window

import (
	"maps"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
)

// BeginTick begins a tick of a per-client window. read has the ticks that clients have read last. From now on the
// window collects what comes after each of them, and forgets all others.
func (ws *Windows) BeginTick(i int, read ...int64) {
	w := &ws.entries[i]
	w.tickBegun = true
	for tick := range w.since {
		if !slices.Contains(read, tick) {
			delete(w.since, tick)
		}
	}
	for _, tick := range read {
		if w.since[tick] == nil {
			w.since[tick] = New(w.Window)
		}
	}
}

// TickBegun reports whether a per-client window has begun a tick.
func (ws *Windows) TickBegun(i int) bool { return ws.entries[i].tickBegun }

// RestartShared restarts the window of first fetches. The windows of one metric must have the same ticks, so all of
// them restart when one is new.
func (ws *Windows) RestartShared(i int) { ws.entries[i].shared.Restart() }

// ReadTicks returns the ticks after which the window collects values.
func (ws *Windows) ReadTicks(i int) []int64 { return slices.Collect(maps.Keys(ws.entries[i].since)) }

// EndTick ends a tick of some per-client windows. From now on the tick is in their results, and the windows also
// collect what comes after it.
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

// ResultsSince returns the results for a client that has read this tick last. A window without a value since then has
// nil; see [WithPrevious]. A window that has not collected values since that tick has the result of a first fetch: it
// is newer, or it would retain too many values.
func (ws *Windows) ResultsSince(tick int64) *derived.Results {
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

// WithPrevious returns r, in which windows without a new value have the previous one of this client. Two functions
// differ: a sum has no value, as it would count twice, and a count is 0. perClient has the indexes of the per-client
// windows in of. previous returns the previous value of a window.
func WithPrevious(
	of []*derived.Window, perClient []uint32, r *derived.Results, previous func(i uint32) *derived.Vector,
) *derived.Results {
	if !slices.ContainsFunc(perClient, func(i uint32) bool { return r.Values[i] == nil }) {
		return r
	}
	made := &derived.Results{Values: slices.Clone(r.Values), Names: r.Names}
	for _, i := range perClient {
		if made.Values[i] != nil {
			continue
		}
		v := previous(i)
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

// SingleClient has the windows of a set for one client.
type SingleClient struct {
	*Windows
	sampled      time.Duration // time of the newest Sample since the first interval; < 0: there is none
	perClient    []int         // indexes of the per-client windows
	perClientIDs []uint32      // the same, for WithPrevious
	newest       int64         // the newest tick
	readTick     int64         // the tick that the client has read last
	hasRead      bool
	previous     *derived.Results // results of the last Read
}

// NewSingleClient makes the windows of a set. first is the number of ticks that the first Read covers.
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

// BeginTick begins a tick of the per-client windows.
func (o *SingleClient) BeginTick(tick int64) {
	for _, i := range o.perClient {
		o.Windows.BeginTick(i, o.readTick)
	}
	o.newest = tick
}

// EndTick ends it.
func (o *SingleClient) EndTick() { o.Windows.EndTick(o.newest, o.perClient...) }

// Sample adds a sample where no ticks are scheduled. The first sample in each interval of a window is the window's
// tick. since is the time from the beginning of the first interval to the sample.
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

// Read returns the results for the client, and notes that it has read them.
func (o *SingleClient) Read() *derived.Results {
	r := o.Results()
	if o.hasRead {
		previous := o.previous
		r = WithPrevious(o.set.Windows(), o.perClientIDs, o.ResultsSince(o.readTick), func(i uint32) *derived.Vector {
			return previous.Values[i]
		})
	}
	o.readTick, o.hasRead, o.previous = o.newest, true, r
	return r
}

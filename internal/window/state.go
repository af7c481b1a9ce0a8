package window

import (
	"iter"
	"math"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// State has the results of all windows at a time, and the columns of per-client windows up to a tick. Immutable.
type State struct {
	// Results has the results of the windows with a span. Those of per-client windows are errors: see Reader.
	Results *derived.Results

	windows    []*derived.Window
	bytes      []int      // that each window retains
	tick       int64      // the newest complete tick of per-client windows
	firstTicks int64      // Windows.FirstTicks
	views      []view     // of per-client windows
	readers    []*Readers // the same
}

// State returns the present state. tick is the newest complete tick of per-client windows. before is the state before,
// with the same windows; nil: there is none. If it has the same tick, clients get the columns that it has, unless
// instances in them have ended.
func (ws *Windows) State(tick int64, before *State) *State {
	n := len(ws.windows)
	s := &State{
		Results: &derived.Results{Values: make([]*derived.Vector, n), Names: make([]*derived.NameTable, n)},
		windows: ws.set.Windows(), bytes: make([]int, n), tick: tick, firstTicks: ws.FirstTicks,
	}
	if before != nil && before.tick == tick {
		s.views, s.readers = slices.Clone(before.views), before.readers
	} else {
		s.views, s.readers = make([]view, n), make([]*Readers, n)
	}
	for i := range ws.windows {
		w := &ws.windows[i]
		s.Results.Values[i], s.bytes[i] = w.result, w.bytes()
		if w.Grouped {
			s.Results.Names[i] = ws.groups.Table(w.Desc.InDom)
		}
		switch {
		case !w.PerClient():
		case s.readers[i] == nil:
			s.views[i], s.readers[i] = w.view, w.readers
		case w.replaced:
			s.views[i] = w.view
		default: // groups of these columns may have been forgotten since
			s.Results.Names[i] = before.Results.Names[i]
		}
		w.replaced = false
	}
	return s
}

// Bytes returns the size of what a window retains. A nil state has no windows.
func (s *State) Bytes(i uint32) int {
	if s == nil {
		return 0
	}
	return s.bytes[i]
}

// between returns the columns of a per-client window after a tick and up to the tick of the state.
func (s *State) between(i uint32, after int64) []column {
	of := s.views[i].columns
	end := sort.Search(len(of), func(k int) bool { return of[k].tick > s.tick })
	return of[sort.Search(end, func(k int) bool { return of[k].tick > after }):end]
}

// These are the reasons of errors that a client has once.
const (
	tooManySince     = "there were more values than the agent keeps for a function without a window, see docs/time.md"
	tooManyInRequest = "this request needs more values of functions without a window than one may read, see docs/time.md"
)

// Readers tells a per-client window what cursors need. It goes on from set to set with the window.
type Readers struct {
	need atomic.Pointer[need]
}

// need is what unexpired cursors need: the columns after a tick, until a time.
type need struct {
	oldest int64
	until  time.Time
}

// nothing is the oldest tick that is needed if there is no cursor.
const nothing = math.MaxInt64

// needed returns the oldest tick of a cursor.
func (r *Readers) needed(now time.Time) int64 {
	if n := r.need.Load(); n != nil && !n.until.Before(now) {
		return n.oldest
	}
	return nothing
}

// SetCursors tells the per-client windows of the state about all cursors. It is called at once when a cursor has read
// them for the first time, and later when cursors have moved or are gone.
func (s *State) SetCursors(all iter.Seq[*Cursor], now time.Time) {
	needs := make(map[*Readers]*need)
	for c := range all {
		if c.expires.Before(now) {
			continue
		}
		for _, r := range c.windows {
			n := needs[r]
			if n == nil {
				n = &need{c.tick, c.expires}
				needs[r] = n
			}
			if n.oldest = min(n.oldest, c.tick); c.expires.After(n.until) {
				n.until = c.expires
			}
		}
	}
	for _, r := range s.readers {
		if r != nil {
			r.need.Store(needs[r])
		}
	}
}

// Cursor is the position of a client in the ticks of one metric with per-client windows. The zero value is that of a
// client that has not read the metric.
type Cursor struct {
	tick    int64 // the newest tick that the client has read
	expires time.Time
	windows []*Readers           // the per-client windows of the metric
	values  []*derived.Vector    // their results that the client has read last
	names   []*derived.NameTable // Results.Names of these
}

// Extend keeps the cursor of a client whose fetch had no values, so that its next fetch goes on from there.
func (c *Cursor) Extend(until time.Time) { c.expires = until }

// goesOn reports whether the client has read all windows of a metric before.
func (c *Cursor) goesOn(s *State, perClient []uint32, now time.Time) bool {
	return !c.expires.Before(now) && !slices.ContainsFunc(perClient, func(i uint32) bool {
		return !slices.Contains(c.windows, s.readers[i])
	})
}

// again returns the result of a window without a new column: the previous one of this client. Two functions differ: a
// sum has no value, as it would count twice, and a count is 0.
func (c *Cursor) again(w *derived.Window, readers *Readers) (*derived.Vector, *derived.NameTable) {
	at := slices.Index(c.windows, readers)
	v := c.values[at]
	switch {
	case v.Code < 0:
	case w.Func == syntax.SumSample:
		v = &derived.Vector{Type: v.Type}
	case w.Func == syntax.CountSample:
		v = &derived.Vector{Type: v.Type, Insts: v.Insts, Bits: make([]uint64, len(v.Bits))}
	}
	return v, c.names[at]
}

// Reader computes the results of per-client windows for clients. Clients that have read the same tick share them. It
// has one owner.
type Reader struct {
	reducer reducer
	state   *State                     // the last one
	since   map[int64]*derived.Results // of state, by the tick that a client has read last; nil values are not computed yet
	copies  map[int64][]copied         // of state and this request, by the same tick
	limit   int                        // number of values that a request may read
	left    int                        // number of values that this request may still read
	tooMany *derived.Vector            // the result of a window that would need more
}

// NewReader returns a Reader for requests that may each read a number of values from per-client windows.
func NewReader(limit int) *Reader {
	tooMany := &derived.Vector{Code: pdu.ErrTooBig, Why: tooManyInRequest}
	return &Reader{limit: limit, left: limit, tooMany: tooMany, copies: make(map[int64][]copied)}
}

// BeginRequest begins a request.
func (r *Reader) BeginRequest() {
	r.left = r.limit
	clear(r.copies)
}

// firstFetch stands for the tick that a client has read last if it has read none.
const firstFetch = math.MinInt64

// First returns the results for the first fetch of a metric, which may have per-client windows.
func (r *Reader) First(s *State, perClient []uint32) *derived.Results {
	if len(perClient) == 0 {
		return s.Results
	}
	return r.results(s, perClient, firstFetch, nil)
}

// Read returns the results for a client's fetch of a metric with some per-client windows, and moves the cursor to the
// tick of the state. The client is expected to fetch again before until: if it comes later, it starts with a first
// fetch. isFirst reports whether this is one.
func (r *Reader) Read(
	s *State, c *Cursor, perClient []uint32, now, until time.Time,
) (results *derived.Results, isFirst bool) {
	after := int64(firstFetch)
	if isFirst = !c.goesOn(s, perClient, now); !isFirst {
		after = c.tick
	}
	results = r.results(s, perClient, after, c)
	c.windows, c.values, c.names = c.windows[:0], c.values[:0], c.names[:0]
	for _, i := range perClient {
		c.windows = append(c.windows, s.readers[i])
		c.values, c.names = append(c.values, results.Values[i]), append(c.names, results.Names[i])
	}
	c.tick, c.expires = max(after, s.tick), until
	return results, isFirst
}

// results returns the results for a client that has read a tick last. Those that other clients cannot share are in a
// copy for the request.
func (r *Reader) results(s *State, perClient []uint32, after int64, c *Cursor) *derived.Results {
	if r.state != s {
		r.state, r.since = s, make(map[int64]*derived.Results)
		clear(r.copies)
	}
	shared := r.since[after]
	if shared == nil {
		shared = &derived.Results{Values: slices.Clone(s.Results.Values), Names: s.Results.Names}
		for i, w := range s.windows {
			if w.PerClient() {
				shared.Values[i] = nil
			}
		}
		r.since[after] = shared
	}
	var from map[uint32]*derived.Vector // what the results are made from that cannot be shared
	for _, i := range perClient {
		if shared.Values[i] != nil {
			continue
		}
		v, isShared := r.result(s, i, after)
		if isShared {
			shared.Values[i] = v
			continue
		}
		if v == nil {
			v = c.values[slices.Index(c.windows, s.readers[i])]
		}
		if from == nil {
			from = make(map[uint32]*derived.Vector)
		}
		from[i] = v
	}
	if len(from) == 0 {
		return shared
	}
	results := r.copyOf(shared, after, from)
	for _, i := range perClient {
		switch v := from[i]; {
		case v == nil:
			results.Values[i] = shared.Values[i]
		case results.from[i] != nil:
		case v == r.tooMany:
			results.from[i], results.Values[i] = v, v
		default:
			results.from[i] = v
			results.Values[i], results.Names[i] = c.again(s.windows[i], s.readers[i])
		}
	}
	return results.Results
}

// copied are results for clients of which some cannot be shared with all.
type copied struct {
	*derived.Results
	from map[uint32]*derived.Vector // what these are made from
}

// copyOf returns the copy of results for clients that have read a tick last, with the same results before. The metrics
// of a client share it, so that what they have in common is computed once.
func (r *Reader) copyOf(shared *derived.Results, after int64, from map[uint32]*derived.Vector) copied {
	for _, known := range r.copies[after] {
		same := true
		for i, v := range from {
			same = same && (known.from[i] == nil || known.from[i] == v)
		}
		if same {
			return known
		}
	}
	made := copied{
		&derived.Results{Values: slices.Clone(shared.Values), Names: slices.Clone(shared.Names)},
		make(map[uint32]*derived.Vector),
	}
	r.copies[after] = append(r.copies[after], made)
	return made
}

// result returns the result of a window for clients that have read a tick last; nil: there is no column since.
func (r *Reader) result(s *State, i uint32, after int64) (v *derived.Vector, isShared bool) {
	w, of := s.windows[i], &s.views[i]
	if after == firstFetch {
		switch columns := s.between(i, of.firstAfter); {
		case of.failed != nil:
			return of.failed, true
		case s.firstTicks == 0:
			return &derived.Vector{Type: w.Desc.Type}, true
		case len(columns) == 0:
			return &derived.Vector{Code: pdu.ErrAgain}, true
		default:
			after = max(of.firstAfter, columns[len(columns)-1].tick-s.firstTicks)
		}
	} else if after < of.lost {
		return &derived.Vector{Code: pdu.ErrTooBig, Why: tooManySince}, true
	}
	columns, values := s.between(i, after), 0
	if len(columns) == 0 {
		return of.failed, of.failed != nil
	}
	for k := range columns {
		values += len(columns[k].bits)
	}
	if values > r.left {
		return r.tooMany, false
	}
	r.left -= values
	return r.reducer.result(w, of, columns), true
}

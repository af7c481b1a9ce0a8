package window

import (
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

const (
	// MaxValues is how many values the windows of a set keep together, unless [Windows].Most says otherwise.
	MaxValues = 10_000_000

	// Every is the time between the ticks of windows that are since the last look, and First how many a client has at its first one, unless somebody
	// wants others.
	Every = time.Second
	First = 10

	// staleAfter is after how many ticks without values a result is not served any more.
	staleAfter = 3
)

// Windows is all windows of a set, and what they hold. It has one owner, and so has the [derived.Groups] it is made with.
type Windows struct {
	Most  int   // values that are kept
	First int64 // ticks that a client finds at its first look, of windows that are since the last one; 0: none

	set    *derived.Set
	groups *derived.Groups
	eval   *derived.Evaluation
	at     []derived.Sample // that eval was reset to
	all    []kept
	needed int // values that all windows have when they are full, by their newest ticks
}

// kept is a window and what it is computed from.
type kept struct {
	*derived.Window
	ring    *Window           // of a window since the last look what a client finds at its first one
	since   map[int64]*Window // of such a window: what came after a tick that some client has seen last
	history []derived.Sample  // of good ticks, newest first
	value   *derived.Vector
	needed  int  // see Windows.needed
	begun   bool // see Windows.Begun
	added   bool // it has values of a tick that is not Done
	excess  bool // it would make the windows keep too many values
}

// NewWindows makes windows of no set. Groups are numbered by groups.
func NewWindows(groups *derived.Groups) *Windows {
	return &Windows{Most: MaxValues, set: derived.Language{}.NewSet(nil, derived.CatalogMap{}, ""), groups: groups}
}

// Next makes the windows of another set. Those that ws has go on, and are taken from it: moved tells for each which it is there; -1: none.
func (ws *Windows) Next(set *derived.Set) (next *Windows, moved []int) {
	next = &Windows{
		Most: ws.Most, First: ws.First, set: set, groups: ws.groups, all: make([]kept, len(set.Windows())),
	}
	former := make(map[string]int)
	for i := range ws.all {
		former[ws.set.Key(ws.all[i].Window)] = i
	}
	for i, of := range set.Windows() {
		w := &next.all[i]
		if old, ok := former[set.Key(of)]; ok {
			*w = ws.all[old]
			moved = append(moved, old)
		} else {
			w.begin(of, ws.First)
			moved = append(moved, -1)
		}
		w.Window = of
		next.needed += w.needed
	}
	if len(next.all) > 0 {
		next.eval = set.NewEvaluation()
		next.eval.Number(ws.groups)
	}
	return next, moved
}

// begin makes what is kept of a window that is new.
func (w *kept) begin(of *derived.Window, first int64) {
	w.value = &derived.Vector{Code: pdu.ErrAgain}
	if of.Span == 0 {
		w.since = make(map[int64]*Window)
		looked := *of
		if looked.Span = first; first == 0 {
			looked.Span, w.value = 1, &derived.Vector{Type: of.Desc.Type}
		}
		of = &looked
	}
	w.ring = New(of)
}

// Newest is the sample of the newest tick of a window that had values; nil: there was none.
func (ws *Windows) Newest(i int) derived.Sample {
	if h := ws.all[i].history; len(h) > 0 {
		return h[0]
	}
	return nil
}

// Has reports whether a window has values of a tick.
func (ws *Windows) Has(i int, tick int64) bool {
	newest, ok := ws.all[i].ring.Newest()
	return ok && newest == tick
}

// Add gives a window the sample of a tick. Unless that goes on where the newest one is, delta() and rate() begin anew. It reports whether
// the tick has values.
func (ws *Windows) Add(i int, tick int64, s derived.Sample, goesOn bool) bool {
	w := &ws.all[i]
	if !goesOn {
		w.history = nil
	}
	former := w.history
	w.history = append([]derived.Sample{s}, former[:min(len(former), w.Needs().History)]...)
	if n := len(w.history); len(ws.at) < n || n <= w.Needs().History && len(ws.at) > n || !slices.Equal(ws.at[:n], w.history) {
		ws.at = w.history
		ws.eval.Reset(w.history...)
	}
	v := ws.eval.Operand(w.Window).OnlyFinite()
	switch {
	case v.Code < 0:
		w.history = former // the next one is compared with the last good one
		ws.miss(w, tick, v.Code)
		return false
	case v.Len() == 0: // as when a rate has nothing to be compared with
		ws.miss(w, tick, pdu.ErrAgain)
		return false
	}
	ws.needed -= w.needed
	w.needed = (int(w.ring.span) + len(w.since)) * v.Len()
	if w.excess = ws.needed+w.needed > ws.Most; w.excess {
		w.needed = 0
		w.ring.Restart()
		clear(w.since)
		w.value = &derived.Vector{Code: pdu.ErrTooBig}
		return false
	}
	ws.needed += w.needed
	w.ring.add(tick, v)
	for _, all := range w.since {
		all.add(tick, v)
	}
	if w.added = w.since != nil; !w.added {
		w.value = w.ring.Value()
	}
	return true
}

// Miss says that a window has no sample of a tick.
func (ws *Windows) Miss(i int, tick int64) { ws.miss(&ws.all[i], tick, pdu.ErrAgain) }

// Expire takes the values from a window that has none of the ticks up to one.
func (ws *Windows) Expire(i int, tick int64) {
	w := &ws.all[i]
	if newest, ok := w.ring.Newest(); ok && w.Span > 0 && tick-newest >= w.Span {
		ws.miss(w, tick, pdu.ErrAgain)
	}
}

// miss leaves a result as it is, but for one that is too old.
func (ws *Windows) miss(w *kept, tick int64, code pdu.Code) {
	if newest, ok := w.ring.Newest(); !ok || tick-newest > staleAfter {
		w.value = &derived.Vector{Code: code}
	}
}

// Excess reports whether a window has no values because the windows would have too many together.
func (ws *Windows) Excess(i int) bool { return ws.all[i].excess }

// Of is what a window is of.
func (ws *Windows) Of(i int) *derived.Window { return ws.all[i].Window }

// Kept is how many values are kept.
func (ws *Windows) Kept() (n int) {
	for i := range ws.all {
		n += ws.all[i].ring.Kept()
		for _, all := range ws.all[i].since {
			n += len(all.ids)
		}
	}
	return n
}

// Results are what the windows come to now.
func (ws *Windows) Results() *derived.Results {
	r := &derived.Results{Values: make([]*derived.Vector, len(ws.all)), Names: make(map[pdu.InDom]*derived.NameTable)}
	for i := range ws.all {
		w := &ws.all[i]
		r.Values[i] = w.value
		if w.Own {
			r.Names[w.Desc.InDom] = ws.groups.Table(w.Desc.InDom)
		}
	}
	return r
}

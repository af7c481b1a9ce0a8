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

	// PerClientInterval is the time between the ticks of windows that are since the last look, and First how many a client has at its first one, unless somebody
	// wants others.
	PerClientInterval = time.Second
	FirstTicks        = 10

	// maxMissedTicks is after how many ticks without values a result is not served any more.
	maxMissedTicks = 3
)

// Windows is all windows of a set, and what they hold. It has one owner, and so has the [derived.Groups] it is made with.
type Windows struct {
	MaxValues  int   // values that are kept
	FirstTicks int64 // ticks that a client finds at its first look, of windows that are since the last one; 0: none

	set       *derived.Set
	groups    *derived.Groups
	eval      *derived.Evaluation
	evaluated []derived.Sample // that eval was reset to
	entries   []entry
	fullSize  int // values that all windows have when they are full, by their newest ticks
}

// entry is a window and what it is computed from.
type entry struct {
	*derived.Window
	shared        *Window           // of a window since the last look what a client finds at its first one
	since         map[int64]*Window // of such a window: what came after a tick that some client has seen last
	history       []derived.Sample  // of good ticks, newest first
	result        *derived.Vector
	fullSize      int  // see Windows.needed
	tickBegun     bool // see Windows.Begun
	tickHasValues bool // it has values of a tick that is not Done
	tooLarge      bool // it would make the windows keep too many values
}

// NewWindows makes windows of no set. Groups are numbered by groups.
func NewWindows(groups *derived.Groups) *Windows {
	return &Windows{MaxValues: MaxValues, set: derived.Language{}.NewSet(nil, derived.CatalogMap{}, ""), groups: groups}
}

// ForSet makes the windows of another set. Those that ws has go on, and are taken from it: moved tells for each which it is there; -1: none.
func (ws *Windows) ForSet(set *derived.Set) (next *Windows, moved []int) {
	next = &Windows{
		MaxValues: ws.MaxValues, FirstTicks: ws.FirstTicks, set: set, groups: ws.groups, entries: make([]entry, len(set.Windows())),
	}
	former := make(map[string]int)
	for i := range ws.entries {
		former[ws.set.Key(ws.entries[i].Window)] = i
	}
	for i, of := range set.Windows() {
		w := &next.entries[i]
		if old, ok := former[set.Key(of)]; ok {
			*w = ws.entries[old]
			moved = append(moved, old)
		} else {
			w.init(of, ws.FirstTicks)
			moved = append(moved, -1)
		}
		w.Window = of
		next.fullSize += w.fullSize
	}
	if len(next.entries) > 0 {
		next.eval = set.NewEvaluation()
		next.eval.SetGroups(ws.groups)
	}
	return next, moved
}

// init makes what is kept of a window that is new.
func (w *entry) init(of *derived.Window, first int64) {
	w.result = &derived.Vector{Code: pdu.ErrAgain}
	if of.Span == 0 {
		w.since = make(map[int64]*Window)
		looked := *of
		if looked.Span = first; first == 0 {
			looked.Span, w.result = 1, &derived.Vector{Type: of.Desc.Type}
		}
		of = &looked
	}
	w.shared = New(of)
}

// NewestSample is the sample of the newest tick of a window that had values; nil: there was none.
func (ws *Windows) NewestSample(i int) derived.Sample {
	if h := ws.entries[i].history; len(h) > 0 {
		return h[0]
	}
	return nil
}

// Has reports whether a window has values of a tick.
func (ws *Windows) Has(i int, tick int64) bool {
	newest, ok := ws.entries[i].shared.Newest()
	return ok && newest == tick
}

// Add gives a window the sample of a tick. Unless that goes on where the newest one is, delta() and rate() begin anew. It reports whether
// the tick has values.
func (ws *Windows) Add(i int, tick int64, s derived.Sample, goesOn bool) bool {
	w := &ws.entries[i]
	if !goesOn {
		w.history = nil
	}
	former := w.history
	w.history = append([]derived.Sample{s}, former[:min(len(former), w.Needs().History)]...)
	if n := len(w.history); len(ws.evaluated) < n || n <= w.Needs().History && len(ws.evaluated) > n || !slices.Equal(ws.evaluated[:n], w.history) {
		ws.evaluated = w.history
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
	ws.fullSize -= w.fullSize
	w.fullSize = (int(w.shared.span) + len(w.since)) * v.Len()
	if w.tooLarge = ws.fullSize+w.fullSize > ws.MaxValues; w.tooLarge {
		w.fullSize = 0
		w.shared.Restart()
		clear(w.since)
		w.result = &derived.Vector{Code: pdu.ErrTooBig}
		return false
	}
	ws.fullSize += w.fullSize
	w.shared.add(tick, v)
	for _, all := range w.since {
		all.add(tick, v)
	}
	if w.tickHasValues = w.since != nil; !w.tickHasValues {
		w.result = w.shared.Value()
	}
	return true
}

// Miss says that a window has no sample of a tick.
func (ws *Windows) Miss(i int, tick int64) { ws.miss(&ws.entries[i], tick, pdu.ErrAgain) }

// Expire takes the values from a window that has none of the ticks up to one.
func (ws *Windows) Expire(i int, tick int64) {
	w := &ws.entries[i]
	if newest, ok := w.shared.Newest(); ok && w.Span > 0 && tick-newest >= w.Span {
		ws.miss(w, tick, pdu.ErrAgain)
	}
}

// miss leaves a result as it is, but for one that is too old.
func (ws *Windows) miss(w *entry, tick int64, code pdu.Code) {
	if newest, ok := w.shared.Newest(); !ok || tick-newest > maxMissedTicks {
		w.result = &derived.Vector{Code: code}
	}
}

// TooLarge reports whether a window has no values because the windows would have too many together.
func (ws *Windows) TooLarge(i int) bool { return ws.entries[i].tooLarge }

// Window is what a window is of.
func (ws *Windows) Window(i int) *derived.Window { return ws.entries[i].Window }

// Retained is how many values are kept.
func (ws *Windows) Retained() (n int) {
	for i := range ws.entries {
		n += ws.entries[i].shared.Retained()
		for _, all := range ws.entries[i].since {
			n += len(all.ids)
		}
	}
	return n
}

// Results are what the windows come to now.
func (ws *Windows) Results() *derived.Results {
	r := &derived.Results{Values: make([]*derived.Vector, len(ws.entries)), Names: make(map[pdu.InDom]*derived.NameTable)}
	for i := range ws.entries {
		w := &ws.entries[i]
		r.Values[i] = w.result
		if w.Own {
			r.Names[w.Desc.InDom] = ws.groups.Table(w.Desc.InDom)
		}
	}
	return r
}

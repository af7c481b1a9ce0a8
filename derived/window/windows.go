package window

import (
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

const (
	// MaxValues is how many values the windows of a set keep together, unless [Windows].Most says otherwise.
	MaxValues = 10_000_000

	// staleAfter is after how many ticks without values a result is not served any more.
	staleAfter = 3
)

// Windows is all windows of a set, and what they hold. It has one owner, and so has the [derived.Groups] it is made with.
type Windows struct {
	Most int // values that are kept

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
	ring    *Window
	history []derived.Sample // of good ticks, newest first
	value   *derived.Vector
	needed  int  // see Windows.needed
	excess  bool // it would make the windows keep too many values
}

// NewWindows makes the windows of a set. Those that another one has go on, and are taken from it; nil: there is none.
func NewWindows(set *derived.Set, groups *derived.Groups, before *Windows) *Windows {
	ws := &Windows{Most: MaxValues, set: set, groups: groups, all: make([]kept, len(set.Windows()))}
	former := make(map[string]*kept)
	if before != nil {
		ws.Most = before.Most
		for i := range before.all {
			former[before.set.Key(before.all[i].Window)] = &before.all[i]
		}
	}
	for i, of := range set.Windows() {
		w := &ws.all[i]
		if old := former[set.Key(of)]; old != nil {
			*w = *old
		} else {
			w.ring, w.value = New(of), &derived.Vector{Code: pdu.ErrAgain}
		}
		w.Window = of
		ws.needed += w.needed
	}
	if len(ws.all) > 0 {
		ws.eval = set.NewEvaluation()
		ws.eval.Number(groups)
	}
	return ws
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
	w.needed = int(w.Span) * v.Len()
	if w.excess = ws.needed+w.needed > ws.Most; w.excess {
		w.needed = 0
		w.ring.Restart()
		w.value = &derived.Vector{Code: pdu.ErrTooBig}
		return false
	}
	ws.needed += w.needed
	w.ring.Add(tick, v)
	w.value = w.ring.Value()
	return true
}

// Miss says that a window has no sample of a tick.
func (ws *Windows) Miss(i int, tick int64) { ws.miss(&ws.all[i], tick, pdu.ErrAgain) }

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

package window

import (
	"math"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

const (
	// MaxValues is the number of values that the windows of a set retain together, unless Windows.MaxValues is set.
	MaxValues = 10_000_000

	// PerClientInterval is the time between ticks of per-client windows.
	PerClientInterval = time.Second

	// FirstTicks is the usual number of ticks that a first fetch covers in a per-client window.
	FirstTicks = 10

	// maxMissedTicks is the number of ticks without values after which a result is no longer served.
	maxMissedTicks = 3

	// beforeTicks is the newest tick of a latch that has none yet.
	beforeTicks = math.MaxInt64
)

// Windows has all windows of a set, and their values. It has one owner, which also owns the [derived.Groups].
type Windows struct {
	MaxValues  int   // limit of the retained values
	FirstTicks int64 // ticks that the first fetch of a client covers in a per-client window; 0: none

	set       *derived.Set
	groups    *derived.Groups
	eval      *derived.Evaluation
	evaluated []derived.Sample // samples that eval was reset to
	within    derived.Results  // results of the windows within latches
	entries   []entry
	fullSize  int // number of values of all windows once they are full, by their newest ticks
}

// entry is a window of the set, and what it is computed from.
type entry struct {
	*derived.Window
	shared        *Window           // the window; of a per-client one that of a first fetch
	since         map[int64]*Window // of a per-client window: the values after each tick that a client has read last
	history       []derived.Sample  // samples of ticks with values, newest first
	result        *derived.Vector
	fullSize      int  // its share of Windows.fullSize
	tickBegun     bool // see Windows.TickBegun
	tickHasValues bool // per client: the tick has values and has not ended
	tooLarge      bool // see Windows.TooLarge
}

// NewWindows makes the windows of an empty set. groups numbers the groups of instances.
func NewWindows(groups *derived.Groups) *Windows {
	return &Windows{MaxValues: MaxValues, set: derived.Language{}.NewSet(nil, derived.CatalogMap{}, ""), groups: groups}
}

// ForSet makes the windows of another set. Windows that both sets have are taken over with their values. moved has for
// each new window its index in ws, -1 if it is not there. ws must not be used afterwards.
func (ws *Windows) ForSet(set *derived.Set) (next *Windows, moved []int) {
	next = &Windows{
		MaxValues: ws.MaxValues, FirstTicks: ws.FirstTicks, set: set, groups: ws.groups,
		entries: make([]entry, len(set.Windows())),
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
	next.within.Values = make([]*derived.Vector, len(next.entries))
	if len(next.entries) > 0 {
		next.eval = set.NewWindowEvaluation()
		next.eval.SetGroups(ws.groups)
	}
	return next, moved
}

// init makes the empty windows of an entry.
func (w *entry) init(of *derived.Window, first int64) {
	w.result = &derived.Vector{Code: pdu.ErrAgain}
	if of.Span == 0 {
		w.since = make(map[int64]*Window)
		firstFetch := *of
		if firstFetch.Span = first; first == 0 {
			firstFetch.Span, w.result = 1, &derived.Vector{Type: of.Desc.Type}
		}
		of = &firstFetch
	}
	w.shared = New(of)
	if of.Func == syntax.Latch { // it begins with 0, before its first tick
		w.shared.add(beforeTicks, &derived.Vector{}, nil)
		w.result = w.shared.Value()
	}
}

// NewestSample returns the sample of the newest tick at which a window had values; nil: there is none.
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

// Add gives a window the sample of a tick, and reports whether the tick counts: its operand has no error, and enough
// samples. If goesOn is false, the sample does not continue the one before, and delta() and rate() have no value once.
// A latch gets the sample after the windows within it, which have lower indexes.
func (ws *Windows) Add(i int, tick int64, s derived.Sample, goesOn bool) bool {
	w := &ws.entries[i]
	if !goesOn {
		w.history = nil
	}
	former := w.history
	w.history = append([]derived.Sample{s}, former[:min(len(former), w.Needs().History)]...)
	n := len(w.history)
	within := w.Needs().Windows
	if len(within) > 0 || len(ws.evaluated) < n || n <= w.Needs().History && len(ws.evaluated) > n ||
		!slices.Equal(ws.evaluated[:n], w.history) {
		ws.evaluated = w.history
		ws.eval.Reset(w.history...)
		for _, k := range within {
			ws.within.Values[k] = ws.entries[k].result
		}
		ws.eval.SetResults(&ws.within)
	}
	v := ws.eval.Operand(w.Window)
	switch {
	case v.Code < 0:
		w.history = former // the next sample is compared with the last one that had values
		ws.miss(w, tick, v.Code, v.Why)
		return false
	case v.Len() == 0 && n <= w.Needs().History: // such as the first value of a rate
		ws.miss(w, tick, pdu.ErrAgain, "")
		return false
	}
	insts := v.Insts.Union(ws.eval.Instances(w.Window))
	v = v.OnlyFinite()
	ws.fullSize -= w.fullSize
	w.fullSize = (int(w.shared.span) + len(w.since)) * max(v.Len(), len(insts.IDs()))
	if w.tooLarge = ws.fullSize+w.fullSize > ws.MaxValues; w.tooLarge {
		w.fullSize = 0
		w.shared.Restart()
		clear(w.since)
		w.result = &derived.Vector{Code: pdu.ErrTooBig}
		return false
	}
	ws.fullSize += w.fullSize
	w.shared.add(tick, v, insts)
	for _, all := range w.since {
		all.add(tick, v, insts)
	}
	if w.tickHasValues = w.since != nil; !w.tickHasValues {
		w.result = w.shared.Value()
	}
	return true
}

// Miss notes that a window has no sample of a tick.
func (ws *Windows) Miss(i int, tick int64) { ws.miss(&ws.entries[i], tick, pdu.ErrAgain, "") }

// Expire removes the result of a window that has no values in the window that ends at tick. A latch keeps its states,
// but has no result before the first tick.
func (ws *Windows) Expire(i int, tick int64) {
	w := &ws.entries[i]
	newest, ok := w.shared.Newest()
	switch {
	case w.Func == syntax.Latch:
		if newest == beforeTicks {
			w.result = &derived.Vector{Code: pdu.ErrAgain}
		}
	case ok && w.Span > 0 && tick-newest >= w.Span:
		ws.miss(w, tick, pdu.ErrAgain, "")
	}
}

// miss keeps the present result unless it is too old; then the result is an error. The age of a latch without a tick
// counts from its first gap.
func (ws *Windows) miss(w *entry, tick int64, code pdu.Code, why string) {
	if w.shared.newestTick == beforeTicks {
		w.shared.newestTick = tick - 1
	}
	if newest, ok := w.shared.Newest(); !ok || tick-newest > maxMissedTicks {
		w.result = &derived.Vector{Code: code, Why: why}
	}
}

// TooLarge reports whether a window has no values because all windows would retain too many values.
func (ws *Windows) TooLarge(i int) bool { return ws.entries[i].tooLarge }

// Window returns the definition of a window.
func (ws *Windows) Window(i int) *derived.Window { return ws.entries[i].Window }

// Retained returns the number of retained values.
func (ws *Windows) Retained() (n int) {
	for i := range ws.entries {
		n += ws.entries[i].retained()
	}
	return n
}

// Bytes returns the size of the values that each window retains.
func (ws *Windows) Bytes() []int {
	sizes := make([]int, len(ws.entries))
	for i := range ws.entries {
		sizes[i] = ws.entries[i].retained() * ws.entries[i].shared.fn.valueSize()
	}
	return sizes
}

// retained returns the number of retained values.
func (w *entry) retained() int {
	n := w.shared.Retained()
	for _, all := range w.since {
		n += len(all.ids)
	}
	return n
}

// Results has one result per window. For per-client windows it is the result of a first fetch.
func (ws *Windows) Results() *derived.Results {
	r := &derived.Results{
		Values: make([]*derived.Vector, len(ws.entries)), Names: make(map[pdu.InDom]*derived.NameTable),
	}
	for i := range ws.entries {
		w := &ws.entries[i]
		r.Values[i] = w.result
		if w.Grouped {
			r.Names[w.Desc.InDom] = ws.groups.Table(w.Desc.InDom)
		}
	}
	return r
}

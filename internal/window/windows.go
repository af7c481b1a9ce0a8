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
	// MaxValues is the number of values that the windows with a span retain together, unless Windows.MaxValues is set.
	// Those without a span retain as many together, each its equal share at most.
	MaxValues = 10_000_000

	// MaxPerClientValues is the number of values that a per-client window retains, and that a request may read of all such
	// windows. A request then takes at most some 10 ms for them.
	MaxPerClientValues = 700_000

	// MaxPerClientTicks is the number of ticks that a per-client window reaches back.
	MaxPerClientTicks = int64(time.Hour / PerClientInterval)

	// PerClientInterval is the time between ticks of per-client windows.
	PerClientInterval = time.Second

	// FirstTicks is the usual number of ticks that a first fetch covers in a per-client window.
	FirstTicks = 10

	// maxMissedTicks is the number of ticks without values after which a result is no longer served.
	maxMissedTicks = 3

	// beforeTicks is the newest tick of a latch that has none yet.
	beforeTicks = math.MaxInt64

	// columnBytes is the size of a column without its values.
	columnBytes = 40
)

// Windows has all windows of a set, and their values. It has one owner, which also owns the [derived.Groups].
type Windows struct {
	MaxValues  int   // limit of the retained values, of windows with a span and of those without
	FirstTicks int64 // ticks that the first fetch of a client covers in a per-client window; 0: none
	Unlimited  bool  // per-client windows retain all that their client needs

	set       *derived.Set
	groups    *derived.Groups
	eval      *derived.Evaluation
	evaluated []derived.Sample // samples that eval was reset to
	within    derived.Results  // results of the windows within latches
	windows   []window
	keys      []string // of the windows, see derived.Set.Keys
	fullSize  int      // number of values of all windows with a span once they are full, by their newest ticks
	perClient int      // number of per-client windows
	reducer   reducer
}

// NewWindows makes the windows of an empty set. groups numbers the groups of instances.
func NewWindows(groups *derived.Groups) *Windows {
	return &Windows{
		MaxValues: MaxValues, set: derived.Language{}.NewSet(nil, derived.CatalogMap{}, ""), groups: groups,
	}
}

// ForSet makes the windows of another set. Windows that both sets have are taken over with their values. ws must not be
// used afterwards.
func (ws *Windows) ForSet(set *derived.Set) *Windows {
	next := &Windows{
		MaxValues: ws.MaxValues, FirstTicks: ws.FirstTicks, Unlimited: ws.Unlimited, set: set, groups: ws.groups,
		windows: make([]window, len(set.Windows())), keys: set.Keys(),
	}
	former := make(map[string]*window)
	for i, key := range ws.keys {
		former[key] = &ws.windows[i]
	}
	for i, of := range set.Windows() {
		w, key := &next.windows[i], next.keys[i]
		if old := former[key]; old != nil {
			*w = *old
			w.Window = of
			delete(former, key)
		} else {
			*w = newWindow(of)
		}
		next.fullSize += w.fullSize
		if of.PerClient() {
			next.perClient++
		}
	}
	next.within.Values = make([]*derived.Vector, len(next.windows))
	next.within.Names = make([]*derived.NameTable, len(next.windows)) // none, as all windows have the same groups
	ws.groups.Release(ws)
	ws.groups.Hold(next)
	if len(next.windows) > 0 {
		next.eval = set.NewWindowEvaluation()
		next.eval.SetGroups(ws.groups)
	}
	return next
}

// NewestSample returns the sample of the newest tick at which a window had values; nil: there is none.
func (ws *Windows) NewestSample(i int) derived.Sample {
	if h := ws.windows[i].history; len(h) > 0 {
		return h[0]
	}
	return nil
}

// Given reports whether Add has given a window the sample of a tick, also if its operand had an error there.
func (ws *Windows) Given(i int, tick int64) bool { return ws.windows[i].given == tick }

// BeginTick begins a tick of some per-client windows that have the same ticks. If one of them is new, the first fetches
// of all begin again with this tick: a client gets the same ticks of each.
func (ws *Windows) BeginTick(tick int64, now time.Time, together ...int) {
	isNew := slices.ContainsFunc(together, func(i int) bool { return !ws.windows[i].begun })
	for _, i := range together {
		w := &ws.windows[i]
		w.begun, w.needed = true, w.readers.needed(now)
		if isNew {
			w.firstAfter = tick - 1
		}
	}
}

// Begun reports whether a per-client window has begun a tick.
func (ws *Windows) Begun(i int) bool { return ws.windows[i].begun }

// Add gives a window the sample of a tick, and reports whether the tick counts: its operand has no error, and enough
// samples. If goesOn is false, the sample does not continue the one before, and delta() and rate() have no value once.
// A latch gets the sample after the windows within it, which have lower indexes.
func (ws *Windows) Add(i int, tick int64, s derived.Sample, goesOn bool) bool {
	w := &ws.windows[i]
	w.given = tick
	if !goesOn {
		w.history = nil
	}
	former := w.history
	w.history = append([]derived.Sample{s}, former[:min(len(former), w.Needs().History)]...)
	ws.evaluate(w)
	v := ws.eval.Operand(w.Window)
	switch {
	case v.Code < 0:
		w.history = former // the next sample is compared with the last one that had values
		w.miss(tick, v.Code, v.Why)
		return false
	case v.Len() == 0 && len(w.history) <= w.Needs().History: // such as the first value of a rate
		w.miss(tick, pdu.ErrAgain, "")
		return false
	}
	insts := v.Insts.Union(ws.eval.Instances(w.Window))
	v = v.OnlyFinite()
	if w.Needs().History > 0 { // it has changes since the last tick
		v = without(v, w.names.ended)
	}
	w.names.ended = nil
	if w.Func == syntax.Latch {
		w.addToLatch(tick, v, insts)
		return true
	}
	if !w.PerClient() {
		if !ws.fits(w, max(v.Len(), len(insts.IDs()))) {
			return false
		}
		w.add(tick, v, insts)
		w.drop(w.newest - w.Span)
		w.result = ws.reducer.result(w.Window, &w.view, w.columns)
		return true
	}
	w.add(tick, v, insts)
	ws.dropUnneeded(w)
	return true
}

// dropUnneeded drops the columns that no client of a per-client window needs, and the oldest ones beyond its limits.
func (ws *Windows) dropUnneeded(w *window) {
	upTo := min(w.newest-max(ws.FirstTicks, 2), w.needed)
	if ws.Unlimited {
		w.drop(upTo)
		return
	}
	upTo = max(upTo, w.newest-MaxPerClientTicks)
	excess := w.values - min(MaxPerClientValues, ws.MaxValues/ws.perClient)
	for k := 0; excess > 0; k++ {
		excess -= len(w.columns[k].bits)
		upTo = max(upTo, w.columns[k].tick)
	}
	if ws.tooManyGroups(w) {
		upTo = w.newest
	}
	if w.drop(upTo); !w.hasTick() {
		w.failed = &derived.Vector{Code: pdu.ErrTooBig, Why: tooManySince}
	}
}

// evaluate gives the evaluation the samples of a window, unless it has them.
func (ws *Windows) evaluate(w *window) {
	n, within := len(w.history), w.Needs().Windows
	if len(within) > 0 || len(ws.evaluated) < n || n <= w.Needs().History && len(ws.evaluated) > n ||
		!slices.Equal(ws.evaluated[:n], w.history) {
		ws.evaluated = w.history
		ws.eval.Reset(w.history...)
		for _, k := range within {
			ws.within.Values[k] = ws.windows[k].result
		}
		ws.eval.SetResults(&ws.within)
	}
}

// HeldGroups implements [derived.GroupHolder].
func (ws *Windows) HeldGroups(d pdu.InDom) (held []*derived.InstSet) {
	for i := range ws.windows {
		if w := &ws.windows[i]; w.Grouped && w.Desc.InDom == d {
			held = append(held, w.instances())
		}
	}
	return held
}

// tooManyGroups reports whether a window must not go on to keep values of groups of the past.
func (ws *Windows) tooManyGroups(w *window) bool { return w.Grouped && ws.groups.TooMany(w.Desc.InDom) }

// fits reports whether a window with a span may have some values at each tick. Else it loses all its columns.
func (ws *Windows) fits(w *window, values int) bool {
	ws.fullSize -= w.fullSize
	w.fullSize = int(w.Span) * values
	if w.tooLarge = ws.fullSize+w.fullSize > ws.MaxValues || ws.tooManyGroups(w); w.tooLarge {
		w.fullSize = 0
		w.drop(math.MaxInt64)
		w.result = &derived.Vector{Code: pdu.ErrTooBig}
		return false
	}
	ws.fullSize += w.fullSize
	return true
}

// Miss notes that a window has no sample of a tick.
func (ws *Windows) Miss(i int, tick int64) { ws.windows[i].miss(tick, pdu.ErrAgain, "") }

// Expire removes the result of a window that has no values in the window that ends at tick. A latch keeps its states,
// but has no result before the first tick.
func (ws *Windows) Expire(i int, tick int64) {
	w := &ws.windows[i]
	switch {
	case w.Func == syntax.Latch:
		if w.newest == beforeTicks {
			w.result = &derived.Vector{Code: pdu.ErrAgain}
		}
	case w.hasTick() && !w.PerClient() && tick-w.newest >= w.Span:
		w.miss(tick, pdu.ErrAgain, "")
	}
}

// TooLarge reports whether a window has no values because the windows with a span would retain too many values.
func (ws *Windows) TooLarge(i int) bool { return ws.windows[i].tooLarge }

// Window returns the definition of a window.
func (ws *Windows) Window(i int) *derived.Window { return ws.windows[i].Window }

// IsRead reports whether a client reads a per-client window.
func (ws *Windows) IsRead(i int, now time.Time) bool {
	return ws.windows[i].readers.needed(now) < nothing
}

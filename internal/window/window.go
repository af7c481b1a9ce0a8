package window

import (
	"slices"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// window is a window of a set, and its columns.
type window struct {
	*derived.Window
	view
	readers *Readers         // of a per-client window
	history []derived.Sample // samples of ticks with values, newest first
	latest  *ordered         // the instances of the newest column
	single  *ordered         // the instance of a singular window; nil: it has a domain
	names   instanceNames

	newest   int64           // the newest tick; valid if hasTick
	given    int64           // the tick of the last Add; 0: there was none
	values   int             // number of values in columns, or of states
	states   *derived.Vector // of a latch: the present ones
	result   *derived.Vector // of a window with a span: what is served
	fullSize int             // its share of Windows.fullSize
	tooLarge bool            // see Windows.TooLarge
	begun    bool            // see Windows.Begun
	replaced bool            // columns have been replaced since the last State
	needed   int64           // the oldest tick that a client has read last, at the last BeginTick
}

// view is what clients read of a per-client window.
type view struct {
	columns    []column        // oldest first; each with a number of its own, in ascending order
	insts      *ordered        // the instances of the newest tick, also those without a value
	unknown    bool            // Unknown of the newest tick
	lost       int64           // ticks up to this one have been dropped
	firstAfter int64           // first fetches have the ticks after this one
	failed     *derived.Vector // the error, if too many ticks were missed; else nil
}

// newWindow makes a window without columns.
func newWindow(of *derived.Window) window {
	w := window{Window: of, result: &derived.Vector{Code: pdu.ErrAgain}}
	if of.Desc.InDom == pdu.NoInDom {
		w.single = &ordered{set: derived.NewInstSet([]pdu.Inst{pdu.NoInst})}
	}
	if of.PerClient() {
		w.readers = &Readers{}
	}
	if of.Func == syntax.Latch { // it begins with 0, before its first tick
		w.addToLatch(beforeTicks, &derived.Vector{}, nil)
	}
	return w
}

// hasTick reports whether the window has a newest tick.
func (w *window) hasTick() bool { return len(w.columns) > 0 || w.states != nil }

// add adds the column of a tick. The numbers of v are all finite. insts has their instances, and those without a value
// at this tick, of which the window has earlier values. A tick that is not after the newest one means that the clock was
// set back: the window begins again with it.
func (w *window) add(tick int64, v *derived.Vector, insts *derived.InstSet) {
	if w.hasTick() && tick <= w.newest {
		w.drop(w.newest)
		w.lost, w.firstAfter = 0, 0
	}
	given, served := w.orders(v, insts)
	w.newest, w.latest, w.insts, w.unknown, w.failed = tick, given, served, v.Incomplete, nil
	w.columns = append(w.columns, newColumn(tick, given, v.Bits))
	w.values += len(w.columns[len(w.columns)-1].bits)
}

// instances returns the instances that the window has values of.
func (w *window) instances() *derived.InstSet {
	if w.Func == syntax.Latch {
		return w.states.Insts
	}
	return allInstances(w.columns)
}

// orders returns the instances of v, and insts, in order.
func (w *window) orders(v *derived.Vector, insts *derived.InstSet) (given, served *ordered) {
	switch {
	case w.single == nil:
		given = order(v.Insts, w.latest, w.insts)
		return given, order(insts, given, w.insts)
	case len(v.Bits) == 0:
		return &ordered{}, w.single
	default:
		return w.single, w.single
	}
}

// drop drops the columns up to a tick. Those of a per-client window may be with clients, so the list is another one
// then.
func (w *window) drop(upTo int64) {
	n := 0
	for ; n < len(w.columns) && w.columns[n].tick <= upTo; n++ {
		w.values -= len(w.columns[n].bits)
		w.lost = w.columns[n].tick
	}
	switch {
	case n == 0:
	case w.PerClient():
		w.columns = slices.Clone(w.columns[n:])
	default:
		w.columns = slices.Delete(w.columns, 0, n)
	}
}

// miss keeps the present result unless it is too old; then the result is an error. The age of a latch without a tick
// counts from its first gap.
func (w *window) miss(tick int64, code pdu.Code, why string) {
	if w.newest == beforeTicks {
		w.newest = tick - 1
	}
	if !w.hasTick() || tick-w.newest > maxMissedTicks {
		w.failed = &derived.Vector{Code: code, Why: why}
		w.result = w.failed
	}
}

// bytes returns the size of what the window retains.
func (w *window) bytes() int { return 8*w.values + columnBytes*len(w.columns) }

package window

import (
	"slices"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Window has the values of one expression over some ticks. It has one owner.
type Window struct {
	fn         function // the function over time
	valueType  pdu.Type // type of the values
	resultType pdu.Type // type of the result
	span       int64    // length in ticks; 0: all ticks since the last Restart
	percent    float64  // the percentage of a percentile
	interval   float64  // seconds from tick to tick
	union      bool     // the result has the instances of all ticks, not only those of the newest
	singular   bool     // the result has no instances
	latch      bool     // it has a state for each instance of the newest tick, and joins no values

	front      []run   // newest run first
	back       []run   // oldest run first
	newestTick int64   // valid if newest is set
	newest     *layout // layout of the values of the newest tick; nil: there is no tick

	insts   *derived.InstSet // the instances of the newest tick, also those without a value; nil: singular, or none
	unknown bool             // Unknown of the newest tick

	inFront, inBack parts // parts of the front and of the back, by slot

	ids         []pdu.Inst         // the instance of each slot
	slotByInst  map[pdu.Inst]int32 // the slot of each instance that has values
	free        []int32            // slots without an instance
	unionLayout *layout            // layout of all instances; nil: not made yet

	sorted [][]uint64 // of a percentile: the words of each slot, in ascending order

	states *derived.Vector // of a latch: its result; nil: there is no tick

	retained   int      // number of retained values
	spareWords []uint64 // memory of a run that has left, for reuse
}

// run has the values of successive ticks with the same instances. Most ticks have the instances of the tick before, so
// a tick of few values takes little more memory than these.
type run struct {
	layout  *layout
	tick    int64    // the oldest tick
	ticks   int      // number of ticks
	removed int      // number of ticks that have left the window
	words   []uint64 // by tick: in the back of each value, in the front of the part before it was joined

	squares []float64 // by tick: of a standard deviation in the front the squares that belong to words
}

// runWords is the capacity of a run in words, for ticks with fewer values than this.
const runWords = 128

// atTick returns the elements of one tick from all, which are the words or squares of a run. It returns nil if all is
// nil.
func atTick[T any](r *run, all []T, tick int) []T {
	n := len(r.layout.slots)
	if all == nil {
		return nil
	}
	return all[tick*n : (tick+1)*n]
}

// layout has the instances of some ticks, and the slot of each in the window (Window.slotByInst). Immutable.
type layout struct {
	insts *derived.InstSet // nil: singular
	slots []int32          // by position in insts
}

// New makes a window without ticks. A span of 0 means all ticks since the last Restart; such a window retains parts,
// but no values.
func New(of *derived.Window) *Window {
	return &Window{
		fn: function(of.Func), valueType: of.Type, resultType: of.Desc.Type, span: of.Span, percent: of.Number,
		interval: of.Every.Seconds(), union: of.Grouped, singular: of.Desc.InDom == pdu.NoInDom,
		latch: of.Func == syntax.Latch, slotByInst: make(map[pdu.Inst]int32),
	}
}

// Add adds the values of a tick, which have the window's type. A vector with a code adds nothing. Add retains the
// instances of v, but not its numbers. A tick that is not after the newest one means that the clock was set back: the
// window restarts with it. A latch keeps its states.
func (w *Window) Add(tick int64, v *derived.Vector) {
	if v.Code >= 0 {
		w.add(tick, v.OnlyFinite(), v.Insts)
	}
}

// add does the same for numbers that are all finite. insts has their instances and those without a value at this tick,
// of which the window has earlier values.
func (w *Window) add(tick int64, v *derived.Vector, insts *derived.InstSet) {
	if w.latch {
		w.newestTick = tick
		w.addToLatch(v, insts)
		return
	}
	if w.newest != nil && tick <= w.newestTick {
		w.Restart()
	}
	w.newestTick, w.insts, w.unknown = tick, insts, v.Unknown
	w.expire()
	if w.newest == nil || w.newest.insts != v.Insts || len(w.newest.slots) != len(v.Bits) {
		w.newest = w.layoutOf(v)
	}
	if len(v.Bits) == 0 {
		return
	}
	words := w.appendTick(tick)
	w.fn.toWords(w.valueType, words, v.Bits)
	w.fn.addNewer(&w.inBack, w.newest.slots, words)
	if w.fn == percentile {
		for i, s := range w.newest.slots {
			w.insertSorted(s, words[i])
		}
	}
}

// appendTick makes room in the back for the words of the newest tick. Without a span no words are retained, so all
// ticks use the same room.
func (w *Window) appendTick(tick int64) []uint64 {
	n := len(w.newest.slots)
	if w.span == 0 {
		w.spareWords = w.buffer(n)
		return w.spareWords
	}
	end := len(w.back) - 1
	if end < 0 || !w.back[end].hasRoom(w.newest, tick) {
		if end >= 0 {
			w.trim(&w.back[end])
		}
		ticks := max(1, min(runWords/max(1, n), int(w.span)))
		w.back = append(w.back, run{layout: w.newest, tick: tick, words: w.buffer(ticks * n)})
		end++
	}
	r := &w.back[end]
	r.ticks++
	w.retained += n
	return atTick(r, r.words, r.ticks-1)
}

// hasRoom reports whether the run can also take a tick with this layout.
func (r *run) hasRoom(with *layout, tick int64) bool {
	return r.layout == with && r.tick+int64(r.ticks) == tick && (r.ticks+1)*len(with.slots) <= len(r.words)
}

// trim gives back the unused memory of a run.
func (w *Window) trim(r *run) {
	if n := r.ticks * len(r.layout.slots); n < len(r.words) {
		w.spareWords, r.words = r.words, slices.Clone(r.words[:n])
	}
}

// Retained returns the number of retained values.
func (w *Window) Retained() int { return w.retained }

// Newest returns the newest tick; ok is false if there is none.
func (w *Window) Newest() (tick int64, ok bool) {
	return w.newestTick, w.newest != nil || w.states != nil
}

// Value returns the result, PM_ERR_AGAIN if there is no tick. It is immutable.
func (w *Window) Value() *derived.Vector {
	if w.states != nil {
		return w.states
	}
	if w.newest == nil {
		return &derived.Vector{Code: pdu.ErrAgain}
	}
	of := w.newest
	switch {
	case w.union:
		of = w.layoutOfAll()
	case w.insts != of.insts || len(of.slots) == 0:
		of = w.layoutOfInstances()
	}
	v := &derived.Vector{Type: w.resultType, Insts: of.insts, Bits: make([]uint64, len(of.slots))}
	v.Unknown = w.unknown && len(v.Bits) == 0
	switch w.fn {
	case percentile:
		for i, s := range of.slots {
			v.Bits[i] = w.percentile(s)
		}
	case slope:
		lines := w.lineFits()
		for i, s := range of.slots {
			v.Bits[i] = bits(lines[s].slope() / w.interval)
		}
		return v.OnlyFinite()
	default:
		w.fn.toResults(w.valueType, v.Bits, of.slots, &w.inFront, &w.inBack)
	}
	return v
}

// Restart removes all ticks.
func (w *Window) Restart() {
	clear(w.front)
	clear(w.back)
	clear(w.slotByInst)
	w.inFront.reset(0)
	w.inBack.reset(0)
	w.front, w.back, w.ids, w.free = w.front[:0], w.back[:0], w.ids[:0], w.free[:0]
	w.sorted = w.sorted[:0]
	w.newest, w.unionLayout, w.states, w.retained = nil, nil, nil, 0
}

// expire removes the ticks that are too old for the window of the newest tick.
func (w *Window) expire() {
	for w.span > 0 {
		if len(w.front) == 0 {
			if len(w.back) == 0 || w.back[0].tick > w.newestTick-w.span {
				return
			}
			w.moveBackToFront()
		}
		end := len(w.front) - 1
		r := &w.front[end]
		if r.tick+int64(r.removed) > w.newestTick-w.span {
			return
		}
		w.removeOldest(r)
		if r.removed == r.ticks {
			w.spareWords = r.words
			*r = run{}
			w.front = w.front[:end]
			if end == 0 && len(w.back) == 0 { // its slots have been freed
				w.newest = nil
			}
		}
	}
}

// moveBackToFront makes the back the front. The front is empty before.
func (w *Window) moveBackToFront() {
	for _, r := range slices.Backward(w.back) {
		if w.fn == stdev {
			r.squares = make([]float64, r.ticks*len(r.layout.slots))
		}
		for tick := r.ticks - 1; tick >= 0; tick-- {
			w.fn.addOlder(&w.inFront, r.layout.slots, atTick(&r, r.words, tick), atTick(&r, r.squares, tick))
		}
		w.front = append(w.front, r)
	}
	clear(w.back)
	w.back = w.back[:0]
	w.inBack.reset(len(w.ids))
}

// removeOldest removes the oldest tick from the front. r is the last run of the front.
func (w *Window) removeOldest(r *run) {
	at, words, parts := r.layout.slots, atTick(r, r.words, r.removed), w.inFront.bySlot
	for i, s := range at {
		x := &parts[s]
		x.word = words[i]
		if x.count--; x.count == 0 && w.inBack.bySlot[s].count == 0 {
			x.word = 0
			delete(w.slotByInst, w.ids[s])
			w.free, w.unionLayout = append(w.free, s), nil
		}
	}
	switch w.fn {
	case percentile:
		for i, s := range at {
			w.removeSorted(s, words[i])
		}
	case stdev:
		for i, b := range atTick(r, r.squares, r.removed) {
			w.inFront.squares[at[i]] = b
		}
	default:
	}
	r.removed++
	w.retained -= len(at)
}

// layoutOf finds or makes the slots of the instances of v. Most instances have the same position as in the newest tick.
func (w *Window) layoutOf(v *derived.Vector) *layout {
	m := &layout{insts: v.Insts, slots: make([]int32, len(v.Bits))}
	var before []int32
	if w.newest != nil {
		before = w.newest.slots
	}
	for i := range m.slots {
		id := v.At(i)
		next := before[:min(2, len(before))] // the second, if the instance of the first has gone
		at := slices.IndexFunc(next, func(s int32) bool { return w.ids[s] == id })
		if at < 0 {
			m.slots[i] = w.slotFor(id)
			continue
		}
		m.slots[i], before = before[at], before[at+1:]
	}
	return m
}

// slotFor finds or makes the slot of an instance.
func (w *Window) slotFor(id pdu.Inst) int32 {
	if s, ok := w.slotByInst[id]; ok {
		return s
	}
	var s int32
	if end := len(w.free) - 1; end >= 0 {
		s, w.free = w.free[end], w.free[:end]
		w.ids[s] = id
	} else {
		s = int32(len(w.ids))
		w.ids = append(w.ids, id)
		w.inFront.grow(w.fn)
		w.inBack.grow(w.fn)
	}
	w.slotByInst[id], w.unionLayout = s, nil
	return s
}

// layoutOfAll returns the layout of the instances of all ticks, in ascending order.
func (w *Window) layoutOfAll() *layout {
	if w.unionLayout == nil {
		ids := make([]pdu.Inst, 0, len(w.slotByInst))
		for id := range w.slotByInst {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		w.unionLayout = &layout{insts: derived.NewInstSet(ids), slots: make([]int32, len(ids))}
		for i, id := range ids {
			w.unionLayout.slots[i] = w.slotByInst[id]
		}
	}
	return w.unionLayout
}

// layoutOfInstances returns the layout of the instances of the newest tick that have values.
func (w *Window) layoutOfInstances() *layout {
	m := &layout{}
	if s, ok := w.slotByInst[pdu.NoInst]; ok { // singular
		m.slots = []int32{s}
	}
	var ids []pdu.Inst
	for _, id := range w.insts.IDs() {
		if s, ok := w.slotByInst[id]; ok {
			ids, m.slots = append(ids, id), append(m.slots, s)
		}
	}
	if len(ids) > 0 {
		m.insts = derived.NewInstSet(ids)
	}
	return m
}

// buffer returns room for n words. It reuses the spare memory if that has about the right size.
func (w *Window) buffer(n int) []uint64 {
	words := w.spareWords
	w.spareWords = nil
	if cap(words) < n || cap(words) > n+n/8+8 {
		return make([]uint64, n)
	}
	return words[:n]
}

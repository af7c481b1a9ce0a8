package window

import (
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Window is the values of one expression over some ticks. It has one owner.
type Window struct {
	fn     function
	typ    pdu.Type // of the values
	result pdu.Type
	span   int64   // ticks; 0: all since the last Restart
	n      float64 // of a percentile
	apart  float64 // seconds from tick to tick
	own    bool    // the result has all instances of the window, not only those of the newest tick

	front []column // newest first
	back  []column // oldest first
	tick  int64    // the newest; counts if last is set
	last  *members // of the newest tick; nil: there is none

	inFront, inBack parts // what the values in the front and those in the back come to, by the slot

	ids   []pdu.Inst         // whose each slot is
	slot  map[pdu.Inst]int32 // that of each instance of the window
	free  []int32            // slots that no instance has
	every *members           // all of slot; nil: not known

	sorted [][]uint64 // of a percentile: the words of each slot, in ascending order

	kept  int        // values
	spare [][]uint64 // memory of columns that have left
}

// column is the values of one tick.
type column struct {
	tick int64
	of   *members
	a    []uint64 // in the back the value's word, in the front the word of the front without it and all before it

	squares []float64 // of a standard deviation in the front: likewise
}

// members are the instances of some ticks. Immutable.
type members struct {
	insts *derived.InstSet // nil: singular
	at    []int32          // the slot of each
}

// New makes a window without ticks. Where its span is 0 it has all ticks since the last Restart, of which no values are kept.
func New(of *derived.Window) *Window {
	return &Window{
		fn: function(of.Func), typ: of.Type, result: of.Desc.Type, span: of.Span, n: of.N, apart: of.Every.Seconds(), own: of.Own,
		slot: make(map[pdu.Inst]int32),
	}
}

// Add adds the values of a tick, numbers of the window's type, or a code: then there is nothing to add. It keeps
// the instances, but not the numbers. Of a tick that is not after the newest one the clock was set back: the window begins anew with it.
func (w *Window) Add(tick int64, v *derived.Vector) {
	if v.Code >= 0 {
		w.add(tick, v.OnlyFinite())
	}
}

// add is Add with finite numbers.
func (w *Window) add(tick int64, v *derived.Vector) {
	if w.last != nil && tick <= w.tick {
		w.Restart()
	}
	w.tick = tick
	w.expire()
	if w.last == nil || w.last.insts != v.Insts || len(w.last.at) != len(v.Bits) {
		w.last = w.members(v)
	}
	a := w.memory(len(v.Bits))
	w.fn.words(w.typ, a, v.Bits)
	w.fn.newer(&w.inBack, w.last.at, a)
	if w.fn == percentile {
		for i, s := range w.last.at {
			w.sort(s, a[i])
		}
	}
	if w.span == 0 {
		w.giveBack(a)
		return
	}
	w.back = append(w.back, column{tick: tick, of: w.last, a: a})
	w.kept += len(a)
}

// Kept is how many values are kept.
func (w *Window) Kept() int { return w.kept }

// Newest is the newest tick; ok is false if there is none.
func (w *Window) Newest() (tick int64, ok bool) { return w.tick, w.last != nil }

// Value is the result, PM_ERR_AGAIN if there has been no tick. It is the caller's.
func (w *Window) Value() *derived.Vector {
	if w.last == nil {
		return &derived.Vector{Code: pdu.ErrAgain}
	}
	of := w.last
	if w.own && of.insts != nil {
		of = w.all()
	}
	v := &derived.Vector{Type: w.result, Insts: of.insts, Bits: make([]uint64, len(of.at))}
	switch w.fn {
	case percentile:
		for i, s := range of.at {
			v.Bits[i] = w.percentile(s)
		}
	case slope:
		lines := w.lines()
		for i, s := range of.at {
			v.Bits[i] = bits(lines[s].slope() / w.apart)
		}
		return v.OnlyFinite()
	default:
		w.fn.results(w.typ, v.Bits, of.at, &w.inFront, &w.inBack)
	}
	return v
}

// Restart forgets all ticks.
func (w *Window) Restart() {
	clear(w.front)
	clear(w.back)
	clear(w.slot)
	w.inFront.reset(0)
	w.inBack.reset(0)
	w.front, w.back, w.ids, w.free = w.front[:0], w.back[:0], w.ids[:0], w.free[:0]
	w.sorted = w.sorted[:0]
	w.last, w.every, w.kept = nil, nil, 0
}

// expire lets go of the ticks that are not in the window of the newest one.
func (w *Window) expire() {
	for w.span > 0 {
		if len(w.front) == 0 {
			if len(w.back) == 0 || w.back[0].tick > w.tick-w.span {
				return
			}
			w.turn()
		}
		end := len(w.front) - 1
		if w.front[end].tick > w.tick-w.span {
			return
		}
		w.leave(&w.front[end])
		w.front[end] = column{}
		w.front = w.front[:end]
	}
}

// turn makes the back the front, which is empty.
func (w *Window) turn() {
	for _, c := range slices.Backward(w.back) {
		if w.fn == stdev {
			c.squares = make([]float64, len(c.a))
		}
		w.fn.older(&w.inFront, c.of.at, c.a, c.squares)
		w.front = append(w.front, c)
	}
	clear(w.back)
	w.back = w.back[:0]
	w.inBack.reset(len(w.ids))
}

// leave takes the oldest tick out of the front.
func (w *Window) leave(c *column) {
	words := c.a[:len(c.of.at)]
	for i, s := range c.of.at {
		x := &w.inFront.of[s]
		x.a = words[i]
		if x.n--; x.n == 0 && w.inBack.of[s].n == 0 {
			x.a = 0
			delete(w.slot, w.ids[s])
			w.free, w.every = append(w.free, s), nil
		}
	}
	switch w.fn {
	case percentile:
		for i, s := range c.of.at {
			w.unsort(s, words[i])
		}
	case stdev:
		for i, s := range c.of.at {
			w.inFront.squares[s] = c.squares[i]
		}
	default:
	}
	w.kept -= len(c.a)
	w.giveBack(c.a)
	if len(w.front) == 1 && len(w.back) == 0 { // it is the last one: its slots are not its own any more
		w.last = nil
	}
}

// members finds or makes the slots of the instances of v. Most are where they were in the newest tick.
func (w *Window) members(v *derived.Vector) *members {
	m := &members{insts: v.Insts, at: make([]int32, len(v.Bits))}
	var before []int32
	if w.last != nil {
		before = w.last.at
	}
	for i := range m.at {
		id := v.At(i)
		next := before[:min(2, len(before))] // it is the next one, or that has gone
		at := slices.IndexFunc(next, func(s int32) bool { return w.ids[s] == id })
		if at < 0 {
			m.at[i] = w.place(id)
			continue
		}
		m.at[i], before = before[at], before[at+1:]
	}
	return m
}

// place finds or makes the slot of an instance.
func (w *Window) place(id pdu.Inst) int32 {
	if s, ok := w.slot[id]; ok {
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
	w.slot[id], w.every = s, nil
	return s
}

// all are the instances of all ticks, in ascending order.
func (w *Window) all() *members {
	if w.every == nil {
		ids := make([]pdu.Inst, 0, len(w.slot))
		for id := range w.slot {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		w.every = &members{insts: derived.NewInstSet(ids), at: make([]int32, len(ids))}
		for i, id := range ids {
			w.every.at[i] = w.slot[id]
		}
	}
	return w.every
}

// giveBack keeps the memory of a column that has left for the next ones: as much as the steady state needs.
func (w *Window) giveBack(a []uint64) {
	const enough = 2
	if len(w.spare) < enough && a != nil {
		w.spare = append(w.spare, a)
	}
}

// memory is a column for n numbers, of the memory of those that have left if that is not far too much.
func (w *Window) memory(n int) []uint64 {
	if end := len(w.spare) - 1; end >= 0 {
		a := w.spare[end]
		w.spare[end] = nil
		if w.spare = w.spare[:end]; cap(a) >= n && cap(a) <= n+n/8+8 {
			return a[:n]
		}
	}
	return make([]uint64, n)
}

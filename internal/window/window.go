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

	front []run    // newest first
	back  []run    // oldest first
	tick  int64    // the newest; counts if last is set
	last  *members // of the newest tick; nil: there is none

	inFront, inBack parts // what the values in the front and those in the back come to, by the slot

	ids   []pdu.Inst         // whose each slot is
	slot  map[pdu.Inst]int32 // that of each instance of the window
	free  []int32            // slots that no instance has
	every *members           // all of slot; nil: not known

	sorted [][]uint64 // of a percentile: the words of each slot, in ascending order

	kept  int      // values
	spare []uint64 // memory of a run that has left
}

// run is the values of ticks that follow each other and have the same instances: where these are few, a tick takes little more than its values.
type run struct {
	of    *members
	tick  int64    // the oldest one
	ticks int      // how many there are
	left  int      // how many of these have left the window
	words []uint64 // tick by tick: in the back the value's word, in the front the word of the front without it and all before it

	squares []float64 // of a standard deviation in the front: likewise
}

// runWords is how many words a run has room for, if a tick has fewer.
const runWords = 128

// column is what all, the words or squares of a run, has for a tick; nil has nothing.
func column[T any](r *run, all []T, tick int) []T {
	n := len(r.of.at)
	if all == nil {
		return nil
	}
	return all[tick*n : (tick+1)*n]
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
	words := w.next(tick)
	w.fn.words(w.typ, words, v.Bits)
	w.fn.newer(&w.inBack, w.last.at, words)
	if w.fn == percentile {
		for i, s := range w.last.at {
			w.sort(s, words[i])
		}
	}
}

// next makes room in the back for the words of the newest tick. Without a span nothing is kept: it is the same room for all ticks.
func (w *Window) next(tick int64) []uint64 {
	n := len(w.last.at)
	if w.span == 0 {
		w.spare = w.memory(n)
		return w.spare
	}
	end := len(w.back) - 1
	if end < 0 || !w.back[end].goesOn(w.last, tick) {
		if end >= 0 {
			w.trim(&w.back[end])
		}
		ticks := max(1, min(runWords/max(1, n), int(w.span)))
		w.back = append(w.back, run{of: w.last, tick: tick, words: w.memory(ticks * n)})
		end++
	}
	r := &w.back[end]
	r.ticks++
	w.kept += n
	return column(r, r.words, r.ticks-1)
}

// goesOn reports whether a run has room for a tick with some instances.
func (r *run) goesOn(with *members, tick int64) bool {
	return r.of == with && r.tick+int64(r.ticks) == tick && (r.ticks+1)*len(with.at) <= len(r.words)
}

// trim takes the memory from a run that it does not need.
func (w *Window) trim(r *run) {
	if n := r.ticks * len(r.of.at); n < len(r.words) {
		w.spare, r.words = r.words, slices.Clone(r.words[:n])
	}
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
		r := &w.front[end]
		if r.tick+int64(r.left) > w.tick-w.span {
			return
		}
		w.leave(r)
		if r.left == r.ticks {
			w.spare = r.words
			*r = run{}
			w.front = w.front[:end]
			if end == 0 && len(w.back) == 0 { // the slots of the newest tick are not its own any more
				w.last = nil
			}
		}
	}
}

// turn makes the back the front, which is empty.
func (w *Window) turn() {
	for _, r := range slices.Backward(w.back) {
		if w.fn == stdev {
			r.squares = make([]float64, r.ticks*len(r.of.at))
		}
		for tick := r.ticks - 1; tick >= 0; tick-- {
			w.fn.older(&w.inFront, r.of.at, column(&r, r.words, tick), column(&r, r.squares, tick))
		}
		w.front = append(w.front, r)
	}
	clear(w.back)
	w.back = w.back[:0]
	w.inBack.reset(len(w.ids))
}

// leave takes the oldest tick out of the front, which ends with r.
func (w *Window) leave(r *run) {
	at, words, parts := r.of.at, column(r, r.words, r.left), w.inFront.of
	for i, s := range at {
		x := &parts[s]
		x.a = words[i]
		if x.n--; x.n == 0 && w.inBack.of[s].n == 0 {
			x.a = 0
			delete(w.slot, w.ids[s])
			w.free, w.every = append(w.free, s), nil
		}
	}
	switch w.fn {
	case percentile:
		for i, s := range at {
			w.unsort(s, words[i])
		}
	case stdev:
		for i, b := range column(r, r.squares, r.left) {
			w.inFront.squares[at[i]] = b
		}
	default:
	}
	r.left++
	w.kept -= len(at)
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

// memory is room for n words, that of a run that has left if it is not far too much.
func (w *Window) memory(n int) []uint64 {
	words := w.spare
	w.spare = nil
	if cap(words) < n || cap(words) > n+n/8+8 {
		return make([]uint64, n)
	}
	return words[:n]
}

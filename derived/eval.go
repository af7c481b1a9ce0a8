package derived

import (
	"math"
	"slices"

	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Evaluation computes metrics of a Set from one sample and the history that came before it. What
// metrics share is computed once. Not safe for concurrent use; meant to be kept and Reset, as it
// owns the memory of all results.
type Evaluation struct {
	set     *Set
	history []Sample // newest first
	round   uint32
	cells   []cell // of the program's steps
}

// cell is the result of one step, and what is kept for the next time it is computed.
type cell struct {
	round uint32 // in which v was computed
	v     Vector

	bits  []uint64 // memory for v and for operands brought into line
	left  []uint64
	right []uint64
	blobs [][]byte
	ids   []pdu.Inst

	join  join
	match match
	made  *InstSet // the last set that instances made
}

// NewEvaluation makes an evaluation without samples; every metric has no values yet.
func (s *Set) NewEvaluation() *Evaluation {
	return &Evaluation{set: s, round: 1, cells: make([]cell, len(s.program.steps))}
}

// Set is the set that e evaluates.
func (e *Evaluation) Set() *Set { return e.set }

// Reset gives e the samples to compute from, newest first: a first one, and the older ones that
// delta() and rate() compare it with, as far as there are any. The results of earlier calls of
// Value become invalid.
func (e *Evaluation) Reset(history ...Sample) {
	clear(e.history)
	e.history = append(e.history[:0], history...)
	e.round++
}

// Value computes a metric. The result is valid until the next Reset. A metric with an error has
// the code pdu.ErrBadDerive; one whose history is too short has no values.
func (e *Evaluation) Value(m *Metric) *Vector {
	if m.Err != nil {
		return &Vector{Code: pdu.ErrBadDerive}
	}
	return e.step(m.root)
}

// sample returns the sample of an age, nil if there is none so old.
func (e *Evaluation) sample(age uint16) Sample {
	if int(age) >= len(e.history) {
		return nil
	}
	return e.history[age]
}

func (e *Evaluation) step(i int32) *Vector {
	c := &e.cells[i]
	if c.round == e.round {
		return &c.v
	}
	c.round = e.round
	s := &e.set.program.steps[i]
	c.v = Vector{Type: s.typ}
	switch s.op {
	case opOperand:
		e.operand(s, c)
	case opConst:
		c.v.Bits = append(c.bits[:0], s.value)
		c.bits = c.v.Bits
	case opConstSet:
		e.constSet(s, c)
	case opNothing:
	case opConvert, opScale, opRescale, opTruth, opNot, opNegate:
		a := e.step(s.a)
		if a.Code < 0 {
			c.v.Code = a.Code
			break
		}
		c.v.Insts = a.Insts
		e.set.program.number(s, c.numbers(len(a.Bits)), a.Bits, nil)
	case opArith, opCompare, opBool:
		e.binary(s, c)
	case opAggregate:
		e.aggregate(s, c)
	case opCount:
		if e.sample(s.age) != nil {
			c.numbers(1)[0] = uint64(e.step(s.a).Len()) // 0 for an error
		}
	case opDelta:
		e.delta(s, c)
	case opRate:
		e.rate(s, c)
	case opScalar:
		c.pick(e.step(s.a), 0, nil)
	case opSelect:
		e.selectOne(s, c)
	case opMatch:
		e.matchSome(s, c)
	case opTernary:
		e.ternary(s, c)
	}
	return &c.v
}

// numbers makes room for n numbers in v and returns it.
func (c *cell) numbers(n int) []uint64 {
	c.bits = grow(c.bits, n)
	c.v.Bits = c.bits
	return c.bits
}

// grow returns a slice of length n that uses the memory of buf if that is enough.
func grow[T any](buf []T, n int) []T { return slices.Grow(buf[:0], n)[:n] }

// operand takes the values of a metric as they are. From here on a result that is a set and has
// values has Insts, any other has none.
func (e *Evaluation) operand(s *step, c *cell) {
	sample := e.sample(s.age)
	if sample == nil {
		return
	}
	v := sample.Values(s.operand)
	switch {
	case v.Code < 0:
		c.v.Code = v.Code
	case v.Len() == 0:
	case v.Type != s.typ || s.set && v.Insts == nil:
		c.v.Code = pdu.ErrType // the metric is no longer what it was when the set was made
	case s.set:
		c.v = *v
	default: // an agent may give a singular value an instance, which means nothing
		c.pick(v, 0, nil)
	}
}

func (e *Evaluation) constSet(s *step, c *cell) {
	sample := e.sample(s.age)
	if sample == nil {
		return
	}
	members := sample.Members(s.indom)
	if members == nil {
		c.v.Code = pdu.ErrAgain
		return
	}
	c.v.Insts = members
	out := c.numbers(members.Len())
	for i := range out {
		out[i] = s.value
	}
}

// both computes two operands; done reports that the result needs no more: it is an error, the left
// one's first, or there are no values.
func (e *Evaluation) both(s *step, c *cell) (a, b *Vector, done bool) {
	a, b = e.step(s.a), e.step(s.b)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
	case b.Code < 0:
		c.v.Code = b.Code
	case a.Len() == 0 || b.Len() == 0:
	default:
		return a, b, false
	}
	return a, b, true
}

// binary pairs the values of two sets by instance, and a single value with every value of a set.
func (e *Evaluation) binary(s *step, c *cell) {
	a, b, done := e.both(s, c)
	if done {
		return
	}
	x, y := a.Bits, b.Bits
	switch {
	case s.setA && s.setB:
		x, y, c.v.Insts = c.aligned(a, b)
	case s.setA:
		c.v.Insts = a.Insts
		y = c.spread(b.Bits[0], len(x))
	case s.setB:
		c.v.Insts = b.Insts
		x = c.spread(a.Bits[0], len(y))
	default:
		x, y = x[:1], y[:1]
	}
	e.set.program.number(s, c.numbers(len(x)), x, y)
}

// spread repeats one number.
func (c *cell) spread(v uint64, n int) []uint64 {
	c.left = grow(c.left, n)
	for i := range c.left {
		c.left[i] = v
	}
	return c.left
}

func (e *Evaluation) aggregate(s *step, c *cell) {
	a := e.step(s.a)
	f := syntax.Func(s.syntax)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
	case len(a.Bits) > 0:
		c.numbers(1)[0] = aggregate(f, s.from, a.Bits)
	case f == syntax.Sum && e.sample(s.age) != nil:
		c.numbers(1)[0] = 0
	}
}

func (e *Evaluation) delta(s *step, c *cell) {
	x, y, ok := e.changed(s, c)
	if ok {
		delta(s.from, c.numbers(len(x)), x, y)
	}
}

// changed lines up the values of now and of the sample before, of instances that have both. An
// error now is the result; an error before just means that there is nothing to compare with.
func (e *Evaluation) changed(s *step, c *cell) (now, before []uint64, ok bool) {
	a, b := e.step(s.a), e.step(s.b)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
		return nil, nil, false
	case e.sample(s.age+1) == nil || b.Code < 0 || len(a.Bits) == 0 || len(b.Bits) == 0:
		return nil, nil, false
	case !s.set:
		return a.Bits[:1], b.Bits[:1], true
	}
	now, before, c.v.Insts = c.aligned(a, b)
	return now, before, true
}

// rate divides the change by the seconds between the samples. A counter that went backwards has
// been reset: its instance has no value this time.
func (e *Evaluation) rate(s *step, c *cell) {
	now, before, ok := e.changed(s, c)
	if !ok {
		return
	}
	seconds := e.history[s.age].Time().Sub(e.history[s.age+1].Time()).Seconds()
	if seconds <= 0 {
		c.v.Insts = nil
		return
	}
	out := c.numbers(len(now))
	c.ids = c.ids[:0]
	kept := 0
	for i, v := range now {
		if s.counter && backwards(s.from, v, before[i]) {
			continue
		}
		out[kept] = math.Float64bits(change(s.from, v, before[i]) / seconds)
		kept++
		if s.set {
			c.ids = append(c.ids, c.v.Insts.ids[i])
		}
	}
	if kept < len(now) && s.set {
		c.v.Insts = c.instances()
	}
	c.v.Bits = out[:kept]
}

// pick makes the value at a position of a the only one of the result.
func (c *cell) pick(a *Vector, at int, insts *InstSet) {
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
	case at < 0 || at >= a.Len():
	case a.Type.Numeric():
		c.v.Bits, c.v.Insts = a.Bits[at:at+1:at+1], insts
	default:
		c.v.Blobs, c.v.Insts = a.Blobs[at:at+1:at+1], insts
	}
}

// selectOne keeps the instance that the domain's agent takes the name to mean.
func (e *Evaluation) selectOne(s *step, c *cell) {
	a := e.step(s.a)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
		return
	case a.Insts == nil:
		return
	}
	id, ok := e.history[s.age].Names(s.indom).Select(s.text)
	if !ok {
		return
	}
	c.ids = append(c.ids[:0], id)
	c.pick(a, a.Insts.Index(id), c.instances())
}

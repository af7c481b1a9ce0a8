package engine

import (
	"cmp"
	"math"
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// Evaluation computes metrics of a Set from a sample and the older samples of its history. Each step is computed when a
// metric that needs it is asked for, and once, however many metrics share it. An Evaluation is not safe for concurrent
// use. It owns the memory of all results: keep it, and Reset it for each sample.
type Evaluation struct {
	set     *Set
	history []Sample // newest first
	round   uint32
	steps   []step   // of the set's program
	results []result // of the steps

	// inWindow says that the values are for windows, where neither 0 / 0 counts nor delta() of a counter that went down:
	// they are no values there.
	inWindow bool

	windows *Results      // of the windows; nil: unknown
	scratch *blocks       // nil: not needed yet
	column  []uint64      // scratch memory for a whole column
	longest int           // the most numbers that this memory was needed for since the last Reset
	groups  *group.Groups // nil: not needed yet
}

// NewEvaluation returns an evaluation without samples, in which no metric has values.
func (s *Set) NewEvaluation() *Evaluation {
	return &Evaluation{set: s, round: 1, steps: s.program.steps, results: make([]result, len(s.program.steps))}
}

// SetGroups makes e take the numbers of groups from g, which other evaluations can share.
func (e *Evaluation) SetGroups(g *group.Groups) { e.groups = g }

// Set returns the set that e evaluates.
func (e *Evaluation) Set() *Set { return e.set }

// Reset gives e the samples to compute from, newest first: the current one, and the older ones that delta() and rate()
// compare it with, as far as they exist. The results of earlier calls of Value become invalid, and the results of
// windows are unset.
func (e *Evaluation) Reset(history ...Sample) {
	clear(e.history)
	e.windows = nil
	e.column, e.longest = fit(e.column, e.longest), 0
	e.history = append(e.history[:0], history...)
	if e.round++; e.round == 0 { // results of 2³² rounds ago would be valid again
		for i := range e.results {
			e.results[i].round = 0
		}
		e.round = 1
	}
}

// Value returns the values of a metric, valid until the next Reset. A metric with an error has the code
// pdu.ErrBadDerive. A metric that needs older samples than e has no values.
func (e *Evaluation) Value(m *Metric) *column.Vector {
	if m.Err != nil {
		return &column.Vector{Code: pdu.ErrBadDerive}
	}
	return e.step(m.root)
}

// sample returns the sample of an age, nil if e has none.
func (e *Evaluation) sample(age uint8) Sample {
	if int(age) >= len(e.history) {
		return nil
	}
	return e.history[age]
}

// step returns the result of a step. It computes the step unless that has happened since the last Reset.
func (e *Evaluation) step(i int32) *column.Vector {
	r := &e.results[i]
	if r.round == e.round {
		return r.v
	}
	r.round = e.round
	s := &e.steps[i]
	var values *column.Vector
	switch s.op {
	case opOperand:
		if sample := e.sample(s.age); sample != nil {
			values = sample.Values(s.pmid(), &r.hint)
		}
	case opWindow:
		values = e.windowValues(s, r)
	default:
	}
	if values != nil && isUsual(values, s) {
		r.v = values
		return values
	}
	if r.cell == nil {
		r.cell = &cell{}
	}
	c := r.cell
	r.v = &c.v
	c.v = column.Vector{Type: s.typ}
	switch s.op {
	case opOperand, opWindow:
		c.setUnusual(s, values)
	case opConst:
		c.single[0] = s.value()
		c.v.Bits = c.single[:]
	case opConstSet:
		e.constSet(s, c)
	case opNow:
		if sample := e.sample(s.age); sample != nil {
			t := sample.Time()
			c.setNumber(column.FromDouble(float64(t.Unix()) + float64(t.Nanosecond())/1e9))
		}
	case opNothing, opSame:
	case opConvert, opScale, opRescale, opTruth, opNot, opNegate, opEach:
		e.unary(s, c)
	case opArith, opCompare, opBool, opPair:
		e.binary(s, c)
	case opAggregate:
		e.aggregate(s, c)
	case opTop:
		e.topK(s, c)
	case opCount:
		if a := e.step(s.first); a.Len() > 0 || e.isKnown(s, a) {
			c.setNumber(uint64(a.Len())) // 0 for an error
		}
	case opBuckets:
		e.buckets(s, c)
	case opWhole:
		e.whole(s, c)
	case opDelta, opRate:
		e.change(s, c)
	case opIncrease:
		e.increase(s, c, &r.hint)
	case opFromZero:
		e.fromZero(s, c)
	case opUnchanged:
		e.zeroChange(s, c)
	case opScalar:
		c.setOne(e.step(s.first), 0, nil)
	case opSelect:
		e.selectInstance(s, c)
	case opMatch:
		e.matchInstances(s, c)
	case opTernary:
		e.ternary(s, c)
	case opDefault:
		e.defaultValues(s, c)
	case opGroup:
		e.aggregateGroups(s, c)
	case opSpread:
		e.spreadGroups(s, c)
	case opRename:
		e.renameGroups(s, c)
	case opKey:
		e.keyError(s, c)
	case opInstances:
		e.instances(s, c)
	}
	if c.v.Code >= 0 && c.v.Len() == 0 {
		if s.op != opTernary { // it sets both itself
			s.takes(func(k int32) { c.v.Incomplete = c.v.Incomplete || e.step(k).Incomplete })
			e.setWhyEmpty(s, c)
		}
	}
	if c.v.Code < 0 && c.v.Why == "" {
		s.takes(func(k int32) {
			if r := &e.results[k]; r.round == e.round && r.v.Code == c.v.Code {
				c.v.Why = cmp.Or(c.v.Why, r.v.Why)
			}
		})
	}
	return &c.v
}

// setWhyEmpty sets why a step has no values: an operand has none, and says why, or all have some and the step leaves
// none of them. A key has no values, but no part in this.
func (e *Evaluation) setWhyEmpty(s *step, c *cell) {
	c.v.Why = cmp.Or(c.v.Why, s.whyEmpty())
	s.takes(func(k int32) {
		if r := &e.results[k]; r.round == e.round && r.v.Len() == 0 && e.steps[k].op != opKey {
			c.v.Why = r.v.Why
		}
	})
}

// setNumber makes v the only number of the result.
func (c *cell) setNumber(v uint64) {
	c.single[0] = v
	c.v.Bits = c.single[:]
}

// isUsual reports whether a step can take values of a sample or a window as they are. From here on, a result has Insts
// if and only if it is a set and has values.
func isUsual(v *column.Vector, s *step) bool {
	n := v.Len()
	return v.Code >= 0 && v.Type == s.typ && s.set == (v.Insts != nil) && (n == 1 || n > 1 && s.set)
}

// setUnusual takes values that are not as the metadata says: it sets their error, one that they cause, or the one value
// of a singular metric.
func (c *cell) setUnusual(s *step, v *column.Vector) {
	switch {
	case v == nil:
	case v.Code < 0:
		c.v.Code, c.v.Why = v.Code, v.Why
	case v.Len() == 0:
		c.v.Incomplete = v.Incomplete
	case v.Type != s.typ || s.set:
		c.v.Code = pdu.ErrType // the metric has changed since the set was made
	default: // some agents give a singular value an instance, which means nothing
		c.setOne(v, 0, nil)
	}
}

func (e *Evaluation) constSet(s *step, c *cell) {
	sample := e.sample(s.age)
	if sample == nil {
		return
	}
	members := sample.Members(s.domain)
	if members == nil {
		c.v.Code = pdu.ErrAgain
		return
	}
	c.v.Insts = members
	out := c.makeNumbers(members.Len())
	v := s.value()
	for k := range out {
		out[k] = v
	}
}

func (e *Evaluation) unary(s *step, c *cell) {
	a := e.step(s.first)
	if a.Code < 0 {
		c.v.Code = a.Code
		return
	}
	c.v.Insts = a.Insts
	e.set.program.unary(s, c.makeNumbers(len(a.Bits)), a.Bits)
}

// binary pairs the values of two sets by instance, and a single value with each value of a set. If both have an
// error, that of the left one is the result.
func (e *Evaluation) binary(s *step, c *cell) {
	loop := s.binary()
	if e.inWindow && s.divides() {
		loop = divideAsIs
		defer c.dropNaN()
	}
	a, b := e.step(s.first), e.step(s.second)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
		return
	case b.Code < 0:
		c.v.Code = b.Code
		return
	case len(a.Bits) == 0 || len(b.Bits) == 0:
		return
	case !s.set: // two numbers
		loop(c.single[:], a.Bits, b.Bits)
		c.v.Bits = c.single[:]
		return
	}
	x, y, n := source{bits: a.Bits}, source{bits: b.Bits}, len(a.Bits)
	switch {
	case s.setA == s.setB:
		n = c.align(&x, &y, a, b)
	case s.setA:
		c.v.Insts, y.single = a.Insts, true
	default:
		c.v.Insts, x.single, n = b.Insts, true, len(b.Bits)
	}
	e.apply(loop, c.makeNumbers(n), &x, &y)
}

// dropNaN removes the values that are not a number, and their instances.
func (c *cell) dropNaN() {
	isNaN := func(v uint64) bool { return math.IsNaN(column.ToDouble(v)) }
	if !slices.ContainsFunc(c.v.Bits, isNaN) {
		return
	}
	m, kept := c.memory(), c.v.Bits[:0]
	m.ids = m.ids[:0]
	for k, v := range c.v.Bits {
		if !isNaN(v) {
			kept, m.ids = append(kept, v), append(m.ids, c.v.At(k))
		}
	}
	if c.v.Bits, c.v.Incomplete = kept, true; c.v.Insts != nil {
		c.v.Insts = m.collectedSet()
	}
}

// apply computes dst from two columns with a loop that takes plain ones.
func (e *Evaluation) apply(loop func(dst, a, b []uint64), dst []uint64, x, y *source) {
	if x.plain() && y.plain() {
		loop(dst, x.bits[:len(dst)], y.bits[:len(dst)])
		return
	}
	scratch := e.blocks()
	x.fillScratch(&scratch[0], len(dst))
	y.fillScratch(&scratch[1], len(dst))
	for from := 0; from < len(dst); from += blockSize {
		n := min(blockSize, len(dst)-from)
		loop(dst[from:from+n], x.block(&scratch[0], from, n), y.block(&scratch[1], from, n))
	}
}

func (e *Evaluation) blocks() *blocks {
	if e.scratch == nil {
		e.scratch = &blocks{}
	}
	return e.scratch
}

// wholeColumn returns scratch memory for n numbers, valid until the next call. Only Reset gives memory back: steps of
// one evaluation need columns of different lengths.
func (e *Evaluation) wholeColumn(n int) []uint64 {
	if e.longest = max(e.longest, n); n > cap(e.column) {
		e.column = make([]uint64, n)
	}
	return e.column[:n]
}

func (e *Evaluation) aggregate(s *step, c *cell) {
	a := e.step(s.first)
	f := &functions[s.function()]
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
	case len(a.Bits) > 0 && f.sorts:
		sorted := e.wholeColumn(len(a.Bits))
		copy(sorted, a.Bits)
		c.setNumber(f.reduce(s.from, sorted, e.number(s)))
	case len(a.Bits) > 0:
		c.setNumber(f.reduce(s.from, a.Bits, e.number(s)))
	case f.ofNone && e.isKnown(s, a):
		c.setNumber(0)
	}
}

// isKnown reports whether the operand of an aggregate, which has no values, has none for lack of instances.
func (e *Evaluation) isKnown(s *step, a *column.Vector) bool {
	return e.sample(s.age) != nil && !a.Incomplete
}

// number returns the number among the arguments of the step's function. If the function has none, the result means
// nothing.
func (e *Evaluation) number(s *step) float64 { return column.ToDouble(e.steps[s.third].value()) }

// zeroChange is the change of a value that depends on no metric: 0 if there is an earlier sample.
func (e *Evaluation) zeroChange(s *step, c *cell) {
	a := e.step(s.first)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
	case e.sample(s.age+1) != nil:
		c.v.Insts = a.Insts
		clear(c.makeNumbers(len(a.Bits)))
	}
}

// changeOperands returns the values of the current sample and of the one before. A current error is the result. An
// error before means that the result has no values, and that they are unknown.
func (e *Evaluation) changeOperands(s *step, c *cell) (now, before *column.Vector, ok bool) {
	now, before = e.step(s.first), e.step(s.second)
	switch {
	case now.Code < 0:
		c.v.Code = now.Code
		return nil, nil, false
	case e.sample(s.age+1) == nil || before.Code < 0 || len(now.Bits) == 0 || len(before.Bits) == 0:
		c.v.Incomplete = before.Code < 0
		return nil, nil, false
	}
	return now, before, true
}

// change computes opDelta and opRate. A rate is the change divided by the seconds between the samples. A counter that
// went down was reset: its instance has no rate, and in a window or a histogram no delta.
func (e *Evaluation) change(s *step, c *cell) {
	a, b, ok := e.changeOperands(s, c)
	if !ok {
		return
	}
	seconds := e.history[s.age].Time().Sub(e.history[s.age+1].Time()).Seconds()
	if s.op == opRate && seconds <= 0 {
		return
	}
	x, y := source{bits: a.Bits}, source{bits: b.Bits}
	n := c.align(&x, &y, a, b)
	out, kept := c.makeNumbers(n), 0
	if s.op == opDelta && (!e.inWindow && !s.positive() || !s.ofCounter()) {
		e.apply(difference(s.from), out, &x, &y)
		return
	}
	scratch := e.blocks()
	for from := 0; from < n; from += blockSize {
		size := min(blockSize, n-from)
		now, before := x.block(&scratch[0], from, size), y.block(&scratch[1], from, size)
		changes := out[from : from+size]
		reset := change(s.from, changes, now, before) && s.ofCounter()
		if s.op == opRate {
			divideAll(changes, seconds)
		} else {
			difference(s.from)(changes, now, before)
		}
		if kept == from && !reset {
			kept += size
			continue
		}
		if kept == from && s.set {
			m := c.memory()
			m.ids = append(m.ids[:0], c.v.Insts.IDs()[:from]...)
		}
		for k, v := range changes {
			if s.ofCounter() && column.WentDown(s.from, now[k], before[k]) {
				continue
			}
			out[kept] = v
			kept++
			if s.set {
				c.ids = append(c.ids, c.v.Insts.IDs()[from+k])
			}
		}
	}
	if kept < n && s.set {
		c.v.Insts = c.memory().collectedSet()
	}
	c.v.Bits, c.v.Incomplete = out[:kept], (e.inWindow || s.positive()) && kept < n
}

// setOne makes one value of a, at a position, the only one of the result.
func (c *cell) setOne(a *column.Vector, at int, insts *column.InstSet) {
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
	case at < 0 || at >= a.Len():
	case a.Type.Numeric():
		c.setNumber(a.Bits[at])
		c.v.Insts = insts
	default:
		c.v.Blobs, c.v.Insts = a.Blobs[at:at+1:at+1], insts
	}
}

// selectInstance takes the value of the instance that the domain's agent returns for a name.
func (e *Evaluation) selectInstance(s *step, c *cell) {
	a := e.step(s.first)
	c.v.Code = min(0, a.Code)
	if a.Insts == nil {
		return
	}
	id, ok := e.nameTable(s.domain, s.age).Select(e.set.program.text(s))
	if !ok {
		return
	}
	m := c.memory()
	m.ids = append(m.ids[:0], id)
	at, insts := a.Insts.Index(id), m.collectedSet()
	if c.setOne(a, at, insts); at >= 0 {
		c.v.Insts = insts // also without values, beside an error
	}
}

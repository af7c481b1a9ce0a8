package engine

import (
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// increase computes opIncrease. An instance counts from 0 if it was born after the sample before, or if its counter went
// down since; if it came back, it has no value, and neither has one that went down if it may be another one now. A metric
// whose samples have no Lives has no births.
func (e *Evaluation) increase(s *step, c *cell, hint *int32) {
	a, b := e.step(s.first), e.step(s.second)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
		return
	case e.sample(s.age+1) == nil || b.Code < 0 || len(a.Bits) == 0:
		c.v.Incomplete = b.Code < 0
		return
	}
	lives := e.history[s.age].Values(s.pmid(), hint).Lives
	older := e.history[s.age+1].Values(s.pmid(), hint).Lives
	doubtful := lives.Doubtful(older)
	out, from, kept := c.makeNumbers(len(a.Bits)), e.wholeColumn(len(a.Bits)), 0
	m := c.memory()
	m.ids = m.ids[:0]
	for k, now := range a.Bits {
		id, at, before := a.At(k), -1, uint64(0)
		switch {
		case len(b.Bits) == 0:
		case a.Insts == b.Insts:
			at = k
		default:
			at = b.Insts.Near(id, k)
		}
		switch began, born := lives.Began(id, k, older); {
		case began && !born, !began && at < 0:
			c.v.Incomplete = c.v.Incomplete || at >= 0 && column.WentDown(s.from, now, b.Bits[at])
			continue
		case !began && !column.WentDown(s.from, now, b.Bits[at]):
			before = b.Bits[at]
		case !began && (s.positive() || doubtful):
			c.v.Incomplete = true
			continue
		case column.WentDown(s.from, now, 0): // a signed counter that wrapped has not counted from 0
			continue
		}
		out[kept], from[kept], m.ids = now, before, append(m.ids, id)
		kept++
	}
	c.v.Bits = out[:kept]
	difference(s.from)(c.v.Bits, c.v.Bits, from[:kept])
	switch {
	case !s.set || kept == 0:
	case kept == len(a.Bits):
		c.v.Insts = a.Insts
	default:
		c.v.Insts = m.collectedSet()
	}
}

// fromZero computes opFromZero: a source that was reset has reset all buckets of its histogram, also those that have
// counted more than before since then.
func (e *Evaluation) fromZero(s *step, c *cell) {
	a, b := e.step(s.first), e.step(s.third)
	if c.v.Code = b.Code; b.Code < 0 || len(b.Bits) == 0 {
		return
	}
	if c.v.Code = e.keyCode(s.second, b.Insts); c.v.Code < 0 {
		return
	}
	c.v.Insts, c.v.Bits = b.Insts, b.Bits
	if a.Len() == 0 {
		return
	}
	histograms := parts{ends: []int32{0, int32(len(b.Bits))}}
	if s.second >= 0 {
		m := c.memory()
		m.grouping = e.grouping(s.second, m, m.grouping, b.Insts)
		histograms = parts{m.grouping.Order, m.grouping.Bounds}
	}
	copy(c.makeNumbers(len(b.Bits)), b.Bits)
	for h := range len(histograms.ends) - 1 {
		from, to, reset := histograms.ends[h], histograms.ends[h+1], false
		for k := from; k < to && !reset; k++ {
			place := int(histograms.member(k))
			at := a.Insts.Near(b.At(place), place)
			reset = at >= 0 && column.WentDown(s.typ, a.Bits[at], b.Bits[place])
		}
		for k := from; k < to && reset; k++ {
			c.v.Bits[histograms.member(k)] = 0
		}
	}
}

// Increases returns the metrics of which an increase is computed, each once: births in their samples matter.
func (s *Set) Increases() (metrics []pdu.PMID) {
	for i := range s.program.steps {
		if of := &s.program.steps[i]; of.op == opIncrease {
			metrics = append(metrics, of.pmid())
		}
	}
	slices.Sort(metrics)
	return slices.Compact(metrics)
}

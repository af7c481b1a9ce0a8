package engine

import (
	"cmp"
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
)

// topK keeps the instances with the largest values, or the smallest. If values are equal, the
// instances with smaller numbers come first. NaN comes last.
func (e *Evaluation) topK(s *step, c *cell) {
	a := e.step(s.first)
	if a.Code < 0 {
		c.v.Code = a.Code
		return
	}
	k := int(e.number(s))
	c.v.Insts = a.Insts
	if a.Insts == nil || k >= len(a.Bits) {
		copy(c.makeNumbers(len(a.Bits)), a.Bits)
		return
	}
	m, ids, order, turn := c.memory(), a.Insts.IDs(), ascending(s.typ), uint64(0)
	if s.function() == syntax.BottomK {
		turn = flip(s.typ)
	}
	m.match.at = fit(m.match.at, len(a.Bits))
	for at := range m.match.at {
		m.match.at[at] = int32(at)
	}
	selectNth(m.match.at, k-1, func(x, y int32) int {
		return cmp.Or(order(a.Bits[y]^turn, a.Bits[x]^turn), cmp.Compare(ids[x], ids[y]))
	})
	kept := m.match.at[:k]
	slices.Sort(kept)
	m.ids = fit(m.ids, k)
	column.Gather(m.ids, ids, kept)
	c.v.Insts = m.collectedSet()
	column.Gather(c.makeNumbers(k), a.Bits, kept)
}

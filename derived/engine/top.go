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
	m, ids, turn := c.memory(), a.Insts.IDs(), uint64(0)
	if s.function() == syntax.BottomK {
		turn = flip(s.typ)
	}
	words := e.wholeColumn(len(a.Bits))
	for at, v := range a.Bits {
		words[at] = orderWord(s.typ, v^turn)
	}
	least := selectWord(words, len(words)-k)
	m.match.at = fit(m.match.at, len(a.Bits))
	kept, equal := m.match.at[:0], len(a.Bits) // equal: the least value is from here on, last one first
	for at, v := range a.Bits {
		switch word := orderWord(s.typ, v^turn); {
		case word > least:
			m.match.at[len(kept)] = int32(at)
			kept = m.match.at[:len(kept)+1]
		case word == least:
			equal--
			m.match.at[equal] = int32(at)
		}
	}
	ties := m.match.at[equal:]
	slices.SortFunc(ties, func(x, y int32) int { return cmp.Compare(ids[x], ids[y]) })
	kept = append(kept, ties[:k-len(kept)]...)
	slices.Sort(kept)
	m.ids = fit(m.ids, k)
	column.Gather(m.ids, ids, kept)
	c.v.Insts = m.collectedSet()
	column.Gather(c.makeNumbers(k), a.Bits, kept)
}

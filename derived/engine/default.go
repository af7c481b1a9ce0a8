package engine

import (
	"pmdaderived/derived/column"
)

// defaultValues takes the values of the first operand that are finite, and those of the second one for all other
// instances. The result has the instances of the third operand, all that the first one could have; without these it has
// the instances of the first operand. It also has those of the second if that is a set. If an error is taken for an
// instance, the error is the result.
func (e *Evaluation) defaultValues(i int32, s *step, c *cell) {
	x := e.step(s.first)
	switch {
	case x.Code < 0:
		c.v.Code = x.Code
		return
	case e.sample(s.age) == nil:
		return
	}
	y := e.step(s.second)
	if !s.set {
		if len(x.Bits) > 0 && column.Finite(s.typ, x.Bits[0]) {
			y = x
		}
		c.setOne(y, 0, nil)
		return
	}
	first, second := x.Insts, x.Insts
	if within := e.step(s.third); within.Code >= 0 && within.Insts != nil {
		first = within.Insts
	}
	if s.setB {
		second = y.Insts
	}
	if first == second {
		second = nil
	}
	m := c.memory()
	m.ids = m.ids[:0]
	out, all := e.makeNumbers(i, c, len(first.IDs())+len(second.IDs())), true
	for from, insts := range [...]*column.InstSet{first, second} {
		for k, id := range insts.IDs() {
			if from > 0 && first != nil && first.Near(id, k) >= 0 {
				continue
			}
			v, at := x, position(x, id, k)
			if at < 0 || !column.Finite(s.typ, x.Bits[at]) {
				v, at = y, position(y, id, k)
			}
			switch {
			case v.Code < 0:
				c.v = column.Vector{Type: s.typ, Code: v.Code}
				return
			case at < 0:
				all = false
				continue
			}
			out[len(m.ids)] = v.Bits[at]
			m.ids = append(m.ids, id)
		}
	}
	switch c.v.Bits = out[:len(m.ids)]; {
	case len(m.ids) == 0:
		c.v.Code = min(y.Code, 0)
	case all && len(m.ids) == len(first.IDs()):
		c.v.Insts = first
	default:
		c.v.Insts = m.collectedSet()
	}
}

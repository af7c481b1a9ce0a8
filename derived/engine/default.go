package engine

import (
	"cmp"

	"pmdaderived/derived/column"
)

// defaultValues takes the values of the first operand that are finite, and those of the second one for all other
// instances. The result has the instances of the third operand, all that the first one could have; without these it has
// the instances of the first operand. It also has those of the second if that is a set. If an error is taken for an
// instance, or because no instance is known, the error is the result.
func (e *Evaluation) defaultValues(s *step, c *cell) {
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
	first, second, code := x.Insts, x.Insts, min(0, y.Code)
	switch within := e.step(s.third); {
	case within.Insts != nil && (within.Code >= 0 || len(x.Bits) == 0):
		first = within.Insts
	case len(x.Bits) == 0:
		code = cmp.Or(min(0, within.Code), code)
	}
	if s.setB {
		second = y.Insts
	}
	if first == second {
		second = nil
	}
	m := c.memory()
	m.ids = m.ids[:0]
	out, all := c.makeNumbers(len(first.IDs())+len(second.IDs())), true
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
		c.v.Code = code
	case all && len(m.ids) == len(first.IDs()):
		c.v.Insts = first
	default:
		c.v.Insts = m.collectedSet()
	}
}

// instances finds the instances of two operands that the step wants. Its numbers mean nothing. An operand whose instances
// are unknown because of an error does not count. The error is the result if no instance is known. It is returned beside
// the instances if they should be those of both.
func (e *Evaluation) instances(s *step, c *cell) {
	a, b := e.step(s.first), e.step(s.second)
	c.v.Code = cmp.Or(min(0, a.Code), min(0, b.Code))
	switch of := s.of(); {
	case of == ofKnown && a.Code >= 0:
		c.v.Code, c.v.Insts = 0, a.Insts
	case of == ofKnown:
		c.v.Code, c.v.Insts = min(0, b.Code), b.Insts
	case of == ofBoth && (a.Code >= 0 && a.Len() == 0 || b.Code >= 0 && b.Len() == 0):
		c.v.Code = 0 // there are none
	case a.Insts == nil:
		c.v.Insts = b.Insts
	case b.Insts == nil || a.Insts == b.Insts:
		c.v.Insts = a.Insts
	default:
		m := c.memory()
		m.ids = m.ids[:0]
		if of == ofEither {
			m.ids = append(m.ids, a.Insts.IDs()...)
			a, b = b, a
		}
		for k, id := range a.Insts.IDs() {
			if (b.Insts.Near(id, k) < 0) == (of == ofEither) {
				m.ids = append(m.ids, id)
			}
		}
		c.v.Insts = m.collectedSet()
	}
	if s.of() == ofEither && len(c.v.Insts.IDs()) > 0 {
		c.v.Code = 0
	}
	if c.v.Code == 0 {
		c.makeNumbers(len(c.v.Insts.IDs()))
	}
}

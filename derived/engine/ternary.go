package engine

import (
	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// ternary selects between two operands, for each instance if the guard is a set. The operand that is not selected may
// have an error or no values.
func (e *Evaluation) ternary(s *step, c *cell) {
	guard := e.step(s.first)
	switch {
	case guard.Code < 0:
		c.v.Code = guard.Code
	case len(guard.Bits) == 0:
		c.v.Incomplete, c.v.Why = guard.Incomplete, guard.Why
	case s.setA:
		e.selectPerInstance(c, guard, e.step(s.second), e.step(s.third))
	case guard.Bits[0] != 0:
		e.selectWhole(s, c, e.step(s.second), e.step(s.third))
	default:
		e.selectWhole(s, c, e.step(s.third), e.step(s.second))
	}
}

// selectWhole makes one operand the result. If the result is a set and the operand a single value, each instance of the
// other operand gets that value.
func (e *Evaluation) selectWhole(s *step, c *cell, chosen, other *column.Vector) {
	switch {
	case chosen.Code < 0:
		c.v.Code = chosen.Code
	case !s.set || chosen.Insts != nil || chosen.Len() == 0:
		c.v.Insts, c.v.Bits, c.v.Blobs = chosen.Insts, chosen.Bits, chosen.Blobs
		c.v.Incomplete, c.v.Why = chosen.Incomplete, chosen.Why
	case other.Code < 0:
		c.v.Code = other.Code // the instances that would get the value are unknown
	case c.v.Type.Numeric():
		c.v.Insts, c.v.Incomplete, c.v.Why = other.Insts, other.Incomplete, other.Why
		out, v := c.makeNumbers(other.Len()), chosen.Bits[0]
		for k := range out {
			out[k] = v
		}
	default:
		m := c.memory()
		m.blobs = fit(m.blobs, other.Len())
		for k := range m.blobs {
			m.blobs[k] = chosen.Blobs[0]
		}
		c.v.Insts, c.v.Blobs, c.v.Why = other.Insts, m.blobs, other.Why
	}
}

// selectPerInstance selects an operand for each instance of the guard. An instance for which the selected operand has
// no value is left out. If no instance remains, the error of a selected operand is the result.
func (e *Evaluation) selectPerInstance(c *cell, guard, a, b *column.Vector) {
	numeric := c.v.Type.Numeric()
	if numeric && hasAll(a, guard) && hasAll(b, guard) {
		c.v.Insts = guard.Insts
		e.selectNumbers(c.makeNumbers(guard.Len()), guard.Bits, a, b)
		return
	}
	m := c.memory()
	var bits []uint64
	blobs := m.blobs[:0]
	if numeric {
		bits = c.makeNumbers(guard.Len())
	}
	m.ids = m.ids[:0]
	failed, unknown, why := pdu.Code(0), false, noPartner
	for k, id := range guard.Insts.IDs() {
		v := b
		if guard.Bits[k] != 0 {
			v = a
		}
		at := position(v, id, k)
		switch {
		case v.Code < 0:
			failed = v.Code
			continue
		case at < 0:
			if unknown = unknown || v.Incomplete; v.Len() == 0 {
				why = v.Why
			}
			continue
		case numeric:
			bits[len(m.ids)] = v.Bits[at]
		default:
			blobs = append(blobs, v.Blobs[at])
		}
		m.ids = append(m.ids, id)
	}
	m.blobs = blobs
	c.v.Bits = nil
	switch {
	case len(m.ids) == 0:
		if c.v.Code = failed; failed == 0 {
			c.v.Incomplete, c.v.Why = unknown, why
		}
		return
	case len(m.ids) == guard.Len():
		c.v.Insts = guard.Insts
	default:
		c.v.Insts = m.collectedSet()
	}
	if numeric {
		c.v.Bits = bits[:len(m.ids)]
	} else {
		c.v.Blobs = blobs
	}
}

// hasAll reports whether v has a value for every instance of guard, at the same positions.
func hasAll(v, guard *column.Vector) bool {
	return v.Code >= 0 && v.Len() > 0 && (v.Insts == nil || v.Insts == guard.Insts)
}

// selectNumbers selects between two operands that have all instances of the guard, block by block.
func (e *Evaluation) selectNumbers(dst, guard []uint64, a, b *column.Vector) {
	x := source{bits: a.Bits, single: a.Insts == nil}
	y := source{bits: b.Bits, single: b.Insts == nil}
	scratch := e.blocks()
	x.fillScratch(&scratch[0], len(dst))
	y.fillScratch(&scratch[1], len(dst))
	for from := 0; from < len(dst); from += blockSize {
		n := min(blockSize, len(dst)-from)
		selectLoop(dst[from:from+n], guard[from:from+n], x.block(&scratch[0], from, n), y.block(&scratch[1], from, n))
	}
}

// position returns the position of an instance's value in v: 0 for a single value, -1 if there is none. hint is the
// likely position.
func position(v *column.Vector, id pdu.Inst, hint int) int {
	switch {
	case v.Code < 0 || v.Len() == 0:
		return -1
	case v.Insts == nil:
		return 0
	}
	return v.Insts.Near(id, hint)
}

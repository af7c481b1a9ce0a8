package derived

import "pmdaderived/pdu"

// ternary selects between two operands, for each instance if the guard is a set. Only what is
// selected matters: the other operand may be an error or have no values.
func (e *Evaluation) ternary(s *step, c *cell) {
	guard := e.step(s.a)
	switch {
	case guard.Code < 0:
		c.v.Code = guard.Code
	case len(guard.Bits) == 0:
	case s.setA:
		c.perInstance(guard, e.step(s.b), e.step(s.c))
	case guard.Bits[0] != 0:
		c.whole(s, e.step(s.b), e.step(s.c))
	default:
		c.whole(s, e.step(s.c), e.step(s.b))
	}
}

// whole makes one operand the result. A single value becomes one for each instance of the other
// operand where the result is a set.
func (c *cell) whole(s *step, chosen, other *Vector) {
	switch {
	case chosen.Code < 0:
		c.v.Code = chosen.Code
	case !s.set || chosen.Insts != nil || chosen.Len() == 0:
		c.v.Insts, c.v.Bits, c.v.Blobs = chosen.Insts, chosen.Bits, chosen.Blobs
	case other.Code < 0:
		c.v.Code = other.Code // the instances to spread the value over are not known
	case c.v.Type.Numeric():
		c.v.Insts, c.v.Bits = other.Insts, c.spread(chosen.Bits[0], other.Len())
	default:
		c.blobs = grow(c.blobs, other.Len())
		for i := range c.blobs {
			c.blobs[i] = chosen.Blobs[0]
		}
		c.v.Insts, c.v.Blobs = other.Insts, c.blobs
	}
}

// perInstance lets the guard choose for each of its instances. An instance for which the chosen
// operand has no value is left out; when none is left, an error that was chosen is the result.
func (c *cell) perInstance(guard, a, b *Vector) {
	numeric := c.v.Type.Numeric()
	bits, blobs := grow(c.bits, guard.Len())[:0], c.blobs[:0]
	c.ids = c.ids[:0]
	failed := pdu.Code(0)
	for i, id := range guard.Insts.ids {
		v := b
		if guard.Bits[i] != 0 {
			v = a
		}
		at := v.find(id, i)
		switch {
		case v.Code < 0:
			failed = v.Code
			continue
		case at < 0:
			continue
		case numeric:
			bits = append(bits, v.Bits[at])
		default:
			blobs = append(blobs, v.Blobs[at])
		}
		c.ids = append(c.ids, id)
	}
	c.bits, c.blobs = bits, blobs
	switch {
	case len(c.ids) == 0:
		c.v.Code = failed
		return
	case len(c.ids) == guard.Len():
		c.v.Insts = guard.Insts
	default:
		c.v.Insts = c.instances()
	}
	if numeric {
		c.v.Bits = bits
	} else {
		c.v.Blobs = blobs
	}
}

// find returns the position of an instance's value, probably hint: 0 for a single value, -1 if there
// is none.
func (v *Vector) find(id pdu.Inst, hint int) int {
	switch {
	case v.Code < 0 || v.Len() == 0:
		return -1
	case v.Insts == nil:
		return 0
	}
	return v.Insts.near(id, hint)
}

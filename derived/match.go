package derived

import "strings"

// match is the instances that a pattern selects from a set under certain names. A cell keeps its
// last one, which holds while names and instances stay the same.
type match struct {
	from  *InstSet
	names *NameTable
	insts *InstSet
	at    []int32 // their positions in from
}

// matchSome keeps the instances whose external name, up to its first blank, matches a pattern, or
// does not match it. An instance without a known name is never kept.
func (e *Evaluation) matchSome(s *step, c *cell) {
	a := e.step(s.a)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
		return
	case a.Insts == nil:
		return
	}
	names := e.history[s.age].Names(s.indom)
	if c.match.from != a.Insts || c.match.names != names {
		e.selectSome(s, c, a.Insts, names)
	}
	c.v.Insts = c.match.insts
	if a.Type.Numeric() {
		c.bits = gather(c.bits, a.Bits, c.match.at)
		c.v.Bits = c.bits
		return
	}
	c.blobs = gather(c.blobs, a.Blobs, c.match.at)
	c.v.Blobs = c.blobs
}

// selectSome makes c.match the outcome of a pattern.
func (e *Evaluation) selectSome(s *step, c *cell, from *InstSet, names *NameTable) {
	re := e.set.program.patterns[s.table]
	c.ids = c.ids[:0]
	c.match = match{from: from, names: names, at: c.match.at[:0]}
	for i, id := range from.ids {
		name, ok := names.Name(id)
		if !ok {
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		if re.MatchString(name) != s.negate {
			c.match.at = append(c.match.at, int32(i))
			c.ids = append(c.ids, id)
		}
	}
	c.match.insts = c.instances()
}

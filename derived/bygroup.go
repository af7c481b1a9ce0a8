package derived

import (
	"cmp"

	"pmdaderived/pdu"
)

// names is what is known of the names of a domain, which may be one of groups.
func (e *Evaluation) names(d pdu.InDom, age uint8) *NameTable {
	if _, ours := e.set.groupDomains[d]; ours {
		return e.numbering().Table(d)
	}
	return e.history[age].Names(d)
}

// numbering is what numbers the groups.
func (e *Evaluation) numbering() *Groups {
	if e.groups == nil {
		e.groups = NewGroups()
	}
	return e.groups
}

// grouping is how a step groups instances. A code says why it cannot be known.
func (e *Evaluation) grouping(s *step, c *cell, from *InstSet) (*grouping, pdu.Code) {
	d := pdu.InDom(s.id)
	k := keys{from: from, kind: s.key}
	switch of := e.set.groupDomains[d].Of; s.key {
	case keyPattern:
		k.re, k.names = e.set.program.patterns[s.b], e.names(of, s.age)
		k.source = k.re.String()
	case keyLabel:
		k.source, k.names = e.set.program.texts[s.b], e.names(of, s.age)
	default:
		if k.values = e.step(s.b); k.values.Code < 0 {
			return nil, k.values.Code
		}
	}
	k.stays = s.key == keyMetric && e.steps[s.b].op == opOperand
	m := c.more()
	m.grouping = e.numbering().grouping(d, m.grouping, &k)
	return m.grouping, 0
}

// group computes an aggregate for each group. What has no values, or an error, has no members that could be counted.
func (e *Evaluation) group(i int32, s *step, c *cell) {
	a := e.step(s.a)
	f := &loops[s.syntax]
	switch {
	case a.Code < 0 && f.step == opCount, a.Code >= 0 && a.Len() == 0:
		return
	case a.Code < 0:
		c.v.Code = a.Code
		return
	}
	g, code := e.grouping(s, c, a.Insts)
	if code < 0 {
		c.v.Code = code
		return
	}
	if g.groups.Len() == 0 {
		return
	}
	out := e.numbers(i, c, g.groups.Len())
	c.v.Insts = g.groups
	if f.step == opCount {
		for k := range out {
			out[k] = uint64(g.bounds[k+1] - g.bounds[k])
		}
		return
	}
	members := e.registers.take(len(g.order))
	gather(members, a.Bits, g.order)
	for k := range out {
		out[k] = f.reduce(s.from, members[g.bounds[k]:g.bounds[k+1]], e.number(s))
	}
	e.registers.put(members)
}

// spread gives each instance of a set the value of its group.
func (e *Evaluation) spread(i int32, s *step, c *cell) {
	a, over := e.step(s.a), e.step(s.c)
	c.v.Code = min(0, cmp.Or(min(0, a.Code), over.Code))
	if c.v.Code < 0 || a.Insts == nil || over.Insts == nil {
		return
	}
	m := c.more()
	before := m.grouping
	g, code := e.grouping(s, c, over.Insts)
	if code < 0 {
		c.v.Code = code
		return
	}
	if m.join == nil || g != before || !m.join.isWith(a.Insts) {
		m.join = g.spread(a.Insts)
	}
	c.v.Insts = m.join.insts
	if m.join.insts != over.Insts {
		c.v.Insts = c.steady(m.join.insts)
	}
	gather(e.numbers(i, c, len(m.join.right.at)), a.Bits, m.join.right.at)
}

// rename makes groups of another domain those of the same names in this one.
func (e *Evaluation) rename(i int32, s *step, c *cell) {
	a := e.step(s.a)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
		return
	case a.Insts == nil:
		return
	}
	m := c.more()
	groups := e.numbering()
	m.grouping, m.match.at = groups.renamed(pdu.InDom(s.id), m.grouping, groups.Table(pdu.InDom(uint32(s.b))), a.Insts, m.match.at)
	c.v.Insts = m.grouping.groups
	gather(e.numbers(i, c, len(m.match.at)), a.Bits, m.match.at)
}

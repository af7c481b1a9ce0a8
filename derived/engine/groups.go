package engine

import (
	"cmp"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// nameTable returns the names of a domain, which may be one of groups.
func (e *Evaluation) nameTable(d pdu.InDom, age uint8) *column.NameTable {
	if _, ours := e.set.groupDomains[d]; ours {
		return e.groupNumbers().Table(d)
	}
	return e.history[age].Names(d)
}

// groupNumbers returns the Groups that number the groups of e.
func (e *Evaluation) groupNumbers() *group.Groups {
	if e.groups == nil {
		e.groups = group.NewGroups()
	}
	return e.groups
}

// keyCode returns the error of the key of a step for some instances, 0 for none.
func (e *Evaluation) keyCode(s *step, of *column.InstSet) pdu.Code {
	switch s.key {
	case group.KeyMetric:
		return min(0, e.step(s.second).Code)
	case 0:
		return 0
	}
	if of.IDs() == nil {
		return 0
	}
	names := e.nameTable(e.set.groupDomains[s.domain].Of, s.age)
	if code := names.NameCode(of); code < 0 || s.key == group.KeyPattern {
		return code
	}
	return names.LabelCode(e.set.program.text(s))
}

// grouping returns the groups of the instances in from, by the key of a step, which has no error.
func (e *Evaluation) grouping(s *step, c *cell, from *column.InstSet) *group.Grouping {
	d := s.domain
	k := group.Keys{From: from, Key: group.Key{Kind: s.key}}
	switch of := e.set.groupDomains[d].Of; s.key {
	case group.KeyPattern:
		k.Pattern, k.Names = e.set.program.pattern(s), e.nameTable(of, s.age)
		k.Source = k.Pattern.String()
	case group.KeyLabel:
		k.Source, k.Names = e.set.program.text(s), e.nameTable(of, s.age)
	default:
		k.Values = e.step(s.second)
	}
	k.FromSample = s.key == group.KeyMetric && e.steps[s.second].op == opOperand
	m := c.memory()
	m.grouping = e.groupNumbers().Grouping(d, m.grouping, &k)
	return m.grouping
}

// aggregateGroups computes an aggregate for each group. Without values there are no groups, and count() of an error has
// none either.
func (e *Evaluation) aggregateGroups(s *step, c *cell) {
	f := &functions[s.function()]
	if f.step == opBuckets {
		e.buckets(s, c)
		return
	}
	a := e.step(s.first)
	if f.step != opCount {
		c.v.Code = min(0, a.Code)
	}
	if c.v.Code = cmp.Or(c.v.Code, e.keyCode(s, a.Insts)); c.v.Code < 0 || a.Len() == 0 {
		return
	}
	g := e.grouping(s, c, a.Insts)
	if g.Insts.Len() == 0 {
		return
	}
	out := c.makeNumbers(g.Insts.Len())
	c.v.Insts = g.Insts
	if f.step == opCount {
		for k := range out {
			out[k] = uint64(g.Bounds[k+1] - g.Bounds[k])
		}
		return
	}
	members := e.wholeColumn(len(g.Order))
	column.Gather(members, a.Bits, g.Order)
	for k := range out {
		out[k] = f.reduce(s.from, members[g.Bounds[k]:g.Bounds[k+1]], e.number(s))
	}
}

// spreadGroups gives each instance of the third operand the value of its group in the first one.
func (e *Evaluation) spreadGroups(s *step, c *cell) {
	a, over := e.step(s.first), e.step(s.third)
	c.v.Code = cmp.Or(min(0, a.Code), min(0, over.Code))
	if c.v.Code < 0 || a.Insts == nil || over.Insts == nil {
		return
	}
	if c.v.Code = e.keyCode(s, over.Insts); c.v.Code < 0 {
		return
	}
	m := c.memory()
	before := m.grouping
	g := e.grouping(s, c, over.Insts)
	if m.join == nil || g != before || !m.join.IsWith(a.Insts) {
		m.join = g.Spread(a.Insts)
	}
	c.v.Insts = m.join.Insts
	if m.join.Insts != over.Insts {
		c.v.Insts = c.sameSet(m.join.Insts)
	}
	column.Gather(c.makeNumbers(len(m.join.Right.At)), a.Bits, m.join.Right.At)
}

// renameGroups replaces groups of another domain by those with the same names in the step's domain.
func (e *Evaluation) renameGroups(s *step, c *cell) {
	a := e.step(s.first)
	switch {
	case a.Code < 0:
		c.v.Code = a.Code
		return
	case a.Insts == nil:
		return
	}
	m := c.memory()
	groups := e.groupNumbers()
	m.grouping, m.match.at = groups.Renamed(s.domain, m.grouping, groups.Table(s.operandDomain()), a.Insts, m.match.at)
	c.v.Insts = m.grouping.Insts
	column.Gather(c.makeNumbers(len(m.match.at)), a.Bits, m.match.at)
}

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

// keyCode returns the error of keys of some instances, 0 for none.
func (e *Evaluation) keyCode(keys int32, of *column.InstSet) pdu.Code {
	if keys < 0 {
		return 0
	}
	code := e.step(keys).Code // of a metric
	for ; keys >= 0 && code == 0; keys = e.steps[keys].second {
		code = e.sourceCode(e.keySource(keys), of)
	}
	return code
}

// keySource returns the step of an opKey that has the source of keys: it may look them up in another one.
func (e *Evaluation) keySource(key int32) *step {
	if s := &e.steps[key]; s.key == group.KeyLookup {
		return &e.steps[s.entry]
	}
	return &e.steps[key]
}

// sourceCode returns the error of the names or labels of some instances, from which an opKey takes keys, 0 for none.
func (e *Evaluation) sourceCode(s *step, of *column.InstSet) pdu.Code {
	if of.IDs() == nil || s.key != group.KeyPattern && s.key != group.KeyLabel && s.key != group.KeyName {
		return 0
	}
	names := e.nameTable(s.domain, s.age)
	code := names.NameCode(of)
	if code == 0 && s.key == group.KeyLabel {
		code = names.LabelCode(e.set.program.text(s))
	}
	return code
}

// keyError sets the error of keys: of the metrics that they are, or of what they are looked up in.
func (e *Evaluation) keyError(s *step, c *cell) {
	s.takes(func(k int32) { c.v.Code = cmp.Or(c.v.Code, min(0, e.step(k).Code)) })
	if s.key == group.KeyLookup && c.v.Code == 0 {
		c.v.Code = e.sourceCode(&e.steps[e.steps[s.entry].second], e.step(s.first).Insts)
	}
}

// grouping returns the groups of the instances in from by keys, which have no error. m is the memory of the step that
// needs them, and known its last result.
func (e *Evaluation) grouping(keys int32, m *cellMemory, known *group.Grouping, from *column.InstSet) *group.Grouping {
	d := e.steps[keys].groupDomain()
	k := group.Keys{From: from, Keys: m.keys[:0]}
	for ; keys >= 0; keys = e.steps[keys].second {
		k.Keys = append(k.Keys, e.key(keys))
	}
	m.keys = k.Keys
	return e.groupNumbers().Grouping(d, known, &k)
}

// key returns where the keys of a step come from. Its pointers are valid until the next call.
func (e *Evaluation) key(at int32) group.Key {
	s := &e.steps[at]
	k := group.Key{Kind: s.key, Bound: s.bound()}
	switch s.key {
	case group.KeyPattern:
		k.Pattern = e.set.program.pattern(s)
		k.Source = k.Pattern.String()
	case group.KeyLabel:
		k.Source = e.set.program.text(s)
	case group.KeyGroup:
		k.At, k.Count = s.place()
	case group.KeyMetric:
		k.Values, k.FromSample = e.step(s.first), e.steps[s.first].op == opOperand
		return k
	case group.KeyLookup:
		v, m := e.step(s.first), e.results[at].cell.memory()
		if m.lookup == nil {
			m.lookup = &group.Lookup{}
		}
		*m.lookup = group.Lookup{From: e.key(s.entry), Insts: v.Insts, By: e.key(e.steps[s.entry].second)}
		m.lookup.Values = group.Key{Kind: group.KeyMetric, Values: v, FromSample: e.steps[s.first].op == opOperand}
		k.Lookup = m.lookup
		return k
	case group.KeyName:
	}
	k.Names = e.nameTable(s.domain, s.age)
	return k
}

// Missed counts for each key of m, which is an aggregate with by (KEY) and was computed without error, the instances for
// which a look-up finds none. Nil: there are no groups.
func (e *Evaluation) Missed(m *Metric) []group.Missed {
	if c := e.results[m.root].cell; c != nil && c.cellMemory != nil && c.grouping != nil {
		return c.grouping.Missed()
	}
	return nil
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
	if c.v.Code = cmp.Or(c.v.Code, e.keyCode(s.second, a.Insts)); c.v.Code < 0 || a.Len() == 0 {
		return
	}
	m := c.memory()
	m.grouping = e.grouping(s.second, m, m.grouping, a.Insts)
	g := m.grouping
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
	if c.v.Code = e.keyCode(s.second, over.Insts); c.v.Code < 0 {
		return
	}
	m := c.memory()
	g := e.grouping(s.second, m, m.grouping, over.Insts)
	if m.join == nil || g != m.grouping || !m.join.IsWith(a.Insts) {
		m.grouping, m.join = g, g.Spread(a.Insts)
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

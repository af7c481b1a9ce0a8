package derived

import (
	"cmp"
	"slices"

	"pmdaderived/derived/pattern"
	"pmdaderived/pdu"
)

// keyKind is where the keys of instances come from.
type keyKind uint8

const (
	keyNone    keyKind = iota
	keyPattern         // a part of the instance's name
	keyMetric          // its value of a metric
	keyLabel           // its value of a label
)

// grouping says in which groups the instances of a set are. It holds as long as instances and keys are the same: what is
// compared for that is the set of instances, their table of names, or the values of the metric. Immutable, but for what its
// domain notes.
type grouping struct {
	in     *groupNames
	gone   uint32 // times that groups of the domain had been forgotten
	used   int64  // s
	recent bool   // the domain remembers it

	from   *InstSet
	kind   keyKind
	source string // the pattern, or the name of the label

	names    *NameTable // of a pattern or a label
	external []string   // the names or labels of the instances of from in it

	keyed *InstSet // of a metric: the instances that it had values for
	bits  []uint64 // these values, numbers
	texts []byte   // or strings, one behind the other
	ends  []int32  // where each of them ends
	blobs [][]byte // the same, as a sample has them that does not change; nil: it may

	list   []*group // by name
	groups *InstSet // their numbers, in this order
	of     []int32  // of each instance of from: its place among the groups; -1: it has no key
	order  []int32  // places of instances, those of one group side by side
	bounds []int32  // of group k they are order[bounds[k]:bounds[k+1]]
}

// keys is what a grouping is to be made from.
type keys struct {
	from   *InstSet
	kind   keyKind
	source string
	re     *pattern.Regexp // the pattern
	names  *NameTable      // of a pattern or a label
	values *Vector         // of a metric
	stays  bool            // the values are those of a sample, which does not change
}

// holds reports whether g is the grouping for some keys. The pattern is known to be the same.
func (g *grouping) holds(k *keys) bool {
	if g.from != k.from || g.kind != k.kind || g.gone != g.in.gone {
		return false
	}
	if k.kind != keyMetric {
		return g.names == k.names
	}
	v := k.values
	switch {
	case g.keyed != v.Insts:
		return false
	case v.Type.Numeric():
		return slices.Equal(g.bits, v.Bits)
	case len(g.ends) != len(v.Blobs):
		return false
	case len(g.blobs) > 0 && &g.blobs[0] == &v.Blobs[0]:
		return true
	}
	start := int32(0)
	for i, end := range g.ends {
		if string(v.Blobs[i]) != string(g.texts[start:end]) {
			return false
		}
		start = end
	}
	if k.stays {
		g.blobs = v.Blobs
	}
	return true
}

// grouping returns the grouping for some keys in a domain of groups.
func (g *Groups) grouping(d pdu.InDom, k *keys) *grouping {
	n := g.domain(d)
	for _, known := range n.recent {
		if known.source == k.source && known.holds(k) {
			return known
		}
	}
	return n.group(k)
}

// group makes a grouping.
func (n *groupNames) group(k *keys) *grouping {
	g := &grouping{in: n, from: k.from, kind: k.kind, source: k.source, names: k.names, of: make([]int32, k.from.Len())}
	members := make([]*group, len(g.of)) // the group of each
	if k.kind == keyMetric {
		n.look(g, k, members)
	} else {
		n.match(g, k, members)
	}
	n.rounds++
	for _, one := range members {
		if one != nil && one.round != n.rounds {
			one.round, one.seen = n.rounds, n.all.now
			g.list = append(g.list, one)
		}
	}
	slices.SortFunc(g.list, byGroupName)
	for i, one := range g.list {
		one.place = int32(i)
	}
	g.arrange(members)
	g.groups, g.gone = n.numbers(g.list), n.gone
	return g
}

// external is the text about an instance that its key comes from.
func (k *keys) external(id pdu.Inst) (string, bool) {
	if k.kind == keyLabel {
		return k.names.Label(k.source, id)
	}
	return k.names.Name(id)
}

// match finds the groups of instances by their names or labels. Who has the one that it had is where it was.
func (n *groupNames) match(g *grouping, k *keys, members []*group) {
	g.external = make([]string, len(members))
	var before *grouping
	var was []int // where each instance was before; -1: nowhere
	i := slices.IndexFunc(n.recent, func(old *grouping) bool { return old.kind == k.kind && old.source == k.source && old.gone == n.gone })
	if i >= 0 {
		before, was = n.recent[i], within(k.from, n.recent[i].from)
	}
	for i, id := range k.from.ids {
		name, ok := k.external(id)
		if !ok {
			continue
		}
		g.external[i] = name
		if before != nil && was[i] >= 0 && before.external[was[i]] == name && before.gone == n.gone {
			if members[i] = before.member(was[i]); members[i] != nil {
				n.met(members[i])
			}
			continue
		}
		if k.kind == keyPattern {
			name = k.re.Find(name)
		}
		members[i] = n.keyed(name)
	}
}

// within is where the instances of a set are in another one; -1: they are not.
func within(s, other *InstSet) []int {
	at := slices.Repeat([]int{-1}, len(s.ids))
	j := s.with(other)
	for p := range j.insts.ids {
		at[j.left.place(p)] = j.right.place(p)
	}
	return at
}

// member is the group of an instance, nil if it is in none.
func (g *grouping) member(at int) *group {
	if place := g.of[at]; place >= 0 {
		return g.list[place]
	}
	return nil
}

// look finds the groups of instances by the values of a metric.
func (n *groupNames) look(g *grouping, k *keys, members []*group) {
	v := k.values
	g.keyed = v.Insts
	numeric := v.Type.Numeric()
	if numeric {
		g.bits = slices.Clone(v.Bits)
	} else {
		if k.stays {
			g.blobs = v.Blobs
		}
		for _, blob := range v.Blobs {
			g.texts = append(g.texts, blob...)
			g.ends = append(g.ends, int32(len(g.texts)))
		}
	}
	if v.Insts == nil {
		return // no values
	}
	next := 0
	for i, id := range g.from.ids {
		at := v.Insts.near(id, next)
		if at < 0 {
			continue
		}
		next = at + 1
		if numeric {
			members[i] = n.keyed(FormatNumber(v.Type, v.Bits[at]))
		} else if known := n.byName[string(v.Blobs[at])]; known != nil { // takes no memory
			members[i] = n.met(known)
		} else {
			members[i] = n.keyed(string(v.Blobs[at]))
		}
	}
}

// arrange puts the instances of each group side by side.
func (g *grouping) arrange(members []*group) {
	g.bounds = make([]int32, len(g.list)+1)
	for i, one := range members {
		g.of[i] = -1
		if one != nil {
			g.of[i] = one.place
			g.bounds[one.place+1]++
		}
	}
	for k := range g.list {
		g.bounds[k+1] += g.bounds[k]
	}
	g.order = make([]int32, g.bounds[len(g.list)])
	next := slices.Clone(g.bounds)
	for i, place := range g.of {
		if place >= 0 {
			g.order[next[place]] = int32(i)
			next[place]++
		}
	}
}

// numbers is the set of some groups, that of a grouping before if it is the same: whoever takes values over it sees that nothing has changed.
func (n *groupNames) numbers(list []*group) *InstSet {
	for _, old := range n.recent {
		if slices.Equal(old.list, list) {
			return old.groups
		}
	}
	ids := make([]pdu.Inst, len(list))
	for i, one := range list {
		ids[i] = one.inst
	}
	return NewInstSet(ids)
}

// spread says where the instances of g's set, those that have a group with a value, have it in a column over groups.
func (g *grouping) spread(groups *InstSet) *join {
	j := &join{other: groups.token(), insts: g.from}
	ids := make([]pdu.Inst, 0, len(g.of))
	for i, place := range g.of {
		if place < 0 {
			continue
		}
		at := int(place)
		if groups != g.groups {
			if at = groups.near(g.groups.ids[place], at); at < 0 {
				continue
			}
		}
		j.right.at, ids = append(j.right.at, int32(at)), append(ids, g.from.ids[i])
	}
	if len(ids) < g.from.Len() {
		j.insts = NewInstSet(ids)
	}
	return j
}

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
	groups := e.numbering()
	if m.grouping == nil || m.grouping.in.all != groups || !m.grouping.holds(&k) {
		m.grouping = groups.grouping(d, &k)
	}
	m.grouping.use()
	return m.grouping, 0
}

// group computes an aggregate for each group. What has no values, or an error, has no members that could be counted.
func (e *Evaluation) group(i int32, s *step, c *cell) {
	a := e.step(s.a)
	f := &builtins[s.syntax]
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
	if len(g.list) == 0 {
		return
	}
	out := e.numbers(i, c, len(g.list))
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
	if m.join == nil || g != before || m.join.other != a.Insts.token() {
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
	ours := e.numbering().domain(pdu.InDom(s.id))
	if g := m.grouping; g == nil || g.in != ours || g.from != a.Insts || g.gone != ours.gone {
		m.grouping, m.match.at = ours.renamed(e.numbering().Table(pdu.InDom(uint32(s.b))), a.Insts, m.match.at[:0])
	}
	m.grouping.use()
	c.v.Insts = m.grouping.groups
	gather(e.numbers(i, c, len(m.match.at)), a.Bits, m.match.at)
}

// renamed is the groups that have the names of some of other numbers, and where those are in their set. It keeps what a
// grouping does, but for who is in which group.
func (n *groupNames) renamed(names *NameTable, from *InstSet, at []int32) (*grouping, []int32) {
	g := &grouping{in: n, from: from}
	for i, id := range from.ids {
		if name, ok := names.Name(id); ok {
			one := n.named(name)
			one.place = int32(i)
			g.list = append(g.list, one)
		}
	}
	slices.SortFunc(g.list, byGroupName)
	for _, one := range g.list {
		at = append(at, one.place)
	}
	g.groups, g.gone = n.numbers(g.list), n.gone
	return g, at
}

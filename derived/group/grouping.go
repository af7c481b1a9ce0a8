package group

import (
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/pattern"
	"pmdaderived/pdu"
)

// KeyKind is where the keys of instances come from.
type KeyKind uint8

const (
	KeyNone    KeyKind = iota
	KeyPattern         // a part of the instance's name
	KeyMetric          // its value of a metric
	KeyLabel           // its value of a label
)

// Grouping says in which groups the instances of a set are. It holds as long as instances and keys are the same: what is
// compared for that is the set of instances, their table of names, or the values of the metric. Immutable, but for what its
// domain notes.
type Grouping struct {
	in     *groupNames
	gone   uint32 // times that groups of the domain had been forgotten
	used   int64  // s
	recent bool   // the domain remembers it

	from   *column.InstSet
	kind   KeyKind
	source string // the pattern, or the name of the label

	names    *column.NameTable // of a pattern or a label
	external []string          // the names or labels of the instances of from in it

	keyed *column.InstSet // of a metric: the instances that it had values for
	bits  []uint64        // these values, numbers
	texts []byte          // or strings, one behind the other
	ends  []int32         // where each of them ends
	blobs [][]byte        // the same, as a sample has them that does not change; nil: it may

	list   []*group        // by name
	Insts  *column.InstSet // their numbers, in this order
	of     []int32         // of each instance of from: its place among the groups; -1: it has no key
	Order  []int32         // places of instances, those of one group side by side
	Bounds []int32         // of group k they are order[bounds[k]:bounds[k+1]]
}

// Keys is what a grouping is to be made from.
type Keys struct {
	From    *column.InstSet
	Kind    KeyKind
	Source  string
	Pattern *pattern.Regexp   // the pattern
	Names   *column.NameTable // of a pattern or a label
	Values  *column.Vector    // of a metric
	Stays   bool              // the values are those of a sample, which does not change
}

// holds reports whether g is the grouping for some keys. The pattern is known to be the same.
func (g *Grouping) holds(k *Keys) bool {
	if g.from != k.From || g.kind != k.Kind || g.gone != g.in.gone {
		return false
	}
	if k.Kind != KeyMetric {
		return g.names == k.Names
	}
	v := k.Values
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
	if k.Stays {
		g.blobs = v.Blobs
	}
	return true
}

// Grouping returns the grouping for some keys in a domain of groups: known, if that still holds, one that another step had, or a
// new one. It notes that its groups are used.
func (g *Groups) Grouping(d pdu.InDom, known *Grouping, k *Keys) *Grouping {
	if known == nil || known.in.all != g || !known.holds(k) {
		known = g.domain(d).grouping(k)
	}
	known.use()
	return known
}

// grouping returns one that is remembered, or a new one.
func (n *groupNames) grouping(k *Keys) *Grouping {
	for _, known := range n.recent {
		if known.source == k.Source && known.holds(k) {
			return known
		}
	}
	return n.group(k)
}

// group makes a grouping.
func (n *groupNames) group(k *Keys) *Grouping {
	g := &Grouping{in: n, from: k.From, kind: k.Kind, source: k.Source, names: k.Names, of: make([]int32, k.From.Len())}
	members := make([]*group, len(g.of)) // the group of each
	if k.Kind == KeyMetric {
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
	g.Insts, g.gone = n.numbers(g.list), n.gone
	return g
}

// external is the text about an instance that its key comes from.
func (k *Keys) external(id pdu.Inst) (string, bool) {
	if k.Kind == KeyLabel {
		return k.Names.Label(k.Source, id)
	}
	return k.Names.Name(id)
}

// match finds the groups of instances by their names or labels. Who has the one that it had is where it was.
func (n *groupNames) match(g *Grouping, k *Keys, members []*group) {
	g.external = make([]string, len(members))
	var before *Grouping
	var was []int // where each instance was before; -1: nowhere
	i := slices.IndexFunc(n.recent, func(old *Grouping) bool { return old.kind == k.Kind && old.source == k.Source && old.gone == n.gone })
	if i >= 0 {
		before, was = n.recent[i], within(k.From, n.recent[i].from)
	}
	for i, id := range k.From.IDs() {
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
		if k.Kind == KeyPattern {
			name = k.Pattern.Find(name)
		}
		members[i] = n.keyed(name)
	}
}

// within is where the instances of a set are in another one; -1: they are not.
func within(s, other *column.InstSet) []int {
	at := slices.Repeat([]int{-1}, s.Len())
	j := s.Join(other)
	for p := range j.Insts.IDs() {
		at[j.Left.Place(p)] = j.Right.Place(p)
	}
	return at
}

// member is the group of an instance, nil if it is in none.
func (g *Grouping) member(at int) *group {
	if place := g.of[at]; place >= 0 {
		return g.list[place]
	}
	return nil
}

// look finds the groups of instances by the values of a metric.
func (n *groupNames) look(g *Grouping, k *Keys, members []*group) {
	v := k.Values
	g.keyed = v.Insts
	numeric := v.Type.Numeric()
	if numeric {
		g.bits = slices.Clone(v.Bits)
	} else {
		if k.Stays {
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
	for i, id := range g.from.IDs() {
		at := v.Insts.Near(id, next)
		if at < 0 {
			continue
		}
		next = at + 1
		if numeric {
			members[i] = n.keyed(column.FormatNumber(v.Type, v.Bits[at]))
		} else if known := n.byName[string(v.Blobs[at])]; known != nil { // takes no memory
			members[i] = n.met(known)
		} else {
			members[i] = n.keyed(string(v.Blobs[at]))
		}
	}
}

// arrange puts the instances of each group side by side.
func (g *Grouping) arrange(members []*group) {
	g.Bounds = make([]int32, len(g.list)+1)
	for i, one := range members {
		g.of[i] = -1
		if one != nil {
			g.of[i] = one.place
			g.Bounds[one.place+1]++
		}
	}
	for k := range g.list {
		g.Bounds[k+1] += g.Bounds[k]
	}
	g.Order = make([]int32, g.Bounds[len(g.list)])
	next := slices.Clone(g.Bounds)
	for i, place := range g.of {
		if place >= 0 {
			g.Order[next[place]] = int32(i)
			next[place]++
		}
	}
}

// numbers is the set of some groups, that of a grouping before if it is the same: whoever takes values over it sees that nothing has changed.
func (n *groupNames) numbers(list []*group) *column.InstSet {
	for _, old := range n.recent {
		if slices.Equal(old.list, list) {
			return old.Insts
		}
	}
	ids := make([]pdu.Inst, len(list))
	for i, one := range list {
		ids[i] = one.inst
	}
	return column.NewInstSet(ids)
}

// Spread says where the instances of g's set, those that have a group with a value, have it in a column over groups.
func (g *Grouping) Spread(groups *column.InstSet) *column.Join {
	var at []int32 // in the column, of each of ids
	ids := make([]pdu.Inst, 0, len(g.of))
	for i, place := range g.of {
		if place < 0 {
			continue
		}
		p := int(place)
		if groups != g.Insts {
			if p = groups.Near(g.Insts.IDs()[place], p); p < 0 {
				continue
			}
		}
		at, ids = append(at, int32(p)), append(ids, g.from.IDs()[i])
	}
	insts := g.from
	if len(ids) < insts.Len() {
		insts = column.NewInstSet(ids)
	}
	return column.NewJoin(insts, groups, at)
}

// Renamed returns the groups of domain d that have the names of some other numbers, and where those are in their set: known and
// at if they still hold, else new ones, in the memory of at. It notes that the groups are used.
func (g *Groups) Renamed(d pdu.InDom, known *Grouping, names *column.NameTable, from *column.InstSet, at []int32) (*Grouping, []int32) {
	n := g.domain(d)
	if known == nil || known.in != n || known.from != from || known.gone != n.gone {
		known, at = n.renamed(names, from, at[:0])
	}
	known.use()
	return known, at
}

// renamed is the groups that have the names of some of other numbers, and where those are in their set. It keeps what a
// grouping does, but for who is in which group.
func (n *groupNames) renamed(names *column.NameTable, from *column.InstSet, at []int32) (*Grouping, []int32) {
	g := &Grouping{in: n, from: from}
	for i, id := range from.IDs() {
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
	g.Insts, g.gone = n.numbers(g.list), n.gone
	return g, at
}

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
	domain    *domainGroups
	forgotten uint32 // times that groups of the domain had been forgotten
	used      int64  // s
	recent    bool   // the domain remembers it

	from   *column.InstSet
	kind   KeyKind
	source string // the pattern, or the name of the label

	names      *column.NameTable // of a pattern or a label
	keySources []string          // the names or labels of the instances of from in it

	keyInsts *column.InstSet // of a metric: the instances that it had values for
	keyBits  []uint64        // these values, numbers
	keyTexts []byte          // or strings, one behind the other
	keyEnds  []int32         // where each of them ends
	keyBlobs [][]byte        // the same, as a sample has them that does not change; nil: it may

	groups  []*group        // by name
	Insts   *column.InstSet // their numbers, in this order
	indexes []int32         // of each instance of from: its place among the groups; -1: it has no key
	Order   []int32         // places of instances, those of one group side by side
	Bounds  []int32         // of group k they are order[bounds[k]:bounds[k+1]]
}

// Keys is what a grouping is to be made from.
type Keys struct {
	From       *column.InstSet
	Kind       KeyKind
	Source     string
	Pattern    *pattern.Regexp   // the pattern
	Names      *column.NameTable // of a pattern or a label
	Values     *column.Vector    // of a metric
	FromSample bool              // the values are those of a sample, which does not change
}

// holds reports whether g is the grouping for some keys. The pattern is known to be the same.
func (g *Grouping) holds(k *Keys) bool {
	if g.from != k.From || g.kind != k.Kind || g.forgotten != g.domain.forgotten {
		return false
	}
	if k.Kind != KeyMetric {
		return g.names == k.Names
	}
	v := k.Values
	switch {
	case g.keyInsts != v.Insts:
		return false
	case v.Type.Numeric():
		return slices.Equal(g.keyBits, v.Bits)
	case len(g.keyEnds) != len(v.Blobs):
		return false
	case len(g.keyBlobs) > 0 && &g.keyBlobs[0] == &v.Blobs[0]:
		return true
	}
	start := int32(0)
	for i, end := range g.keyEnds {
		if string(v.Blobs[i]) != string(g.keyTexts[start:end]) {
			return false
		}
		start = end
	}
	if k.FromSample {
		g.keyBlobs = v.Blobs
	}
	return true
}

// Grouping returns the grouping for some keys in a domain of groups: known, if that still holds, one that another step had, or a
// new one. It notes that its groups are used.
func (g *Groups) Grouping(d pdu.InDom, known *Grouping, k *Keys) *Grouping {
	if known == nil || known.domain.all != g || !known.holds(k) {
		known = g.domainGroups(d).findGrouping(k)
	}
	known.markUsed()
	return known
}

// findGrouping returns one that is remembered, or a new one.
func (n *domainGroups) findGrouping(k *Keys) *Grouping {
	for _, known := range n.recent {
		if known.source == k.Source && known.holds(k) {
			return known
		}
	}
	return n.newGrouping(k)
}

// newGrouping makes a grouping.
func (n *domainGroups) newGrouping(k *Keys) *Grouping {
	g := &Grouping{domain: n, from: k.From, kind: k.Kind, source: k.Source, names: k.Names, indexes: make([]int32, k.From.Len())}
	members := make([]*group, len(g.indexes)) // the group of each
	if k.Kind == KeyMetric {
		n.groupByMetric(g, k, members)
	} else {
		n.groupByText(g, k, members)
	}
	n.rounds++
	for _, one := range members {
		if one != nil && one.round != n.rounds {
			one.round, one.seen = n.rounds, n.all.now
			g.groups = append(g.groups, one)
		}
	}
	slices.SortFunc(g.groups, byGroupName)
	for i, one := range g.groups {
		one.index = int32(i)
	}
	g.sortMembers(members)
	g.Insts, g.forgotten = n.instSet(g.groups), n.forgotten
	return g
}

// text is the text about an instance that its key comes from.
func (k *Keys) text(id pdu.Inst) (string, bool) {
	if k.Kind == KeyLabel {
		return k.Names.Label(k.Source, id)
	}
	return k.Names.Name(id)
}

// groupByText finds the groups of instances by their names or labels. Who has the one that it had is where it was.
func (n *domainGroups) groupByText(g *Grouping, k *Keys, members []*group) {
	g.keySources = make([]string, len(members))
	var before *Grouping
	var was []int // where each instance was before; -1: nowhere
	i := slices.IndexFunc(n.recent, func(old *Grouping) bool {
		return old.kind == k.Kind && old.source == k.Source && old.forgotten == n.forgotten
	})
	if i >= 0 {
		before, was = n.recent[i], positionsIn(k.From, n.recent[i].from)
	}
	for i, id := range k.From.IDs() {
		name, ok := k.text(id)
		if !ok {
			continue
		}
		g.keySources[i] = name
		if before != nil && was[i] >= 0 && before.keySources[was[i]] == name && before.forgotten == n.forgotten {
			if members[i] = before.groupOf(was[i]); members[i] != nil {
				n.markSeen(members[i])
			}
			continue
		}
		if k.Kind == KeyPattern {
			name = k.Pattern.Find(name)
		}
		members[i] = n.groupOfKey(name)
	}
}

// positionsIn is where the instances of a set are in another one; -1: they are not.
func positionsIn(s, other *column.InstSet) []int {
	at := slices.Repeat([]int{-1}, s.Len())
	j := s.Join(other)
	for p := range j.Insts.IDs() {
		at[j.Left.Place(p)] = j.Right.Place(p)
	}
	return at
}

// groupOf is the group of an instance, nil if it is in none.
func (g *Grouping) groupOf(at int) *group {
	if place := g.indexes[at]; place >= 0 {
		return g.groups[place]
	}
	return nil
}

// groupByMetric finds the groups of instances by the values of a metric.
func (n *domainGroups) groupByMetric(g *Grouping, k *Keys, members []*group) {
	v := k.Values
	g.keyInsts = v.Insts
	numeric := v.Type.Numeric()
	if numeric {
		g.keyBits = slices.Clone(v.Bits)
	} else {
		if k.FromSample {
			g.keyBlobs = v.Blobs
		}
		for _, blob := range v.Blobs {
			g.keyTexts = append(g.keyTexts, blob...)
			g.keyEnds = append(g.keyEnds, int32(len(g.keyTexts)))
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
			members[i] = n.groupOfKey(column.FormatNumber(v.Type, v.Bits[at]))
		} else if known := n.byName[string(v.Blobs[at])]; known != nil { // takes no memory
			members[i] = n.markSeen(known)
		} else {
			members[i] = n.groupOfKey(string(v.Blobs[at]))
		}
	}
}

// sortMembers puts the instances of each group side by side.
func (g *Grouping) sortMembers(members []*group) {
	g.Bounds = make([]int32, len(g.groups)+1)
	for i, one := range members {
		g.indexes[i] = -1
		if one != nil {
			g.indexes[i] = one.index
			g.Bounds[one.index+1]++
		}
	}
	for k := range g.groups {
		g.Bounds[k+1] += g.Bounds[k]
	}
	g.Order = make([]int32, g.Bounds[len(g.groups)])
	next := slices.Clone(g.Bounds)
	for i, place := range g.indexes {
		if place >= 0 {
			g.Order[next[place]] = int32(i)
			next[place]++
		}
	}
}

// instSet is the set of some groups, that of a grouping before if it is the same: whoever takes values over it sees that nothing has changed.
func (n *domainGroups) instSet(list []*group) *column.InstSet {
	for _, old := range n.recent {
		if slices.Equal(old.groups, list) {
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
	ids := make([]pdu.Inst, 0, len(g.indexes))
	for i, place := range g.indexes {
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
	n := g.domainGroups(d)
	if known == nil || known.domain != n || known.from != from || known.forgotten != n.forgotten {
		known, at = n.newRenamed(names, from, at[:0])
	}
	known.markUsed()
	return known, at
}

// newRenamed is the groups that have the names of some of other numbers, and where those are in their set. It keeps what a
// grouping does, but for who is in which group.
func (n *domainGroups) newRenamed(names *column.NameTable, from *column.InstSet, at []int32) (*Grouping, []int32) {
	g := &Grouping{domain: n, from: from}
	for i, id := range from.IDs() {
		if name, ok := names.Name(id); ok {
			one := n.groupNamed(name)
			one.index = int32(i)
			g.groups = append(g.groups, one)
		}
	}
	slices.SortFunc(g.groups, byGroupName)
	for _, one := range g.groups {
		at = append(at, one.index)
	}
	g.Insts, g.forgotten = n.instSet(g.groups), n.forgotten
	return g, at
}

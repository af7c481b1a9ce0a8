package group

import (
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/pattern"
	"pmdaderived/pdu"
)

// KeyKind is the source of keys.
type KeyKind uint8

// The sources of keys.
const (
	KeyNone    KeyKind = iota // there are no keys
	KeyPattern                // a key is a part of the instance's name
	KeyMetric                 // a key is the value of a metric
	KeyLabel                  // a key is the value of a label
)

// Grouping has the groups of the instances of a set. It is valid as long as instances and keys are the same: holds
// compares the set of instances, and their table of names or the values of the metric. Only the fields that its domain
// uses change.
type Grouping struct {
	domain    *domainGroups // of its groups
	forgotten uint32        // domain.forgotten when it was made
	used      int64         // s, the last use
	recent    bool          // the domain remembers it

	from   *column.InstSet // the instances
	kind   KeyKind
	source string // the pattern, or the name of the label

	names      *column.NameTable // of KeyPattern and KeyLabel: the table with the names or labels
	keySources []string          // of each instance of from: its name or label

	keyInsts *column.InstSet // of KeyMetric: the instances of the metric's values
	keyBits  []uint64        // its values, if they are numbers
	keyTexts []byte          // its values, if they are strings, end to end
	keyEnds  []int32         // the end of each string in keyTexts
	keyBlobs [][]byte        // the same strings in the memory of a sample, or nil

	groups  []*group        // of the instances, by name
	Insts   *column.InstSet // the numbers of groups, in this order
	indexes []int32         // of each instance of from: the index of its group; -1: it has no key
	Order   []int32         // positions in from, those of one group side by side
	Bounds  []int32         // group k has the instances at Order[Bounds[k]:Bounds[k+1]]
}

// Keys has the instances to group, and their keys.
type Keys struct {
	From       *column.InstSet
	Kind       KeyKind
	Source     string
	Pattern    *pattern.Regexp   // of KeyPattern
	Names      *column.NameTable // of KeyPattern and KeyLabel: the names or labels of the instances
	Values     *column.Vector    // of KeyMetric: the values of the metric
	FromSample bool              // the memory of Values is a sample's, and does not change
}

// holds reports whether g is the grouping for some keys. The caller has compared the pattern or label.
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

// Grouping returns the grouping for some keys in a domain of groups, and marks its groups as used. known is the last
// grouping of the caller for the same pattern or label, or nil. It is returned if it is still valid.
func (g *Groups) Grouping(d pdu.InDom, known *Grouping, k *Keys) *Grouping {
	if known == nil || known.domain.all != g || !known.holds(k) {
		known = g.domainGroups(d).findGrouping(k)
	}
	known.markUsed()
	return known
}

// findGrouping returns a remembered grouping for some keys, or a new one.
func (n *domainGroups) findGrouping(k *Keys) *Grouping {
	for _, known := range n.recent {
		if known.source == k.Source && known.holds(k) {
			return known
		}
	}
	return n.newGrouping(k)
}

// newGrouping makes a grouping for some keys.
func (n *domainGroups) newGrouping(k *Keys) *Grouping {
	g := &Grouping{domain: n, from: k.From, kind: k.Kind, source: k.Source, names: k.Names}
	g.indexes = make([]int32, k.From.Len())
	members := make([]*group, len(g.indexes)) // the group of each instance; nil: it has no key
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

// text returns the name or label of an instance, from which its key is made.
func (k *Keys) text(id pdu.Inst) (string, bool) {
	if k.Kind == KeyLabel {
		return k.Names.Label(k.Source, id)
	}
	return k.Names.Name(id)
}

// groupByText sets the groups of instances by their names or labels. An instance with the same text as in the last
// grouping is in the same group, which saves matching the pattern.
func (n *domainGroups) groupByText(g *Grouping, k *Keys, members []*group) {
	g.keySources = make([]string, len(members))
	var before *Grouping
	var was []int // the position of each instance in the last grouping; -1: it had none
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

// positionsIn returns the positions of the instances of a set in another one, -1 for those that it lacks.
func positionsIn(s, other *column.InstSet) []int {
	at := slices.Repeat([]int{-1}, s.Len())
	j := s.Join(other)
	for p := range j.Insts.IDs() {
		at[j.Left.Place(p)] = j.Right.Place(p)
	}
	return at
}

// groupOf returns the group of the instance at a position, nil if it is in none.
func (g *Grouping) groupOf(at int) *group {
	if place := g.indexes[at]; place >= 0 {
		return g.groups[place]
	}
	return nil
}

// groupByMetric sets the groups of instances by the values of a metric.
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
		} else if known := n.byName[string(v.Blobs[at])]; known != nil { // this look-up does not allocate
			members[i] = n.markSeen(known)
		} else {
			members[i] = n.groupOfKey(string(v.Blobs[at]))
		}
	}
}

// sortMembers sets the groups' instances: those of a group are side by side in Order.
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

// instSet returns the numbers of groups as a set: that of a remembered grouping if it is the same. Steps that take
// values over it compare pointers to see that nothing has changed.
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

// Spread returns the join of the instances of g with the groups of a column: each instance is paired with the position
// of its group. Instances without a group, or whose group has no value, are left out.
func (g *Grouping) Spread(groups *column.InstSet) *column.Join {
	var at []int32 // the position of the group in the column, for each of ids
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

// Renamed returns the groups of domain d with the same names as the instances of from, and the position in from of
// each. names has the names of these instances. known and at are the caller's last result, or nil. They are returned if
// they are still valid, else the memory of at is reused. The groups are marked as used.
func (g *Groups) Renamed(
	d pdu.InDom, known *Grouping, names *column.NameTable, from *column.InstSet, at []int32,
) (*Grouping, []int32) {
	n := g.domainGroups(d)
	if known == nil || known.domain != n || known.from != from || known.forgotten != n.forgotten {
		known, at = n.newRenamed(names, from, at[:0])
	}
	known.markUsed()
	return known, at
}

// newRenamed makes the result of Renamed. The grouping has no members.
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

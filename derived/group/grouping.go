package group

import (
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// Grouping has the groups of the instances of a set. It is valid as long as instances and keys are the same, see holds.
// Only the fields that its domain uses change.
type Grouping struct {
	domain    *domainGroups // of its groups
	forgotten uint32        // domain.forgotten when it was made
	used      int64         // s, the last use
	recent    bool          // the domain remembers it

	from *column.InstSet // the instances
	keys []*Texts        // their keys; none: it was made by names, see Renamed

	groups  []*group        // of the instances, by name
	Insts   *column.InstSet // the numbers of groups, in this order
	indexes []int32         // of each instance of from: the index of its group; -1: it has no key
	Order   []int32         // positions in from, those of one group side by side
	Bounds  []int32         // group k has the instances at Order[Bounds[k]:Bounds[k+1]]
}

// Keys has the instances to group, and their keys.
type Keys struct {
	From *column.InstSet
	Keys []Key
}

// holds reports whether g is the grouping for some keys.
func (g *Grouping) holds(k *Keys) bool {
	if g.from != k.From || len(g.keys) != len(k.Keys) || g.forgotten != g.domain.forgotten {
		return false
	}
	for i, texts := range g.keys {
		if !texts.holds(k.From, &k.Keys[i]) {
			return false
		}
	}
	return true
}

// similar reports whether g has groups by keys from the same sources.
func (g *Grouping) similar(k *Keys) bool {
	return slices.EqualFunc(g.keys, k.Keys, func(t *Texts, k Key) bool { return t.similar(&k) })
}

// Grouping returns the grouping for some keys in a domain of groups, and marks its groups as used. known is the last
// grouping of the caller, or nil. It is returned if it is still valid.
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
		if known.holds(k) {
			return known
		}
	}
	return n.newGrouping(k)
}

// newGrouping makes a grouping for some keys. An instance with the same keys as in the last grouping is in the same
// group.
func (n *domainGroups) newGrouping(k *Keys) *Grouping {
	g := &Grouping{domain: n, from: k.From, keys: make([]*Texts, len(k.Keys)), indexes: make([]int32, k.From.Len())}
	var before *Grouping
	var was []int // the position of each instance in before; -1: it had none
	for _, old := range n.recent {
		if old.similar(k) && old.forgotten == n.forgotten {
			before, was = old, k.From.PositionsIn(old.from)
			break
		}
	}
	for i := range k.Keys {
		var known *Texts
		if before != nil {
			known = before.keys[i]
		}
		g.keys[i] = k.Keys[i].Texts(k.From, known)
	}
	members := make([]*group, len(g.indexes)) // the group of each instance; nil: it has no key
	for i := range members {
		switch {
		case before == nil || was[i] < 0 || !g.sameKeys(i, before, was[i]) || before.forgotten != n.forgotten:
			members[i] = n.groupOfKeys(g.keys, i)
		default:
			if members[i] = before.groupOf(was[i]); members[i] != nil {
				n.markSeen(members[i])
			}
		}
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

// sameKeys reports whether the instance at a position has the keys of one of another grouping.
func (g *Grouping) sameKeys(at int, other *Grouping, was int) bool {
	for i, texts := range g.keys {
		if texts.Of[at] != other.keys[i].Of[was] {
			return false
		}
	}
	return true
}

// groupOf returns the group of the instance at a position, nil if it is in none.
func (g *Grouping) groupOf(at int) *group {
	if place := g.indexes[at]; place >= 0 {
		return g.groups[place]
	}
	return nil
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

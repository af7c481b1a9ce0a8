package window

import (
	"cmp"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// column has the values of a tick. Immutable.
type column struct {
	tick  int64
	insts *derived.InstSet // of the values: ascending, each once
	bits  []uint64
}

// ordered has a set of instances, and the same in ascending order, each once. Immutable.
type ordered struct {
	from *derived.InstSet // nil: no instances, or one value of a singular operand
	set  *derived.InstSet
	at   []int32 // the positions in from; nil: set is from
}

// order returns a set of instances in order. It is one of the known ones if that has the same set.
func order(from *derived.InstSet, known ...*ordered) *ordered {
	for _, o := range known {
		if o != nil && o.from == from && from != nil {
			return o
		}
	}
	ids := from.IDs()
	o := &ordered{from: from, set: from}
	if isAscending(ids) {
		return o
	}
	o.at = make([]int32, len(ids))
	for i := range o.at {
		o.at[i] = int32(i)
	}
	slices.SortFunc(o.at, func(a, b int32) int { return cmp.Or(cmp.Compare(ids[a], ids[b]), cmp.Compare(a, b)) })
	o.at = slices.CompactFunc(o.at, func(a, b int32) bool { return ids[a] == ids[b] })
	sorted := make([]pdu.Inst, len(o.at))
	for i, at := range o.at {
		sorted[i] = ids[at]
	}
	o.set = derived.NewInstSet(sorted)
	return o
}

// isAscending reports whether no number is as large as the next.
func isAscending(ids []pdu.Inst) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return false
		}
	}
	return true
}

// newColumn makes the column of some values, which are in the order of o.from.
func newColumn(tick int64, o *ordered, bits []uint64) column {
	c := column{tick: tick, insts: o.set, bits: make([]uint64, len(o.set.IDs()))}
	if o.at == nil {
		copy(c.bits, bits)
	}
	for i, at := range o.at {
		c.bits[i] = bits[at]
	}
	return c
}

// allInstances returns the instances of some columns.
func allInstances(of []column) *derived.InstSet {
	var all *derived.InstSet
	for i := range of {
		if set := of[i].insts; set != all && !contains(all.IDs(), set.IDs()) {
			if ids := append(slices.Clone(all.IDs()), set.IDs()...); len(ids) > set.Len() {
				slices.Sort(ids)
				set = derived.NewInstSet(slices.Compact(ids))
			}
			all = set
		}
	}
	return all
}

// contains reports whether all ids are among others. Both are ascending.
func contains(others, ids []pdu.Inst) bool {
	for _, id := range ids {
		for len(others) > 0 && others[0] < id {
			others = others[1:]
		}
		if len(others) == 0 || others[0] != id {
			return false
		}
	}
	return true
}

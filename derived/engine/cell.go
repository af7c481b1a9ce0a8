package engine

import (
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// result has the result of a step.
type result struct {
	v     *column.Vector
	cell  *cell  // of the step; nil: it has never needed one
	round uint32 // of the evaluation in which v was computed
	hint  int32  // of opOperand and opIncrease, for [Sample.Values]
}

// cell is the memory of a step whose result is not the vector of a sample or a window.
type cell struct {
	v           column.Vector
	single      [1]uint64 // the number of a result with one value
	bits        []uint64  // memory for more than one number
	*cellMemory           // nil: not needed yet
}

// cellMemory is the memory of a cell for strings, and for sets and joins that the next evaluation can reuse.
type cellMemory struct {
	blobs   [][]byte
	ids     []pdu.Inst
	join    *column.Join    // the last one of the operands' sets
	joined  *column.InstSet // the first set of join
	lastSet *column.InstSet // the last set that sameSet or collectedSet returned
	match   match

	keys     []group.Key     // memory for those of the step
	lookup   *group.Lookup   // likewise of opKey
	grouping *group.Grouping // the last one
	outer    *group.Grouping // likewise of its groups
	buckets  *buckets        // the last ones
}

// makeNumbers returns room for the n numbers of the result.
func (c *cell) makeNumbers(n int) []uint64 {
	c.v.Bits = c.single[:]
	if n != 1 {
		c.bits = fit(c.bits, n)
		c.v.Bits = c.bits
	}
	return c.v.Bits
}

// memory returns the part of the cell that few steps need.
func (c *cell) memory() *cellMemory {
	if c.cellMemory == nil {
		c.cellMemory = &cellMemory{}
	}
	return c.cellMemory
}

// align restricts x and y, the columns of two vectors, to the instances that both have, in the order of the first. It
// makes these the instances of the result, and returns how many there are.
func (c *cell) align(x, y *source, a, b *column.Vector) (n int) {
	if a.Insts == b.Insts {
		c.v.Insts = a.Insts
		return len(a.Bits)
	}
	if c.memory().joined != a.Insts || c.join == nil || !c.join.IsWith(b.Insts) {
		c.joined, c.join = a.Insts, a.Insts.Join(b.Insts)
	}
	x.Places, y.Places = c.join.Left, c.join.Right
	c.v.Insts = c.join.Insts
	if c.join.Insts != a.Insts {
		c.v.Insts = c.sameSet(c.join.Insts)
	}
	return c.v.Insts.Len()
}

// sameSet returns insts, or the last set of the step if that has the same instances. Steps that take the result compare
// pointers to see that nothing has changed.
func (c *cell) sameSet(insts *column.InstSet) *column.InstSet {
	m := c.memory()
	if m.lastSet != insts && (m.lastSet == nil || !slices.Equal(m.lastSet.IDs(), insts.IDs())) {
		m.lastSet = insts
	}
	return m.lastSet
}

// collectedSet returns a set of the instances in m.ids: the last set if that has the same.
func (m *cellMemory) collectedSet() *column.InstSet {
	if m.lastSet == nil || !slices.Equal(m.lastSet.IDs(), m.ids) {
		m.lastSet = column.NewInstSet(slices.Clone(m.ids))
	}
	return m.lastSet
}

package engine

import (
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// slot is where the result of a step is found.
type slot struct {
	v     *column.Vector
	cell  *cell  // of the step, nil: it never needed one
	round uint32 // in which v was computed
	hint  int32  // of an operand, for [Sample.Values]
}

// cell is the result of a step that is not an operand's vector as it is.
type cell struct {
	v           column.Vector
	single      [1]uint64 // the only number
	*cellMemory           // nil: not needed yet
}

// cellMemory is the memory of a cell for more than one number, and what is kept for the next time.
type cellMemory struct {
	bits    []uint64 // of a step whose result is not kept a register, nil between two evaluations
	blobs   [][]byte
	ids     []pdu.Inst
	join    *column.Join    // of the operands' sets, the last one
	joined  *column.InstSet // the first of these sets
	lastSet *column.InstSet // the last set that instances made
	match   match

	grouping *group.Grouping // the last one
}

// makeNumbers makes room for n numbers in the result of step i, a register if only one step takes it.
func (e *Evaluation) makeNumbers(i int32, c *cell, n int) []uint64 {
	if n == 1 {
		c.v.Bits = c.single[:]
		return c.v.Bits
	}
	if c.memory(); e.set.program.kept[i] {
		c.bits = fit(c.bits, n)
	} else {
		c.bits = e.registers.take(n)
	}
	c.v.Bits = c.bits[:n]
	return c.v.Bits
}

// release gives the register of an operand back once the only step that takes it is computed.
func (e *Evaluation) release(operand int32) {
	if e.set.program.kept[operand] {
		return
	}
	if c := e.slots[operand].cell; c != nil && c.cellMemory != nil && c.bits != nil {
		e.registers.give(c.bits)
		c.bits = nil
	}
}

// memory returns the memory that few steps need.
func (c *cell) memory() *cellMemory {
	if c.cellMemory == nil {
		c.cellMemory = &cellMemory{}
	}
	return c.cellMemory
}

// align makes x and y, the columns of two vectors, those of the instances that both have, in the order of the first, and
// sets these instances. n is how many there are.
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

// sameSet is a set, or the set that the step had last time if it is the same, so that whoever takes its
// values sees that nothing has changed.
func (c *cell) sameSet(insts *column.InstSet) *column.InstSet {
	m := c.memory()
	if m.lastSet != insts && (m.lastSet == nil || !slices.Equal(m.lastSet.IDs(), insts.IDs())) {
		m.lastSet = insts
	}
	return m.lastSet
}

// collectedSet is the set of the instances collected in m.ids: the set that was made last time if they
// are still the same.
func (m *cellMemory) collectedSet() *column.InstSet {
	if m.lastSet == nil || !slices.Equal(m.lastSet.IDs(), m.ids) {
		m.lastSet = column.NewInstSet(slices.Clone(m.ids))
	}
	return m.lastSet
}

package derived

import (
	"slices"

	"pmdaderived/pdu"
)

// join says which instances two sets have in common. A cell keeps its last one, which holds as long
// as samples use the same two sets.
type join struct {
	a, b  *InstSet
	insts *InstSet // those of a that b has too, in a's order
	all   bool     // all of a: left is not used
	same  bool     // b is the same list as a: right is not used either
	left  []int32  // their positions in a
	right []int32  // their positions in b
}

// aligned returns the numbers of the instances that both vectors have, in the order of the first.
func (c *cell) aligned(a, b *Vector) (x, y []uint64, insts *InstSet) {
	if a.Insts == b.Insts {
		return a.Bits, b.Bits, a.Insts
	}
	c.meet(a.Insts, b.Insts)
	x, y = a.Bits, b.Bits
	if !c.join.all {
		c.left = gather(c.left, x, c.join.left)
		x = c.left
	}
	if !c.join.same {
		c.right = gather(c.right, y, c.join.right)
		y = c.right
	}
	return x, y, c.join.insts
}

// meet makes c.join the join of two sets.
func (c *cell) meet(a, b *InstSet) {
	j := &c.join
	if j.a == a && j.b == b {
		return
	}
	*j = join{a: a, b: b, left: j.left[:0], right: j.right[:0]}
	if slices.Equal(a.ids, b.ids) {
		j.insts, j.all, j.same = a, true, true
		return
	}
	c.ids = c.ids[:0]
	for i, id := range a.ids {
		if at := b.near(id, i); at >= 0 {
			j.left, j.right = append(j.left, int32(i)), append(j.right, int32(at))
			c.ids = append(c.ids, id)
		}
	}
	if len(c.ids) == len(a.ids) {
		j.insts, j.all = a, true
		return
	}
	j.insts = c.instances()
}

// instances is the set of the instances in c.ids: the set that the cell made last time if they are
// still the same, so that whoever takes its values sees that nothing has changed.
func (c *cell) instances() *InstSet {
	if c.made == nil || !slices.Equal(c.made.ids, c.ids) {
		c.made = NewInstSet(slices.Clone(c.ids))
	}
	return c.made
}

// near is Index for an instance that is probably at the position hint.
func (s *InstSet) near(id pdu.Inst, hint int) int {
	if hint < len(s.ids) && s.ids[hint] == id {
		return hint
	}
	return s.Index(id)
}

// gather copies the elements of src at the given positions.
func gather[T any](dst, src []T, at []int32) []T {
	dst = grow(dst, len(at))
	for i, p := range at {
		dst[i] = src[p]
	}
	return dst
}

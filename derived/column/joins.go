package column

import (
	"cmp"
	"slices"

	"pmdaderived/pdu"
)

// Join has the instances that two sets have in common, in the order of the first. Immutable.
type Join struct {
	other *token   // the second set
	Insts *InstSet // the first set itself if the second has all of it

	Left, Right Places // of these instances in the first set, and in the second
}

// NewJoin makes a join of some instances with another set. right has the position of each of these instances in other,
// which is the position of its value in a column with the instances of other.
func NewJoin(insts, other *InstSet, right []int32) *Join {
	return &Join{other: other.token(), Insts: insts, Right: Places{At: right}}
}

// IsWith reports whether j is a join with a set.
func (j *Join) IsWith(other *InstSet) bool { return j.other == other.token() }

// Places are positions of values in a column.
type Places struct {
	At     []int32 // nil: all positions, in order
	Rising bool    // each position is greater than the one before: values at adjacent positions need no copying
}

// Place returns the position of value i in the column.
func (p Places) Place(i int) int {
	if p.At == nil {
		return i
	}
	return int(p.At[i])
}

// Join returns the join of two sets. s keeps its last joins, so that the same one is not made again. Safe for
// concurrent use.
func (s *InstSet) Join(other *InstSet) *Join {
	t := other.token()
	for i := range s.joins {
		if j := s.joins[i].Load(); j != nil && j.other == t {
			return j
		}
	}
	j := s.newJoin(other)
	j.other = t
	s.joins[1].Store(s.joins[0].Load())
	s.joins[0].Store(j)
	return j
}

// PositionsIn returns the position of each instance in another set, -1 for those that it lacks. Nil is an empty set.
func (s *InstSet) PositionsIn(other *InstSet) []int {
	at := slices.Repeat([]int{-1}, len(s.IDs()))
	if s == nil || other == nil {
		return at
	}
	j := s.Join(other)
	for p := range j.Insts.IDs() {
		at[j.Left.Place(p)] = j.Right.Place(p)
	}
	return at
}

// newJoin makes the join of two sets, without its other.
func (s *InstSet) newJoin(other *InstSet) *Join {
	a, b := s.ids, other.ids
	if slices.Equal(a, b) {
		return &Join{Insts: s}
	}
	var left, right []int32
	if rising(a) && rising(b) {
		left, right = mergeSorted(a, b)
	} else {
		left, right = matchUnsorted(a, other)
	}
	j := &Join{Insts: s, Left: placesOf(left, len(a)), Right: placesOf(right, len(b))}
	if j.Left.At != nil {
		ids := make([]pdu.Inst, len(left))
		Gather(ids, a, left)
		j.Insts = NewInstSet(ids)
	}
	return j
}

// rising reports whether numbers are sorted and distinct.
func rising[T cmp.Ordered](all []T) bool {
	for i := 1; i < len(all); i++ {
		if all[i] <= all[i-1] {
			return false
		}
	}
	return true
}

// mergeSorted returns the positions of the instances that two sorted lists have in common.
func mergeSorted(a, b []pdu.Inst) (left, right []int32) {
	left = make([]int32, min(len(a), len(b)))
	right = make([]int32, len(left))
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch x, y := a[i], b[j]; {
		case x == y:
			left[n], right[n] = int32(i), int32(j)
			n++
			i++
			j++
		case x < y:
			i++
		default:
			j++
		}
	}
	return left[:n], right[:n]
}

// matchUnsorted does the same for lists in any order. The instance after a common one is probably common, too.
func matchUnsorted(a []pdu.Inst, other *InstSet) (left, right []int32) {
	left, right = make([]int32, 0, len(a)), make([]int32, 0, len(a))
	next := 0
	for i, id := range a {
		if at := other.Near(id, next); at >= 0 {
			left, right = append(left, int32(i)), append(right, int32(at))
			next = at + 1
		}
	}
	return left, right
}

// placesOf returns positions in a column of n values as Places.
func placesOf(at []int32, n int) Places {
	p := Places{At: at, Rising: rising(at)}
	switch {
	case p.Rising && len(at) == n:
		return Places{}
	case len(at) < cap(at)/2:
		p.At = slices.Clone(at)
	}
	return p
}

// Gather copies the elements of src at the given positions.
func Gather[T any](dst, src []T, at []int32) {
	dst = dst[:len(at)]
	for i, p := range at {
		dst[i] = src[p]
	}
}

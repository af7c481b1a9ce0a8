package derived

import (
	"slices"

	"pmdaderived/pdu"
)

// join says which instances two sets have in common, in the order of the first. Immutable.
type join struct {
	other *token   // of the second set
	insts *InstSet // the first set itself if the second has all of it

	left, right places // of these instances in the sets
}

// places are positions of values in a column; nil at means all of them, in order.
type places struct {
	at     []int32
	rising bool // each is greater than the one before: those of a stretch without a gap need no copying
}

// with returns the join of two sets, the one that was made before if it is among the last few. Safe
// for concurrent use.
func (s *InstSet) with(other *InstSet) *join {
	t := other.token()
	for i := range s.joins {
		if j := s.joins[i].Load(); j != nil && j.other == t {
			return j
		}
	}
	j := s.meet(other)
	j.other = t
	s.joins[1].Store(s.joins[0].Load())
	s.joins[0].Store(j)
	return j
}

// meet makes the join of two sets.
func (s *InstSet) meet(other *InstSet) *join {
	a, b := s.ids, other.ids
	if slices.Equal(a, b) {
		return &join{insts: s}
	}
	m := meeting{a: a, b: b}
	if rising(a) && rising(b) {
		m.merge()
	} else {
		m.look(other)
	}
	return m.join(s)
}

// rising reports whether instances are sorted and distinct.
func rising(ids []pdu.Inst) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return false
		}
	}
	return true
}

// meeting is a join being made: positions in a and b of the instances that both have.
type meeting struct {
	a, b        []pdu.Inst
	left, right []int32
}

// merge pairs two sorted lists.
func (m *meeting) merge() {
	a, b := m.a, m.b
	m.left = make([]int32, min(len(a), len(b)))
	m.right = make([]int32, len(m.left))
	left, right := m.left, m.right
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
	m.left, m.right = left[:n], right[:n]
}

// look pairs lists of any order. After a pair the next ones of both are the likeliest.
func (m *meeting) look(other *InstSet) {
	m.left, m.right = make([]int32, 0, len(m.a)), make([]int32, 0, len(m.a))
	next := 0
	for i, id := range m.a {
		at := other.near(id, next)
		if at < 0 {
			continue
		}
		m.left, m.right = append(m.left, int32(i)), append(m.right, int32(at))
		next = at + 1
	}
}

// join is the outcome, for the set that has the instances a.
func (m *meeting) join(s *InstSet) *join {
	j := &join{insts: s, left: placesOf(m.left, len(m.a)), right: placesOf(m.right, len(m.b))}
	if j.left.at != nil {
		ids := make([]pdu.Inst, len(m.left))
		for i, at := range m.left {
			ids[i] = m.a[at]
		}
		j.insts = NewInstSet(ids)
	}
	return j
}

// placesOf are positions in a column of n values.
func placesOf(at []int32, n int) places {
	p := places{at: at, rising: true}
	for i := 1; i < len(at); i++ {
		if at[i] <= at[i-1] {
			p.rising = false
			break
		}
	}
	switch {
	case p.rising && len(at) == n:
		return places{}
	case len(at) < cap(at)/2:
		p.at = slices.Clone(at)
	}
	return p
}

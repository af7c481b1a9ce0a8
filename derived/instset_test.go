package derived

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// instanceLists are lists of instances of every kind that matters to indexes and joins.
func instanceLists() map[string][]pdu.Inst {
	r := rand.New(rand.NewPCG(11, 12))
	dense, sparse := make([]pdu.Inst, 1300), make([]pdu.Inst, 1300)
	for i := range dense {
		dense[i], sparse[i] = pdu.Inst(i+5), pdu.Inst(i*1000-300_000)
	}
	lists := map[string][]pdu.Inst{
		"none": nil, "one": {7}, "extremes": {-1 << 31, 1<<31 - 1, 0}, "repeated": {3, 1, 3, 900, 1}, "dense": dense, "sparse": sparse,
	}
	for name, list := range map[string][]pdu.Inst{"dense": dense, "sparse": sparse} {
		lists[name+", shuffled"] = slices.Clone(list)
		r.Shuffle(len(list), func(i, j int) {
			l := lists[name+", shuffled"]
			l[i], l[j] = l[j], l[i]
		})
		lists[name+", few missing"] = slices.Concat(list[:3], list[4:600], list[601:1299])
		lists[name+", half missing"] = slices.DeleteFunc(slices.Clone(list), func(pdu.Inst) bool { return r.IntN(2) == 0 })
		lists[name+", shuffled, half missing"] = slices.DeleteFunc(slices.Clone(lists[name+", shuffled"]), func(pdu.Inst) bool { return r.IntN(2) == 0 })
		lists[name+", second half"] = list[650:]
	}
	return lists
}

func TestIndex(t *testing.T) {
	for name, ids := range instanceLists() {
		t.Run(name, func(t *testing.T) {
			s := NewInstSet(ids)
			for _, id := range ids {
				require.Equal(t, slices.Index(ids, id), s.Index(id))
			}
			for _, id := range []pdu.Inst{-2, 4, 6, 123_456_789, -1 << 31, 1<<31 - 1} {
				require.Equal(t, slices.Index(ids, id), s.Index(id), "%d", id)
			}
		})
	}
}

// A join has every instance of the first set that the second has, in the order of the first, and the
// places of its value in both.
func TestJoin(t *testing.T) {
	lists := instanceLists()
	for nameA, a := range lists {
		for nameB, b := range lists {
			t.Run(nameA+" and "+nameB, func(t *testing.T) {
				s, other := NewInstSet(a), NewInstSet(b)
				j := s.with(other)
				var want []pdu.Inst
				for _, id := range a {
					if slices.Contains(b, id) {
						want = append(want, id)
					}
				}
				require.Equal(t, len(want), j.insts.Len())
				for i, id := range want {
					require.Equal(t, id, j.insts.IDs()[i])
					require.Equal(t, id, a[j.left.place(i)])
					require.Equal(t, id, b[j.right.place(i)])
				}
				if len(want) == len(a) {
					assert.Same(t, s, j.insts, "nothing is left out")
				}
				assert.Same(t, j, s.with(other), "it is made once")
			})
		}
	}
}

// A set remembers its last joins and none of the sets it was joined with.
func TestJoinsAreBounded(t *testing.T) {
	s := NewInstSet([]pdu.Inst{1, 2, 3})
	first := s.with(NewInstSet([]pdu.Inst{2}))
	for i := range 100 {
		s.with(NewInstSet([]pdu.Inst{pdu.Inst(i)}))
	}
	for i := range s.joins {
		assert.NotSame(t, first, s.joins[i].Load())
	}
}

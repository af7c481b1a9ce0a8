package column

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

func TestIndex(t *testing.T) {
	for name, ids := range derivedtest.InstanceLists() {
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

// A union is one of its operands where that is easy to see, so that most need no memory.
func TestUnion(t *testing.T) {
	some, all, none := NewInstSet([]pdu.Inst{5, 1}), NewInstSet([]pdu.Inst{5, 9, 1}), (*InstSet)(nil)
	assert.Same(t, all, some.Union(all))
	assert.Same(t, all, none.Union(all))
	assert.Same(t, all, all.Union(none))
	assert.Same(t, some, some.Union(NewInstSet(some.IDs())))
	assert.Nil(t, none.Union(none))
	assert.Equal(t, []pdu.Inst{2, 5, 1}, some.Union(NewInstSet([]pdu.Inst{2, 5})).IDs())
	assert.Equal(t, []pdu.Inst{5, 1, 9}, all.Union(some).IDs())
}

// A join has every instance of the first set that the second has, in the order of the first, and the
// places of its value in both.
func TestJoin(t *testing.T) {
	lists := derivedtest.InstanceLists()
	for nameA, a := range lists {
		for nameB, b := range lists {
			t.Run(nameA+" and "+nameB, func(t *testing.T) {
				s, other := NewInstSet(a), NewInstSet(b)
				j := s.Join(other)
				var want []pdu.Inst
				for _, id := range a {
					if slices.Contains(b, id) {
						want = append(want, id)
					}
				}
				require.Equal(t, len(want), j.Insts.Len())
				for i, id := range want {
					require.Equal(t, id, j.Insts.IDs()[i])
					require.Equal(t, id, a[j.Left.Place(i)])
					require.Equal(t, id, b[j.Right.Place(i)])
				}
				if len(want) == len(a) {
					assert.Same(t, s, j.Insts, "nothing is left out")
				}
				assert.Same(t, j, s.Join(other), "it is made once")
			})
		}
	}
}

// A set remembers its last joins and none of the sets it was joined with.
func TestJoinsAreBounded(t *testing.T) {
	s := NewInstSet([]pdu.Inst{1, 2, 3})
	first := s.Join(NewInstSet([]pdu.Inst{2}))
	for i := range 100 {
		s.Join(NewInstSet([]pdu.Inst{pdu.Inst(i)}))
	}
	for i := range s.joins {
		assert.NotSame(t, first, s.joins[i].Load())
	}
}

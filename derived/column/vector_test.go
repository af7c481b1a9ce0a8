package column

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
)

func TestInstSet(t *testing.T) {
	s := NewInstSet([]pdu.Inst{7, 3, 7, -5})
	assert.Equal(t, 4, s.Len())
	assert.Equal(t, []pdu.Inst{7, 3, 7, -5}, s.IDs())
	assert.Equal(t, 0, s.Index(7), "of several the first")
	assert.Equal(t, 3, s.Index(-5))
	assert.Equal(t, -1, s.Index(4))
	assert.Equal(t, 2, s.Near(7, 2))
	assert.Equal(t, 1, s.Near(3, 9))
	assert.Nil(t, (*InstSet)(nil).IDs())
}

// Several evaluations share the sets of a sample.
func TestInstSetConcurrently(t *testing.T) {
	s := NewInstSet([]pdu.Inst{1, 2, 3})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { assert.Equal(t, 2, s.Index(3)) })
	}
	wg.Wait()
}

func TestVectorAt(t *testing.T) {
	v := Vector{Type: pdu.Type32, Bits: []uint64{1, 2}, Insts: NewInstSet([]pdu.Inst{4, 5})}
	assert.Equal(t, 2, v.Len())
	assert.Equal(t, pdu.Inst(5), v.At(1))
	v = Vector{Type: pdu.TypeString, Blobs: [][]byte{{'a'}}}
	assert.Equal(t, 1, v.Len())
	assert.Equal(t, pdu.NoInst, v.At(0))
}

func TestNameTable(t *testing.T) {
	n := NewNameTable(map[pdu.Inst]string{1: "a b"}, map[string]pdu.Inst{"a": 1})
	name, ok := n.Name(1)
	assert.True(t, ok)
	assert.Equal(t, "a b", name)
	_, ok = n.Name(2)
	assert.False(t, ok)
	id, ok := n.Select("a")
	assert.True(t, ok)
	assert.Equal(t, pdu.Inst(1), id)
	_, ok = n.Select("a b")
	assert.False(t, ok, "only the agent knows which names it takes")

	n = nil
	_, ok = n.Name(1)
	assert.False(t, ok)
	_, ok = n.Select("a")
	assert.False(t, ok)
}

package operand

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
)

// needs is a Source for tests.
type needs struct {
	descs  []pdu.Desc
	values int
}

func (n *needs) Operands() []pdu.Desc { return n.descs }
func (n *needs) Size() int            { return n.values }

func needsOf(ids ...pdu.PMID) *needs {
	n := &needs{values: len(ids)}
	for _, id := range ids {
		n.descs = append(n.descs, pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NewInDom(60, 1)})
	}
	return n
}

// A batch is made once for the same waiting sources, and again when other sources would fit.
func TestBatchCache(t *testing.T) {
	const operands, values = 4000, 10000
	a, b, c := pdu.NewPMID(60, 1, 1), pdu.NewPMID(60, 1, 2), pdu.NewPMID(60, 1, 3)
	ab, bc := needsOf(a, b), needsOf(b, c)
	sources := []*needs{ab, bc}
	var batches BatchCache[*needs]
	both := batches.Batch(sources, operands, values)
	assert.Equal(t, sources, both.Sources)
	assert.Equal(t, []pdu.PMID{a, b, c}, both.IDs, "each once")
	assert.Same(t, both, batches.Batch(sources, operands, values))

	one := batches.Batch(sources, 2, values)
	assert.Equal(t, sources[:1], one.Sources, "three operands are too many")
	assert.Same(t, one, batches.Batch(sources, 2, values))
	assert.Same(t, one, batches.Batch(sources[:1], operands, values))
	assert.Same(t, both, batches.Batch(sources, operands, values), "room for another one")

	now := time.Unix(1, 0)
	answer := result(t, valuesOf(a, 1), valuesOf(b, 1, 2), valuesOf(c, 1, 2, 3))
	made, _ := NewMaker(nil, now).Make(answer, now, now, both.List)
	counts := make(map[*needs]int)
	both.CountValues(made, func(n *needs, values int) { counts[n] = values })
	assert.Equal(t, map[*needs]int{ab: 3, bc: 5}, counts)

	bc.values = values
	assert.Equal(t, sources[:1], batches.Batch(sources, operands, values).Sources, "too many values for one fetch")
	assert.Equal(t, sources, batches.Batch(sources, operands, 2*values).Sources)

	batches.Clear()
	assert.NotSame(t, one, batches.Batch(sources, 2, values))
	for i := range 3 * maxBatches {
		batches.Batch([]*needs{needsOf(pdu.NewPMID(60, 2, i))}, operands, values)
	}
	assert.Len(t, batches.recent, maxBatches)
}

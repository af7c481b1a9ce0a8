package upstream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// A domain whose owner cannot answer is asked for again, ever more seldom. It has an error meanwhile, and waits for its
// turn.
func TestInstancesThatCannotBeHad(t *testing.T) {
	relay := newRelay(t)
	s := newFetching(t, relay.Address, 0)
	s.pool.BeginSession(dialUnix(t, relay.Address))
	needed := operand.InDomNeeds{binDom: {Selectors: map[string]bool{"two": true}}}
	waiting := make(operand.LookupQueue)
	require.NoError(t, s.LookUpInstances(t.Context(), needed, []pdu.InDom{binDom, procDom}, waiting))
	assert.False(t, s.options.Names.Has(binDom), "nobody has its instances")
	require.ErrorIs(t, s.options.Names.Err(binDom), pdu.ErrInDom)
	now := time.Now()
	assert.Empty(t, waiting.TakeReady(now, []pdu.InDom{binDom}))
	assert.Empty(t, waiting.TakeDue(now, needed))
	assert.Equal(t, []pdu.InDom{binDom}, waiting.TakeDue(now.Add(second), needed))
	relay.Update(func() {
		relay.InDoms = map[pdu.InDom]pmapitest.InDom{binDom: {Instances: []pdu.Instance{{ID: 1, Name: "one"}, {ID: 2, Name: "two"}}}}
	})
	require.NoError(t, s.LookUpInstances(t.Context(), needed, []pdu.InDom{binDom}, waiting))
	require.NoError(t, s.options.Names.Err(binDom))
	id, ok := s.options.Names.Table(binDom).Select("two")
	assert.True(t, ok)
	assert.EqualValues(t, 2, id)
	assert.False(t, s.options.Names.Has(procDom), "nobody needs it")
	assert.True(t, waiting.NextDue().IsZero(), "no other is waiting")
}

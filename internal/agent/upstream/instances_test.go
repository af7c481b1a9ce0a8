package upstream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/pool"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
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

// A stored sample gives its instance domains a time, until it has expired. Singular operands have no domain.
func TestLastSampledDomains(t *testing.T) {
	s := newFetching(t, newRelay(t).Address, 0)
	of := func(item int, d pdu.InDom) pdu.Desc { return pdu.Desc{PMID: pdu.NewPMID(60, 0, item), InDom: d} }
	one, both := NewSeries([]pdu.Desc{of(1, binDom), of(2, pdu.NoInDom)}), NewSeries([]pdu.Desc{of(3, binDom), of(4, procDom)})
	now := time.Now()
	store := func(series *Series, at time.Time) {
		asked := fetchOf(series)
		res := &pmapi.Columns{Time: at, Sets: make([]pdu.Column, len(asked.IDs))}
		for i, id := range asked.IDs {
			res.Sets[i] = pdu.Column{PMID: id, Code: pdu.ErrAgain}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.storeAnswer(asked, pool.Answer{Columns: res, Began: at, Arrived: at})
	}
	store(both, now)
	store(one, now.Add(time.Minute))
	assert.Equal(t, map[pdu.InDom]time.Time{binDom: now.Add(time.Minute), procDom: now}, s.LastSampledDomains())
	s.mu.Lock()
	s.forgetSamples(now.Add(2 * time.Minute))
	s.mu.Unlock()
	assert.Equal(t, map[pdu.InDom]time.Time{binDom: now.Add(time.Minute)}, s.LastSampledDomains())
}

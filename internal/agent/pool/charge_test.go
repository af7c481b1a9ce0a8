package pool

import (
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// What a fetch has to wait for another one of ours is not its fault.
func TestFetchBehindASlowOne(t *testing.T) {
	s := newSending(t)
	now := time.Now()
	charge := func(domain int, sent time.Time, at time.Duration, arrived time.Time) {
		id := pdu.NewPMID(domain, 0, 0)
		columns := &pmapi.Columns{Time: now.Add(at), Sets: []pdu.Column{{PMID: id}}}
		s.chargeAgents(&connection{sent: sent, request: request{id}}, &Answer{Columns: columns, Arrived: arrived})
	}
	arrived := now.Add(4*time.Second + slow.Long) // both, since nobody has looked before
	charge(1, now, 4*time.Second, arrived)
	charge(2, now, 4*time.Second+slow.Long-1, arrived)
	charge(3, arrived, -time.Hour, arrived.Add(time.Millisecond))
	charge(4, arrived, time.Hour, arrived.Add(time.Millisecond)) // pmcd's clock may be set
	assert.Equal(t, []slow.Budget{slow.AgentBudget(slow.Values, 1)}, slices.Collect(maps.Keys(s.slow.States)))
}

// What is looked up is charged, too: who is slow with that is left alone with that, and nothing else.
func TestLookupsAreCharged(t *testing.T) {
	var clock, slowKind, asked, others atomic.Int64
	start := time.Now()
	s := connectBy(t, func() time.Time { return start.Add(time.Duration(clock.Load())) })
	s.relay.OnRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind != pdu.Kind(slowKind.Load()) {
			others.Add(1)
			return true
		}
		asked.Add(1)
		clock.Add(int64(time.Second))
		return true
	})
	s.relay.Update(func() {
		s.relay.InDoms = map[pdu.InDom]pmapitest.InDom{
			oneDom: {Instances: []pdu.Instance{{ID: 1, Name: "one"}}}, twoDom: {Instances: []pdu.Instance{{ID: 1, Name: "init"}}},
		}
	})
	instances := func() {
		needed := operand.InDomNeeds{oneDom: {}}
		require.NoError(t, s.LookUp(func(conn *pmapi.Conn) error {
			return new(operand.InstanceCache).LookUp(t.Context(), conn, needed, []pdu.InDom{oneDom}, func(pdu.InDom, time.Duration, error) {})
		}))
	}
	names := func(names ...string) {
		require.NoError(t, s.LookUp(func(conn *pmapi.Conn) error {
			_, err := operand.LookUp(t.Context(), conn, names)
			return err
		}))
	}
	for _, row := range []struct {
		name   string
		slow   pdu.Kind
		lookUp func()
		other  func()
	}{
		{"instances", pdu.KindInstanceReq, instances, func() { names("up.load") }},
		{"names", pdu.KindPMNSNames, func() { names("up.load") }, instances},
	} {
		t.Run(row.name, func(t *testing.T) {
			slowKind.Store(int64(row.slow))
			row.lookUp()
			row.lookUp()
			assert.EqualValues(t, 1, s.figures.SlowAgents.Load())
			assert.EqualValues(t, 2, asked.Swap(0))
			row.lookUp()
			assert.Zero(t, asked.Load(), "it is left alone")
			others.Store(0)
			row.other()
			assert.Positive(t, others.Load())
			clock.Add(int64(18 * time.Second))
			row.lookUp()
			row.lookUp()
			assert.EqualValues(t, 1, asked.Swap(0), "after nine times as long as it took")
			slowKind.Store(0)
			clock.Add(int64(9 * time.Second))
			row.lookUp()
			assert.Zero(t, s.figures.SlowAgents.Load())
		})
	}
}

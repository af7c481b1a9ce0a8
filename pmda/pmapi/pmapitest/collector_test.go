package pmapitest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// Changes reach each client that is connected once, with its next fetch; updates are seen by all.
func TestCollectorAnnounces(t *testing.T) {
	id := pdu.NewPMID(250, 0, 1)
	collector := &pmapitest.Collector{
		Features: pmapitest.AllFeatures,
		Metrics: []pmapitest.Metric{{
			Name: "a.metric",
			Desc: pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter},
		}},
	}
	address := pmapitest.Listen(t, "unix", collector.Serve)
	var clients []*pmapi.Conn
	for range 3 {
		c, err := pmapi.Dial(t.Context(), "unix", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		clients = append(clients, c)
	}
	collector.Update(func() { collector.Metrics[0].Values = []pdu.Value{pdu.Uint64Value(pdu.NoInst, 17)} })
	collector.Announce(pdu.ChangeNames)
	collector.Announce(pdu.ChangeLabels)
	for _, want := range []pdu.Change{pdu.ChangeNames | pdu.ChangeLabels, 0} {
		for _, c := range clients {
			res, err := c.Fetch(t.Context(), []pdu.PMID{id})
			require.NoError(t, err)
			assert.Equal(t, want, res.Changes)
			assert.Equal(t, uint64(17), res.Sets[0].Values[0].Bits)
		}
	}
}

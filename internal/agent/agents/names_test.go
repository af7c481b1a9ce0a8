package agents

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

func TestNames(t *testing.T) {
	indom := pdu.NewInDom(2, 3)
	for _, row := range []struct {
		name   string
		change func(c *pmapitest.Collector)
		want   map[int]string // nil: pmcd does not tell
	}{
		{"two agents", func(*pmapitest.Collector) {}, map[int]string{2: "pmcd", 29: "sample"}},
		{"no such metric", func(c *pmapitest.Collector) { c.Metrics = nil }, nil},
		{"no instances", func(c *pmapitest.Collector) { c.InDoms = nil }, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &pmapitest.Collector{
				Features: pmapitest.AllFeatures,
				InDoms: map[pdu.InDom]pmapitest.InDom{
					indom: {Instances: []pdu.Instance{{ID: 2, Name: "pmcd"}, {ID: 29, Name: "sample"}}},
				},
				Metrics: []pmapitest.Metric{
					{Name: "pmcd.agent.status", Desc: pdu.Desc{PMID: pdu.NewPMID(2, 4, 1), Type: pdu.Type32, InDom: indom}},
				},
			}
			row.change(c)
			conn, err := pmapi.Dial(t.Context(), "unix", pmapitest.Listen(t, "unix", c.Serve))
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			names, err := LookUpNames(t.Context(), conn)
			assert.Equal(t, row.want == nil, err != nil)
			assert.Equal(t, row.want, names)
			assert.NoError(t, conn.Err())
		})
	}
}

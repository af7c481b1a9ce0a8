package agents

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// pmcd is a collector that tells about three agents. Its metrics are the status and the number of the configuration.
func pmcd() *pmapitest.Collector {
	indom := pdu.NewInDom(2, 3)
	return &pmapitest.Collector{
		Features: pmapitest.AllFeatures,
		InDoms: map[pdu.InDom]pmapitest.InDom{indom: {Instances: []pdu.Instance{
			{ID: 2, Name: "pmcd"}, {ID: 29, Name: "sample"}, {ID: 60, Name: "linux"},
		}}},
		Metrics: []pmapitest.Metric{
			status: {
				Name: "pmcd.agent.status", Desc: pdu.Desc{PMID: pdu.NewPMID(2, 4, 1), Type: pdu.Type32, InDom: indom},
				Values: []pdu.Value{pdu.Int32Value(2, 0), pdu.Int32Value(29, 0), pdu.Int32Value(60, 0)},
			},
			seqnum: {
				Name: "pmcd.seqnum", Desc: pdu.Desc{PMID: pdu.NewPMID(2, 0, 21), Type: pdu.TypeU32, InDom: pdu.NoInDom},
				Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 7)},
			},
		},
	}
}

func TestLook(t *testing.T) {
	for _, row := range []struct {
		name               string
		change             func(status, seqnum []pdu.Value)
		ended              []int
		restarted, changed bool
	}{
		{"nothing has happened", func(_, _ []pdu.Value) {}, nil, false, false},
		{"an agent has ended", func(s, _ []pdu.Value) { s[1] = pdu.Int32Value(29, 9<<16|8) }, []int{29}, false, true},
		{"two have", func(s, _ []pdu.Value) { s[1], s[2] = pdu.Int32Value(29, 2), pdu.Int32Value(60, 4) }, []int{29, 60}, false, true},
		{"one was restarted at once", func(_, n []pdu.Value) { n[0] = pdu.Uint32Value(pdu.NoInst, 9) }, nil, true, true},
		{"one is not ready yet", func(s, _ []pdu.Value) { s[2] = pdu.Int32Value(60, 1) }, nil, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := pmcd()
			conn := dial(t, c)
			before, err := LookAt(t.Context(), conn, nil)
			require.NoError(t, err)
			assert.Equal(t, "sample", before.Name(29))
			c.Update(func() { row.change(c.Metrics[status].Values, c.Metrics[seqnum].Values) })
			now, err := LookAt(t.Context(), conn, before)
			require.NoError(t, err)
			ended, restarted, changed := now.Since(before)
			assert.Equal(t, row.ended, ended)
			assert.Equal(t, row.restarted, restarted)
			assert.Equal(t, row.changed, changed)
			ended, restarted, changed = now.Since(now)
			assert.True(t, len(ended) == 0 && !restarted && !changed, "that is told once")
		})
	}
}

// An agent that was not there before has a name, too.
func TestLookAtAnotherAgent(t *testing.T) {
	c := pmcd()
	conn := dial(t, c)
	before, err := LookAt(t.Context(), conn, nil)
	require.NoError(t, err)
	c.Update(func() {
		for d, in := range c.InDoms {
			in.Instances = append(in.Instances, pdu.Instance{ID: 70, Name: "mmv"})
			c.InDoms[d] = in
		}
		c.Metrics[status].Values = append(c.Metrics[status].Values, pdu.Int32Value(70, 0))
	})
	now, err := LookAt(t.Context(), conn, before)
	require.NoError(t, err)
	assert.Equal(t, "mmv", now.Name(70))
	assert.Empty(t, before.Name(70))
	assert.Empty(t, (*Look)(nil).Name(70))
}

// A pmcd that does not tell is none that cannot be asked anything.
func TestLookRefused(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(c *pmapitest.Collector)
	}{
		{"no such metric", func(c *pmapitest.Collector) { c.Metrics = c.Metrics[:1] }},
		{"no names", func(c *pmapitest.Collector) { c.InDoms = nil }},
		{"no status", func(c *pmapitest.Collector) { c.Metrics[status].Code = pdu.ErrPermission }},
		{"no number", func(c *pmapitest.Collector) { c.Metrics[seqnum].Values = nil }},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := pmcd()
			row.change(c)
			conn := dial(t, c)
			_, err := LookAt(t.Context(), conn, nil)
			assert.Error(t, err)
			assert.NoError(t, conn.Err())
		})
	}
}

func dial(t *testing.T, c *pmapitest.Collector) *pmapi.Conn {
	t.Helper()
	conn, err := pmapi.Dial(t.Context(), "unix", pmapitest.Listen(t, "unix", c.Serve))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

package pmapi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// guard is a gate that lets nobody ask for a name, or for the descriptor of a metric.
type guard struct {
	name     string
	id       pdu.PMID
	asked    int
	answered []pdu.Code
}

func (g *guard) Ask(req pdu.Message) pdu.Code {
	g.asked++
	switch req := req.(type) {
	case *pdu.PMNSNames:
		for _, name := range req.Names {
			if name == g.name {
				return pdu.ErrAgain
			}
		}
	case *pdu.DescReq:
		if req.PMID == g.id {
			return pdu.ErrAgain
		}
	}
	return 0
}

func (g *guard) Answered(_ pdu.Message, code pdu.Code) { g.answered = append(g.answered, code) }

// A request that a gate refuses is not sent and has the gate's code. Other requests are sent, and the gate gets their
// answers.
func TestGate(t *testing.T) {
	a, b := pdu.NewPMID(60, 0, 1), pdu.NewPMID(60, 0, 2)
	relay := pmapitest.NewRelay(t, &pmapitest.Collector{Metrics: []pmapitest.Metric{
		{Name: "x.a", Desc: pdu.Desc{PMID: a, Type: pdu.TypeU32, InDom: pdu.NoInDom}},
		{Name: "x.b", Desc: pdu.Desc{PMID: b, Type: pdu.TypeU32, InDom: pdu.NoInDom}},
	}})
	g := &guard{name: "x.c", id: b}
	c, err := pmapi.Dial(t.Context(), "unix", relay.Address, pmapi.WithGate(g))
	require.NoError(t, err)
	defer c.Close()
	assert.Zero(t, g.asked)
	found, err := c.LookupNames(t.Context(), []string{"x.a", "x.b", "x.c", "x.d"})
	require.NoError(t, err)
	assert.Equal(t, []pmapi.NameResult{{PMID: a}, {PMID: b}, {pdu.NoPMID, pdu.ErrAgain}, {pdu.NoPMID, pdu.ErrName}}, found)
	descs, err := c.Descs(t.Context(), []pdu.PMID{a, b})
	require.NoError(t, err)
	assert.Zero(t, descs[0].Code)
	assert.Equal(t, pdu.ErrAgain, descs[1].Code)
	assert.Equal(t, []pdu.Code{0, pdu.ErrName, 0}, g.answered)
}

//go:build pcp

package test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
)

// The samples are of the host: a client that asks for a container gets an error in place of their values, over either
// socket, and also if it asks later.
func TestClientsOfContainers(t *testing.T) {
	conf := writeFile(t, worldReadableDir(t), "derived.conf", "n = count(sample.bin)\ng = sum(sample.bin) by (k=/./)\n")
	p := startServing(t, "-c", conf)
	for _, host := range []string{"unix:" + p.Socket, fmt.Sprintf("127.0.0.1:%d", p.Port)} {
		got, _, _ := p.Run(t, "pminfo", "-f", "-h", host+"?container=box", "derived.n", "derived.g", "derived.control.bound")
		assert.Contains(t, got, "derived.n\nError: Container not found")
		assert.Contains(t, got, "derived.g\nError: Container not found")
		assert.Contains(t, got, "derived.control.bound\n    value 2", "the agent's own metrics")
		assert.NotContains(t, got, "inst [")
	}

	conn := dial(t, p)
	found := must(conn.LookupNames(t.Context(), []string{"derived.n", "derived.g", "pmcd.client.container"}))(t)
	code := func() pdu.Code {
		r := must(conn.Fetch(t.Context(), []pdu.PMID{found[0].PMID}))(t)
		return r.Sets[0].Code
	}
	store := func(container string) {
		require.NoError(t, conn.Store(t.Context(), []pdu.ValueSet{{
			PMID: found[2].PMID, Format: pdu.StaticBlock,
			Values: []pdu.Value{{Inst: pdu.NoInst, Type: pdu.TypeString, Bytes: []byte(container)}},
		}}))
	}
	served := func() bool { return code() == 0 }
	await.Until(t, "it is served", served)
	groups := must(conn.Desc(t.Context(), found[1].PMID))(t).InDom
	store("box")
	assert.Equal(t, pdu.ErrNoContainer, code())
	_, err := conn.Instances(t.Context(), groups)
	assert.ErrorIs(t, err, pdu.ErrNoContainer)
	store("")
	await.Until(t, "it is served again", served)
}

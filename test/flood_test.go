//go:build pcp

package test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// A client that fetches more lists than there can be histories, and PMIDs of no metrics, between two fetches of others
// takes nothing from them. It loses its own histories, and is not told changes over another time.
func TestFloodingClient(t *testing.T) {
	text, names := "at = sample.milliseconds\nsteps = delta(sample.milliseconds)\n", []string{"derived.at", "derived.steps"}
	for i := range 8 {
		text += fmt.Sprintf("f%d = %d * delta(sample.milliseconds)\n", i, i+1)
		names = append(names, fmt.Sprintf("derived.f%d", i))
	}
	p := startServing(t, "-c", writeFile(t, worldReadableDir(t), "derived.conf", text))
	lookUp := func(conn *pmapi.Conn) (ids []pdu.PMID) {
		for _, found := range must(conn.LookupNames(t.Context(), names))(t) {
			require.Zero(t, found.Code)
			ids = append(ids, found.PMID)
		}
		return ids
	}
	victim, flooder := dial(t, p), dial(t, p)
	ids, last := lookUp(victim)[:2], 0.0
	read := func() {
		await.Until(t, "the other client has values", func() bool {
			r := must(victim.Fetch(t.Context(), ids))(t)
			if len(r.Sets[0].Values) == 0 || len(r.Sets[1].Values) == 0 {
				return false
			}
			at := pdu.TypeDouble.Float64(r.Sets[0].Values[0].Bits)
			if last > 0 {
				assert.InDelta(t, at-last, pdu.TypeDouble.Float64(r.Sets[1].Values[0].Bits), 0.01, "the change since the fetch before")
			}
			last = at
			return true
		})
	}
	read()
	list := lookUp(flooder)[2:]
	unknown := make([]pdu.PMID, 16_000)
	for range 2 {
		for range 4500 {
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			must(flooder.Fetch(t.Context(), list))(t)
		}
		for range 70 {
			for i := range unknown {
				unknown[i] = pdu.NewPMID(list[0].Domain(), 4000, rand.IntN(1024))
			}
			must(flooder.Fetch(t.Context(), unknown))(t)
		}
		read()
	}
	out, _, _ := p.Run(t, "pmprobe", "-v", "derived.control.contexts_dropped")
	require.NotEqual(t, "derived.control.contexts_dropped 1 0", strings.TrimSpace(out), "there were too many lists")
	for _, set := range must(flooder.Fetch(t.Context(), list[:3]))(t).Sets {
		assert.Empty(t, set.Values, "the flooding client fetches a list for the first time")
	}
}

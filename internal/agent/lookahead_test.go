package agent

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/await"
	"pmdaderived/internal/freshness"
	"pmdaderived/pdu"
)

// Repeated look-ups of a client do not request a new sample each time, until it has fetched.
func TestLookedUpAgain(t *testing.T) {
	b := newBench(t, conf("c = up.count", "b = up.bin", "k = 7"))
	again := func(names ...string) (all []bool) {
		for _, name := range names {
			all = append(all, len(b.agent.recordLookup(1, b.metric(name))) > 0)
		}
		return all
	}
	assert.Equal(t, []bool{false, false}, again("c", "b"))
	assert.Equal(t, []bool{true, true, true}, again("c", "b", "b"))
	assert.Empty(t, b.agent.recordLookup(2, b.metric("c")), "another client")

	b.fetch(1, 0, "c")
	assert.Equal(t, []bool{false, true}, again("c", "c"), "what was sampled before the fetch is not new")

	b.pass(freshness.LookupTime)
	assert.Equal(t, []bool{true}, again("c"), "it is still sampled for the client")
	b.pass(freshness.LookupTime + 1)
	assert.Equal(t, []bool{false, true}, again("c", "c"), "the client had lost interest")
}

// Over the pipe: after the first look-ups of two names, one fetch every ten milliseconds requests both.
func TestLookupsInARow(t *testing.T) {
	var clock atomic.Int64
	u := newCollector(t)
	h := start(t, u, conf("c = up.count", "b = up.bin"), func(o *Options) {
		o.Now = func() time.Time { return time.Unix(1_000_000, clock.Load()) }
	}).bound()
	ours := func(ids []pdu.PMID) bool { // to announce names, at some time
		return ids[0].Domain() == h.agent.options.Domain
	}
	series := h.agent.snapshot.Load().Series
	asked := func(name string) int {
		clock.Add(int64(freshness.MinAge))
		h.id("derived." + name)
		await.Until(t, "the answers", func() bool { return !h.agent.upstream.Awaiting(series) })
		return len(slices.DeleteFunc(u.Fetched(), ours))
	}
	asked("c")
	first := asked("b")
	assert.Equal(t, first, asked("c"))
	assert.Equal(t, first, asked("b"))
	for range 25 { // twice 2 ms each
		asked("c")
		asked("b")
	}
	assert.Equal(t, first+10, asked("c"))
}

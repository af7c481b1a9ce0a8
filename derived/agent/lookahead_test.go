package agent

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A client that looks a few names up again and again needs no new sample each time, until it has fetched.
func TestLookedUpAgain(t *testing.T) {
	b := newBench(t, conf("c = up.count", "b = up.bin", "k = 7"))
	again := func(names ...string) (all []bool) {
		for _, name := range names {
			all = append(all, b.agent.lookAhead(1, b.metric(name)))
		}
		return all
	}
	assert.Equal(t, []bool{false, false}, again("c", "b"))
	assert.Equal(t, []bool{true, true, true}, again("c", "b", "b"))
	assert.False(t, b.agent.lookAhead(2, b.metric("c")), "another client")

	b.fetch(1, 0, "c")
	assert.Equal(t, []bool{false, true}, again("c", "c"), "what was sampled before the fetch is not new")

	b.pass(aheadPause)
	b.agent.schedule.follow(b.now, b.now)
	assert.Equal(t, []bool{true}, again("c"), "it is still sampled for the client")
	b.pass(undecided)
	b.agent.schedule.follow(b.now, b.now)
	assert.Equal(t, []bool{false, true}, again("c", "c"), "the client had lost interest")
}

// Over the pipe: after the first lookup of two, pmcd is asked once for some of them, not every two milliseconds.
func TestLookupsInARow(t *testing.T) {
	var clock atomic.Int64
	h := start(t, newUpstream(t), conf("c = up.count"), func(o *Options) {
		o.Now = func() time.Time { return time.Unix(1_000_000, clock.Load()) }
	}).bound()
	f := h.agent.service.Load().metrics[0].feed
	asked := func() uint64 {
		clock.Add(int64(2 * minGap))
		h.id("derived.c")
		eventually(t, "the answer", func() bool {
			h.agent.sampler.mu.Lock()
			defer h.agent.sampler.mu.Unlock()
			return f.outstanding == 0 && f.newest() != nil
		})
		return h.agent.stats.upstreamFetches.Load()
	}
	first := asked()
	assert.Equal(t, first, asked(), "4 ms later")
	assert.Equal(t, first, asked(), "8 ms later")
	assert.Equal(t, first+1, asked(), "12 ms later")
}

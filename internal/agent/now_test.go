package agent

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
)

// now() alone is the time of the fetch, also long after the start; beside a metric it is the time of its sample, and in
// a function over time that of the tick.
func TestNow(t *testing.T) {
	b := newBench(t, conf("n = now()", "age = now() - mkconst(10, units=sec)", "late = now() > 1 && delta(5) == 0",
		"m = now() + mkconst(0, units=sec) * instant(up.count)", `w = last_sample(now(), "5s")`, "both = w - now()"))
	seconds := func(at time.Time) string { return strconv.FormatFloat(float64(at.UnixNano())/1e9, 'g', -1, 64) }
	require.True(t, b.metric("n").Series.Constant(), "it costs no sample")
	b.now = time.Unix(1_800_000_000, 0)
	for _, passed := range []time.Duration{time.Second, time.Minute, 3 * time.Hour} {
		b.pass(passed)
		assert.Equal(t, seconds(b.now), b.value(1, 0, "n"))
		assert.Equal(t, seconds(b.now.Add(-10*time.Second)), b.value(1, 0, "age"))
		assert.Equal(t, "1", b.value(1, 0, "late"))
	}
	b.agent.sampler.RunDue(b.now)
	b.sample(7, "m")
	sampled := b.now
	b.pass(time.Second / 2)
	assert.Equal(t, seconds(sampled), b.value(1, 0, "m"))
	assert.Equal(t, seconds(sampled), b.value(1, 0, "w"))
	assert.Equal(t, "-0.5", b.value(1, 0, "both"))
}

// The time goes on from fetch to fetch, though nothing is fetched from pmcd.
func TestNowIsServed(t *testing.T) {
	h := start(t, newCollector(t), conf("n = now()")).bound()
	id := h.id("derived.n")
	first := h.value(id)[0]
	await.Until(t, "another time", func() bool { return !assert.ObjectsAreEqual(first, h.value(id)[0]) })
}

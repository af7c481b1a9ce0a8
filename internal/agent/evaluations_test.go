package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/freshness"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Contexts that are served from the same samples share the work.
func TestEvaluationsAreShared(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)", "c = up.count"), withoutWarmStart)
	for i := range 3 {
		b.pass(time.Second)
		b.sample(100+uint64(i), "d", "c")
		for c := range pmda.Client(50) {
			b.fetch(c, 0, "d", "c")
		}
	}
	assert.EqualValues(t, 50*5, b.agent.figures.Values.Load())
	assert.LessOrEqual(t, b.agent.evaluations.Len(), 3, "one for each sample")
}

func TestEvaluationsAreBounded(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)"), withoutWarmStart)
	for i := range 100 {
		b.pass(time.Second)
		b.sample(uint64(i), "d")
		if v := b.value(1, 0, "d"); i > 0 {
			assert.Equal(t, "1", v)
		}
	}
	assert.LessOrEqual(t, b.agent.evaluations.Len(), 4)
}

// Evaluations for contexts that have gone are dropped.
func TestEvaluationsAreDropped(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)", "c = up.count", "one = 1"), withoutWarmStart)
	for i := range history.MaxEvaluations {
		for c := range pmda.Client(2) { // each brings a sample of its own
			b.pass(time.Millisecond)
			b.sample(uint64(10*i), "d", "c")
			b.value(c, 0, "d")
		}
	}
	b.value(1, 0, "one")
	b.value(1, 0, "c")
	many := b.agent.evaluations.Len()
	assert.Greater(t, many, 2)

	b.pass(freshness.NeverServed - time.Second)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Equal(t, many, b.agent.evaluations.Len(), "there may be contexts that fetch so seldom")
	b.pass(time.Second)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Equal(t, many, b.agent.evaluations.Len(), "they are not dropped all the time")
	b.pass(freshness.ForgetInterval)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	require.Equal(t, 2, b.agent.evaluations.Len(), "memory for one, and that of constants")
	b.pass(freshness.ForgetInterval)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Equal(t, 2, b.agent.evaluations.Len(), "and again")

	b.sample(1000, "d", "c")
	assert.Equal(t, "1000", b.value(1, 0, "c"))
	require.Equal(t, 2, b.agent.evaluations.Len(), "its memory was used")
	assert.Equal(t, "1", b.value(1, 0, "one"))
}

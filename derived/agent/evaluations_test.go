package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/upstream"
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
	assert.EqualValues(t, 3, b.agent.figures.Evaluations.Load())
	assert.EqualValues(t, 50*5, b.agent.figures.Values.Load())
	assert.LessOrEqual(t, len(b.agent.evaluations.all), maxEvaluations)
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
	assert.LessOrEqual(t, len(b.agent.evaluations.all), evaluationFetches+2)
}

// What was computed for contexts that fetched other lists and have gone is not kept for ever.
func TestEvaluationsAreForgotten(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)", "c = up.count", "one = 1"), withoutWarmStart)
	for i := range maxEvaluations {
		for c := range pmda.Client(2) { // each brings a sample of its own
			b.pass(time.Millisecond)
			b.sample(uint64(10*i), "d", "c")
			b.value(c, 0, "d")
		}
	}
	b.value(1, 0, "one")
	b.value(1, 0, "c")
	many := len(b.agent.evaluations.all)
	assert.Greater(t, many, 2)

	b.pass(upstream.OldEnough - time.Second)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Len(t, b.agent.evaluations.all, many, "there may be contexts that fetch so seldom")
	b.pass(time.Second)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Len(t, b.agent.evaluations.all, many, "it is not looked all the time")
	b.pass(upstream.ForgetGap)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	require.Len(t, b.agent.evaluations.all, 2, "memory for one, and that of constants")
	assert.Same(t, b.agent.constant[0], b.agent.evaluations.all[0].history[0])
	assert.Empty(t, b.agent.evaluations.all[1].history)
	kept := b.agent.evaluations.all[1].memory
	b.pass(upstream.ForgetGap)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Len(t, b.agent.evaluations.all, 2, "and again")

	b.sample(1000, "d", "c")
	assert.Equal(t, "1000", b.value(1, 0, "c"))
	require.Len(t, b.agent.evaluations.all, 2)
	assert.True(t, slices.ContainsFunc(b.agent.evaluations.all, func(k *evaluation) bool { return k.memory == kept }), "its memory was used")
	assert.Equal(t, "1", b.value(1, 0, "one"))
}

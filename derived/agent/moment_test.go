package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	assert.LessOrEqual(t, len(b.agent.moments), maxMoments)
}

func TestMomentsAreBounded(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)"), withoutWarmStart)
	for i := range 100 {
		b.pass(time.Second)
		b.sample(uint64(i), "d")
		if v := b.value(1, 0, "d"); i > 0 {
			assert.Equal(t, "1", v)
		}
	}
	assert.LessOrEqual(t, len(b.agent.moments), momentFetches+2)
}

// What was computed for contexts that fetched other lists and have gone is not kept for ever.
func TestMomentsAreForgotten(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)", "c = up.count", "one = 1"), withoutWarmStart)
	for i := range maxMoments {
		for c := range pmda.Client(2) { // each brings a sample of its own
			b.pass(time.Millisecond)
			b.sample(uint64(10*i), "d", "c")
			b.value(c, 0, "d")
		}
	}
	b.value(1, 0, "one")
	b.value(1, 0, "c")
	many := len(b.agent.moments)
	assert.Greater(t, many, 2)

	b.pass(oldEnough - time.Second)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Len(t, b.agent.moments, many, "there may be contexts that fetch so seldom")
	b.pass(time.Second)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Len(t, b.agent.moments, many, "it is not looked all the time")
	b.pass(forgetGap)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	require.Len(t, b.agent.moments, 2, "memory for one, and that of constants")
	assert.Same(t, b.agent.constant[0], b.agent.moments[0].history[0])
	assert.Empty(t, b.agent.moments[1].history)
	kept := b.agent.moments[1].eval
	b.pass(forgetGap)
	b.agent.Before(0, pdu.KindDescReq, b.now)
	assert.Len(t, b.agent.moments, 2, "and again")

	b.sample(1000, "d", "c")
	assert.Equal(t, "1000", b.value(1, 0, "c"))
	require.Len(t, b.agent.moments, 2)
	assert.True(t, slices.ContainsFunc(b.agent.moments, func(k *moment) bool { return k.eval == kept }), "its memory was used")
	assert.Equal(t, "1", b.value(1, 0, "one"))
}

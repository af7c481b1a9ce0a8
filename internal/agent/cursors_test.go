package agent

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// What becomes of a client's look at functions over time when lists, definitions and operands go and come.

// A list of a context that is dropped, because there are too many, takes nothing from the others.
func TestDroppedListLeavesLook(t *testing.T) {
	b := newBench(t, conf("n = sum_sample(instant(up.count))", "c = count_sample(instant(up.count))"))
	b.agent.contexts.maxCount = 2
	b.fetch(1, 0, "n", "c")
	b.agent.sampler.RunDue(b.now) // it is woken
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	b.tick(10)
	assert.Equal(t, "10", b.value(1, 0, "n"))
	b.value(2, 0, "c") // the first list is dropped
	b.tick(100)
	assert.Equal(t, "100", b.value(1, 0, "n"))
}

// A list of a context that comes often takes nothing from one that comes seldom, when it has gone.
func TestFrequentListLeavesLook(t *testing.T) {
	b := newBench(t, conf("n = sum_sample(instant(up.count))", "c = count_sample(instant(up.count))"))
	seldom := func() string {
		for range 120 {
			b.tick(1)
		}
		return b.value(1, 0, "n")
	}
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // it is woken
	assert.Equal(t, "120", seldom())
	for range 3 {
		b.tick(1)
		b.fetch(1, 0, "n", "c")
	}
	assert.Equal(t, "120", seldom())
}

// What a client was told of one metric does not keep in memory what came of others.
func TestLookKeepsItsOwn(t *testing.T) {
	b := newBench(t, conf("n = sum_sample(instant(up.count))", "c = count_sample(instant(up.count))"))
	b.value(1, 0, "n")
	told := weak.Make(b.agent.snapshot.Load().Results.Latest().Shared())
	b.agent.sampler.RunDue(b.now) // it is woken
	for range 5 {
		b.tick(1)
		b.value(2, 0, "n")
	}
	eventually(t, "they are let go of", func() bool {
		runtime.GC()
		return told.Value() == nil
	})
	assert.Equal(t, "5", b.value(1, 0, "n"))
}

// A client that fetches all the time is not forgotten while operands have no values for it.
func TestLookWhileOperandsAreStale(t *testing.T) {
	b := newBench(t, conf("m = sum_sample(instant(up.count)) + 0 * (up.count < 0 ? up.load : instant(up.count) / 1)"))
	look := func() string { return b.value(1, 0, "m") }
	b.sample(1, "m")
	look()
	b.agent.sampler.RunDue(b.now) // it is woken
	for range 10 {
		b.tick(1)
	}
	b.sample(1, "m")
	look()
	for range 10 {
		b.tick(1)
	}
	b.sample(1, "m")
	assert.Equal(t, "10", look())
	for i := range 12 {
		for range 10 {
			b.tick(1)
		}
		if i == 0 {
			continue // it is not stale yet
		}
		assert.Equal(t, pdu.ErrAgain.Error(), look())
	}
	b.sample(1, "m")
	assert.Equal(t, "120", look())
}

// A window with a span is as new beside one that is since the last look as alone.
func TestSpanBesideLook(t *testing.T) {
	b := newBench(t, conf(`m = 0 * max_sample(instant(up.count)) + last_sample(instant(up.count), "10s")`, `f = last_sample(instant(up.count), "10s")`))
	b.value(1, 0, "m")
	b.agent.sampler.RunDue(b.now) // it is woken
	for n := range uint64(5) {
		b.tick(10 + n)
		assert.Equal(t, b.value(1, 0, "f"), b.value(1, 0, "m"))
	}
}

// A definition that comes while a tick is under way begins with the next one.
func TestNewDefinitionDuringTick(t *testing.T) {
	n := "n = sum_sample(instant(up.count))"
	b := newBench(t, conf(n))
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // it is woken
	b.tick(1)
	b.pass(time.Second)
	b.agent.sampler.RunDue(b.now)
	b.serve(conf(n, "m = sum_sample(2 * instant(up.count))", "mean = sum_sample(instant(up.count)) / count_sample(instant(up.count))"))
	assert.Equal(t, pdu.ErrAgain.Error(), b.value(1, 0, "m"))
	for _, s := range b.site.before.Windows {
		b.agent.upstream.Store(b.sample(10), s)
	}
	b.agent.sampler.RunDue(b.now.Add(10 * ms))
	assert.Equal(t, pdu.ErrAgain.Error(), b.value(2, 0, "mean"), "one part has two ticks, the other none")
	b.tick(100)
	assert.Equal(t, "100", b.value(2, 0, "mean"))
	assert.Equal(t, "200", b.value(1, 0, "m"))
	assert.Equal(t, "200", b.value(2, 0, "m"), "a client at its first look")
}

// Ticks are not numbered anew while there is nothing that is since the last look: who has seen one before gets none twice.
func TestLookAfterNothingToLookAt(t *testing.T) {
	n, f := "n = sum_sample(instant(up.count))", `f = max_sample(instant(up.count), "5s")`
	b := newBench(t, conf(n, f))
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // it is woken
	for range 12 {
		b.tick(1)
	}
	b.value(1, 0, "n")
	b.serve(conf(f))
	b.serve(conf(n, f))
	b.value(2, 0, "n")
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now)
	for i := range 20 {
		b.tick(1)
		assert.Equal(t, "1", b.value(1, 0, "n"), "tick %d", i+1)
	}
}

// A definition that is added beside others of the same operands is of the same ticks in all its parts.
func TestNewAverage(t *testing.T) {
	b := newBench(t, conf("u = sum_sample(instant(up.count))"))
	b.value(1, 0, "u")
	b.agent.sampler.RunDue(b.now) // it is woken
	for range 20 {
		b.tick(1)
		b.value(1, 0, "u")
	}
	b.serve(conf("u = sum_sample(instant(up.count))", "mean = sum_sample(instant(up.count)) / count_sample(instant(up.count))"))
	for range 2 {
		b.tick(1)
	}
	assert.Equal(t, "1", b.value(2, 0, "mean"), "an average of ones")
	assert.Equal(t, "2", b.value(1, 0, "u"), "who has looked before has all ticks since")
}

// So is one that was edited, also for who has seen it before.
func TestEditedAverage(t *testing.T) {
	b := newBench(t, conf("m = sum_sample(instant(up.count)) / 1", "u = sum_sample(instant(up.count))"))
	look := func() string { return b.value(1, 0, "m") }
	look()
	b.agent.sampler.RunDue(b.now) // it is woken
	b.tick(1)
	assert.Equal(t, "1", look())
	id := b.metric("m").ID
	for range 40 {
		b.tick(1)
	}
	b.serve(conf("m = sum_sample(instant(up.count)) / sum_sample(2 * instant(up.count))", "u = sum_sample(instant(up.count))"))
	require.Equal(t, id, b.metric("m").ID)
	for range 5 {
		b.tick(1)
	}
	assert.Equal(t, "0.5", look(), "half")
}

// And one that was edited to have a window that another one has kept: the client that has seen the one was told nothing of the other.
func TestEditedToWindowOfAnother(t *testing.T) {
	b := newBench(t, conf("m = sum_sample(instant(up.count)) / 1", "u = last_sample(instant(up.count))"))
	look := func() string { return b.value(1, 0, "m") }
	look()
	b.value(2, 0, "u")
	b.agent.sampler.RunDue(b.now) // it is woken
	b.tick(7)
	b.value(2, 0, "u")
	assert.Equal(t, "7", look())
	id := b.metric("m").ID
	b.serve(conf("m = last_sample(instant(up.count)) / 1", "u = last_sample(instant(up.count))"))
	require.Equal(t, id, b.metric("m").ID)
	assert.Equal(t, "7", look())
	assert.Equal(t, "7", look(), "the same again")
	b.tick(8)
	assert.Equal(t, "8", look())
}

// A tick that is due just when other definitions are served is not lost.
func TestTickDueWhenDefinitionsCome(t *testing.T) {
	n := "n = sum_sample(instant(up.count))"
	b := newBench(t, conf(n))
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // it is woken
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	b.pass(time.Second)
	b.serve(conf(n, "c = count_sample(instant(up.count))"))
	b.agent.sampler.RunDue(b.now)
	for _, s := range b.site.before.Windows {
		b.agent.upstream.Store(b.sample(7), s)
	}
	b.agent.sampler.RunDue(b.now.Add(10 * ms))
	assert.Equal(t, "7", b.value(1, 0, "n"))
}

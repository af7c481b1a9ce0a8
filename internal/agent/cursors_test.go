package agent

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/pdu"
)

// These tests follow the cursors of clients in per-client windows while lists, definitions and operands go and come.

// A list of a context that is dropped, because there are too many, takes nothing from the others.
func TestDroppedListKeepsCursor(t *testing.T) {
	b := newBench(t, conf("n = sum_sample(instant(up.count))", "c = count_sample(instant(up.count))"))
	b.agent.contexts.maxCount = 2
	b.fetch(1, 0, "n", "c")
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	b.tick(10)
	assert.Equal(t, "10", b.value(1, 0, "n"))
	b.value(2, 0, "c") // the first list is dropped
	b.tick(100)
	assert.Equal(t, "100", b.value(1, 0, "n"))
}

// A list that a context fetches often, and then no more, takes nothing from one that it fetches seldom.
func TestFrequentListKeepsCursor(t *testing.T) {
	b := newBench(t, conf("n = sum_sample(instant(up.count))", "c = count_sample(instant(up.count))"))
	seldom := func() string {
		for range 120 {
			b.tick(1)
		}
		return b.value(1, 0, "n")
	}
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // wakeRun
	assert.Equal(t, "120", seldom())
	for range 3 {
		b.tick(1)
		b.fetch(1, 0, "n", "c")
	}
	assert.Equal(t, "120", seldom())
}

// A cursor keeps the results of its own metric in memory, not those of others.
func TestCursorKeepsItsOwnResults(t *testing.T) {
	b := newBench(t, conf("n = sum_sample(instant(up.count))", "c = count_sample(instant(up.count))"))
	b.value(1, 0, "n")
	results := weak.Make(b.agent.snapshot.Load().Published.Latest().Results)
	b.agent.sampler.RunDue(b.now) // wakeRun
	for range 5 {
		b.tick(1)
		b.value(2, 0, "n")
	}
	await.Until(t, "they are let go of", func() bool {
		runtime.GC()
		return results.Value() == nil
	})
	assert.Equal(t, "5", b.value(1, 0, "n"))
}

// A client that fetches all the time is not forgotten while operands have no values for it.
func TestCursorWhileOperandsAreStale(t *testing.T) {
	b := newBench(t, conf("m = sum_sample(instant(up.count)) + 0 * (up.count < 0 ? up.load : instant(up.count) / 1)"))
	read := func() string { return b.value(1, 0, "m") }
	b.sample(1, "m")
	read()
	b.agent.sampler.RunDue(b.now) // wakeRun
	for range 10 {
		b.tick(1)
	}
	b.sample(1, "m")
	read()
	for range 10 {
		b.tick(1)
	}
	b.sample(1, "m")
	assert.Equal(t, "10", read())
	for i := range 12 {
		for range 10 {
			b.tick(1)
		}
		if i == 0 {
			continue // it is not stale yet
		}
		assert.Equal(t, pdu.ErrAgain.Error(), read())
	}
	b.sample(1, "m")
	assert.Equal(t, "120", read())
}

// A window with a span is as new beside a per-client window as alone.
func TestSpanBesidePerClientWindow(t *testing.T) {
	b := newBench(t, conf(
		`m = 0 * max_sample(instant(up.count)) + last_sample(instant(up.count), "10s")`,
		`f = last_sample(instant(up.count), "10s")`,
	))
	b.value(1, 0, "m")
	b.agent.sampler.RunDue(b.now) // wakeRun
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
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(1)
	b.pass(time.Second)
	b.agent.sampler.RunDue(b.now)
	b.serve(conf(
		n, "m = sum_sample(2 * instant(up.count))",
		"mean = sum_sample(instant(up.count)) / count_sample(instant(up.count))",
	))
	assert.Equal(t, pdu.ErrAgain.Error(), b.value(1, 0, "m"))
	for _, s := range b.site.before.WindowSeries {
		b.agent.upstream.Store(b.sample(10), s)
	}
	b.agent.sampler.RunDue(b.now.Add(10 * ms))
	assert.Equal(t, pdu.ErrAgain.Error(), b.value(2, 0, "mean"), "one part has two ticks, the other none")
	b.tick(100)
	assert.Equal(t, "100", b.value(2, 0, "mean"))
	assert.Equal(t, "200", b.value(1, 0, "m"))
	assert.Equal(t, "200", b.value(2, 0, "m"), "the first fetch of a client")
}

// Ticks are not numbered again from 1 after a set without per-client windows: no client gets a tick twice.
func TestCursorAfterSetWithoutPerClientWindows(t *testing.T) {
	n, f := "n = sum_sample(instant(up.count))", `f = max_sample(instant(up.count), "5s")`
	b := newBench(t, conf(n, f))
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // wakeRun
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

// All windows of a new definition have the same ticks, although an older definition has one of them.
func TestNewAverage(t *testing.T) {
	b := newBench(t, conf("u = sum_sample(instant(up.count))"))
	b.value(1, 0, "u")
	b.agent.sampler.RunDue(b.now) // wakeRun
	for range 20 {
		b.tick(1)
		b.value(1, 0, "u")
	}
	b.serve(
		conf("u = sum_sample(instant(up.count))", "mean = sum_sample(instant(up.count)) / count_sample(instant(up.count))"),
	)
	for range 2 {
		b.tick(1)
	}
	assert.Equal(t, "1", b.value(2, 0, "mean"), "an average of ones")
	assert.Equal(t, "2", b.value(1, 0, "u"), "a client that has read it before has all ticks since")
}

// All windows of an edited definition have the same ticks, also for a client that has read it before.
func TestEditedAverage(t *testing.T) {
	b := newBench(t, conf("m = sum_sample(instant(up.count)) / 1", "u = sum_sample(instant(up.count))"))
	read := func() string { return b.value(1, 0, "m") }
	read()
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(1)
	assert.Equal(t, "1", read())
	id := b.metric("m").Served.ID
	for range 40 {
		b.tick(1)
	}
	b.serve(
		conf("m = sum_sample(instant(up.count)) / sum_sample(2 * instant(up.count))", "u = sum_sample(instant(up.count))"),
	)
	require.Equal(t, id, b.metric("m").Served.ID)
	for range 5 {
		b.tick(1)
	}
	assert.Equal(t, "0.5", read(), "half")
}

// So do those of a definition that was edited to have the window of another one, which the client has not read.
func TestEditedToWindowOfAnother(t *testing.T) {
	b := newBench(t, conf("m = sum_sample(instant(up.count)) / 1", "u = last_sample(instant(up.count))"))
	read := func() string { return b.value(1, 0, "m") }
	read()
	b.value(2, 0, "u")
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(7)
	b.value(2, 0, "u")
	assert.Equal(t, "7", read())
	id := b.metric("m").Served.ID
	b.serve(conf("m = last_sample(instant(up.count)) / 1", "u = last_sample(instant(up.count))"))
	require.Equal(t, id, b.metric("m").Served.ID)
	assert.Equal(t, "7", read())
	assert.Equal(t, "7", read(), "the same again")
	b.tick(8)
	assert.Equal(t, "8", read())
}

// A tick that is due just when a new set is applied is not lost.
func TestTickDueWhenSetIsApplied(t *testing.T) {
	n := "n = sum_sample(instant(up.count))"
	b := newBench(t, conf(n))
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	b.pass(time.Second)
	b.serve(conf(n, "c = count_sample(instant(up.count))"))
	b.agent.sampler.RunDue(b.now)
	for _, s := range b.site.before.WindowSeries {
		b.agent.upstream.Store(b.sample(7), s)
	}
	b.agent.sampler.RunDue(b.now.Add(10 * ms))
	assert.Equal(t, "7", b.value(1, 0, "n"))
}

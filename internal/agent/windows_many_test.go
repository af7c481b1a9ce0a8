package agent

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
)

// A client gets its last result again if there is no newer tick, however many sets were applied since.
func TestNothingNewAfterReloads(t *testing.T) {
	b := newBench(t, conf("n = max_sample(instant(up.count))"))
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	for i := range 100 {
		b.serve(conf(fmt.Sprintf(`a = max_sample(up.load, "%ds")`, i+1), "n = max_sample(instant(up.count))"))
	}
	assert.Equal(t, "1", b.value(1, 0, "n"))
	b.tick(2)
	assert.Equal(t, "2", b.value(1, 0, "n"))
}

// All definitions with one interval share a fetch at each tick, however many they are.
func TestOneFetchForEachTick(t *testing.T) {
	fetches := func(definitions int) float64 { // in ten ticks, with the few others that the agent sends
		up := newCollector(t)
		manyOperands(up)
		up.Update(func() { up.Time = time.Time{} })
		var lines []string
		for i := range definitions {
			lines = append(lines, fmt.Sprintf(`m%d = max_sample(instant(many.g%d.m%d), "1s", "0.1")`, i, i/100, i))
		}
		h := start(t, up, conf(lines...), withoutWarmStart).bound()
		defer h.stop()
		f := &h.agent.figures
		ticks := func() uint64 { return f.WindowTicks.Load() / uint64(definitions) }
		await.Until(t, "a tick", func() bool { return ticks() >= 1 })
		first, before := ticks(), f.UpstreamFetches.Load()
		await.Until(t, "ten more", func() bool { return ticks() >= first+10 })
		return float64(f.UpstreamFetches.Load()-before) * 10 / float64(ticks()-first)
	}
	one := fetches(1)
	assert.InDelta(t, one, fetches(10), 3)
	assert.InDelta(t, one, fetches(100), 3)
}

// A reload that changes one of 5,000 definitions, 500 of them with windows, keeps the windows of all others.
func TestReloadOfManyKeepsWindows(t *testing.T) {
	lines := make([]string, 5000)
	for i := range lines {
		lines[i] = fmt.Sprintf("m%d = up.count * %d", i, i+2)
		if i%10 == 0 {
			lines[i] = fmt.Sprintf(`m%d = sum_sample(instant(up.count) + %d, "10s")`, i, i)
		}
	}
	b := newBench(t, conf(lines...))
	b.tick(1)
	b.tick(2)
	lines[1230], lines[4001] = `m1230 = sum_sample(instant(up.count) + 7, "10s")`, "m4001 = up.count"
	b.serve(conf(lines...))
	b.tick(3)
	require.EqualValues(t, 500, b.agent.figures.Windows.Load())
	for i := 0; i < len(lines); i += 10 {
		want := fmt.Sprint(1 + 2 + 3 + 3*i)
		if i == 1230 {
			want = "10"
		}
		require.Equal(t, want, b.value(1, 0, fmt.Sprintf("m%d", i)), "m%d", i)
	}
}

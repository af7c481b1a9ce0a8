package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmdatest"
)

// tick lets a second pass and gives the functions over time of metrics a sample of up.count.
func (b *bench) tick(n uint64) {
	b.tb.Helper()
	b.pass(time.Second)
	b.agent.keeper.Look(b.now)
	for _, s := range b.site.before.Windows {
		if s != nil {
			b.agent.upstream.Store(b.sample(n), s)
		}
	}
	b.agent.keeper.Look(b.now.Add(10 * ms))
}

// All clients get what came to be until the newest tick, also one that fetches for the first time.
func TestFunctionsOverTime(t *testing.T) {
	b := newBench(t, conf(`peak = max_sample(delta(up.count), "5s")`, `ticks = count_sample(instant(up.count), "5s")`))
	assert.Equal(t, pdu.ErrAgain.Error(), b.value(1, 0, "peak"))
	b.tick(0)
	assert.Equal(t, pdu.ErrAgain.Error(), b.value(1, 0, "peak"), "nothing to compare with")
	assert.Equal(t, "1", b.value(1, 0, "ticks"))
	for _, n := range []uint64{10, 110, 120, 130} {
		b.tick(n)
	}
	b.pass(900 * ms)
	assert.Equal(t, "100", b.value(2, 0, "peak"))
	assert.Equal(t, "5", b.value(2, 0, "ticks"))
	b.pass(100 * ms)
	b.now = b.now.Add(-time.Second)
	for range 5 {
		b.tick(200)
	}
	assert.Equal(t, "70", b.value(2, 0, "peak"))
	b.tick(200)
	assert.Equal(t, "0", b.value(1, 0, "peak"))
	f := &b.agent.figures
	assert.EqualValues(t, 2, f.Windows.Load())
	assert.EqualValues(t, 10, f.WindowValues.Load())
	assert.EqualValues(t, 2*11-1, f.WindowTicks.Load())
	assert.EqualValues(t, 1, f.WindowGaps.Load())
}

// A sample that is late is none; after four gaps there is no value.
func TestTickWithoutSample(t *testing.T) {
	b := newBench(t, conf(`n = sum_sample(instant(up.count), "10s")`))
	b.tick(7)
	late := func() {
		b.pass(time.Second)
		b.agent.keeper.Look(b.now)
		b.pass(501 * ms)
		b.agent.upstream.Store(b.sample(1000), b.site.before.Windows[0])
		b.agent.keeper.Look(b.now)
		b.pass(-501 * ms)
	}
	for range 3 {
		late()
		assert.Equal(t, "7", b.value(1, 0, "n"))
	}
	late()
	assert.Equal(t, pdu.ErrAgain.Error(), b.value(1, 0, "n"))
	b.tick(1)
	assert.Equal(t, "8", b.value(1, 0, "n"))
	assert.EqualValues(t, 4, b.agent.figures.WindowGaps.Load())
}

// A sample that was made for a client just before a tick is that of the tick.
func TestTickTakesTheSampleOfAClient(t *testing.T) {
	b := newBench(t, conf(`n = last_sample(instant(up.count), "10s")`, "c = up.count"))
	assert.Same(t, b.metric("c").Series, b.site.before.Windows[0])
	b.pass(995 * ms)
	b.sample(5, "c")
	b.pass(5 * ms)
	b.agent.keeper.Look(b.now)
	assert.Equal(t, "5", b.value(1, 0, "n"))
}

// A reload leaves windows that it does not change as they are, also one whose sample is on its way.
func TestReloadKeepsWindows(t *testing.T) {
	b := newBench(t, conf(`n = sum_sample(instant(up.count), "10s")`, `other = max_sample(up.load, "5s")`))
	b.tick(1)
	b.tick(2)
	b.pass(time.Second)
	b.agent.keeper.Look(b.now)
	b.serve(conf(`n = sum_sample(instant(up.count), "10s")`, `other = max_sample(up.load, "6s")`, `more = min_sample(delta(up.count), "5s")`))
	assert.Equal(t, "3", b.value(1, 0, "n"))
	for _, s := range b.site.before.Windows {
		b.agent.upstream.Store(b.sample(4), s)
	}
	b.agent.keeper.Look(b.now.Add(10 * ms))
	assert.Equal(t, "7", b.value(1, 0, "n"))
	b.tick(5)
	assert.Equal(t, "1", b.value(1, 0, "more"))
	b.serve(conf("nothing = up.count"))
	assert.EqualValues(t, 0, b.agent.figures.Windows.Load())
	b.serve(conf(`n = sum_sample(instant(up.count), "10s")`))
	assert.Equal(t, pdu.ErrAgain.Error(), b.value(1, 0, "n"), "it was gone")
}

// Values of now and of windows in one metric, and many fetches of it.
func TestWindowsBesideOperands(t *testing.T) {
	b := newBench(t, conf(`share = instant(up.count) / max_sample(instant(up.count), "5s")`))
	for i := range uint64(20) {
		b.tick(100)
		b.sample(i, "share")
		require.Equal(t, fmt.Sprint(float64(i)/100), b.value(1, 0, "share"))
	}
	assert.LessOrEqual(t, b.agent.evaluations.Len(), 4)
}

// Memory has a limit, and a definition that is beyond it says so.
func TestLimitOfWindows(t *testing.T) {
	b := newBench(t, conf(`n = sum_sample(instant(up.count), "10s")`, `m = sum_sample(instant(up.count), "100s")`), func(o *Options) { o.Limits.Windows = 100 })
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	assert.Equal(t, pdu.ErrTooBig.Error(), b.value(1, 0, "m"))
	b.agent.figures.Connected.Store(true)
	snap := b.agent.snapshot.Load()
	assert.Empty(t, b.agent.problem(snap, b.metric("n")))
	assert.Contains(t, b.agent.problem(snap, b.metric("m")), "limit windows")
}

// The whole at work: samples that come over a connection, groups, other definitions meanwhile.
func TestWindowsAtWork(t *testing.T) {
	lines := []string{
		`n = count_sample(up.load, "0.5", "0.1")`, `g = max_sample(sum(up.bin) by (/^t|one/), "0.5", "0.1")`, `r = sum_sample(delta(up.count), "1 hour", "0.1")`,
	}
	up := newCollector(t)
	up.Update(func() { up.Time = time.Time{} }) // that of the moment
	h := start(t, up, conf(lines...)).bound()
	n, g, r := h.id("derived.n"), h.id("derived.g"), h.id("derived.r")
	eventually(t, "a window that is full", func() bool { return slices.Equal(bitsOf(h.value(n)), []uint64{5}) })
	groups := h.value(g)
	require.Len(t, groups, 2)
	eventually(t, "something to count from", func() bool { return len(h.fetch(r)[0].Values) > 0 })
	reply := pmdatest.As[*pdu.InstanceReply](h.pmcd, h.pmcd.Request(&pdu.InstanceReq{InDom: pdu.NewInDom(testDomain, 64), Inst: pdu.NoInst}))
	assert.Len(t, reply.Instances, 2)
	for i := range 5 {
		up.Update(func() { up.Metrics[1].Values = []pdu.Value{pdu.Uint64Value(pdu.NoInst, uint64(101+i))} })
		h.reload(conf(append(lines, fmt.Sprintf(`x = max_sample(up.load, "%ds", "0.1")`, i+1))...))
	}
	eventually(t, "all that was counted", func() bool { return pdu.TypeDouble.Float64(h.value(r)[0].Bits) == 5 })
	assert.GreaterOrEqual(t, h.agent.figures.WindowTicks.Load(), uint64(15))
	assert.EqualValues(t, 4, h.agent.figures.Windows.Load())
}

func bitsOf(values []pdu.Value) (all []uint64) {
	for _, v := range values {
		all = append(all, v.Bits)
	}
	return all
}

package agent

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/await"
	"pmdaderived/internal/growth"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi/pmapitest"
	"pmdaderived/pmda/pmdatest"
)

// tick lets a second pass and gives the functions over time of metrics a sample of up.count.
func (b *bench) tick(n uint64) {
	b.tb.Helper()
	b.pass(time.Second)
	b.agent.sampler.RunDue(b.now)
	for _, s := range b.site.before.WindowSeries {
		if s != nil {
			b.agent.upstream.Store(b.sample(n), s)
		}
	}
	b.agent.sampler.RunDue(b.now.Add(10 * ms))
}

// All clients get the results up to the newest tick, also one that fetches for the first time.
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
	assert.EqualValues(t, 2*11-1, f.WindowTicks.Load())
}

// A value that is not finite does not count, and nothing else happens. A window without values is no error.
func TestTicksWithoutValues(t *testing.T) {
	b := newBench(t, conf(`n = max_sample(1 / (instant(up.count) - 1), "6s")`))
	want := []string{"1", "1", "1", "1", "1", "1", "0.5", "no value", "no value", "1"}
	for i, n := range []uint64{2, 3, 1, 1, 1, 1, 1, 1, 1, 2} {
		b.tick(n)
		assert.Equal(t, want[i], b.value(1, 0, "n"), "tick %d", i)
	}
	assert.EqualValues(t, len(want), b.agent.figures.WindowTicks.Load())
}

// A tick with 0 / 0 does not count; elsewhere it is 0.
func TestNothingByNothingInWindow(t *testing.T) {
	b := newBench(t, conf("ratio = delta(up.count) / delta(up.count)", `n = min_sample(ratio, "3s")`))
	b.tick(5)
	want := [][]string{{"1", "no value"}, {"1", "0"}, {"1", "0"}, {"no value", "0"}, {"1", "1"}}
	for i, n := range []uint64{7, 7, 7, 7, 8} {
		b.tick(n)
		b.sample(n, "ratio")
		assert.Equal(t, want[i], []string{b.value(1, 0, "n"), b.value(1, 0, "ratio")}, "tick %d", i)
	}
}

// A tick at which a counter fell does not count; elsewhere its delta is negative.
func TestCounterFallsInWindow(t *testing.T) {
	b := newBench(t, conf(`n = sum_sample(delta(up.count), "9s")`, "d = delta(up.count)"))
	b.tick(100)
	want := [][]string{{"10", "no value"}, {"10", "-105"}, {"20", "10"}}
	for i, n := range []uint64{110, 5, 15} {
		b.tick(n)
		b.sample(n, "d")
		assert.Equal(t, want[i], []string{b.value(1, 0, "n"), b.value(1, 0, "d")}, "tick %d", i)
	}
}

// A late sample is not used; after four gaps there is no value.
func TestTickWithoutSample(t *testing.T) {
	b := newBench(t, conf(`n = sum_sample(instant(up.count), "10s")`))
	b.tick(7)
	late := func() {
		b.pass(time.Second)
		b.agent.sampler.RunDue(b.now)
		b.pass(501 * ms)
		b.agent.upstream.Store(b.sample(1000), b.site.before.WindowSeries[0])
		b.agent.sampler.RunDue(b.now)
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
}

// A sample that was made for a client just before a tick is the sample of the tick.
func TestTickTakesTheSampleOfAClient(t *testing.T) {
	b := newBench(t, conf(`n = last_sample(instant(up.count), "10s")`, "c = up.count"))
	assert.Same(t, b.metric("c").Series, b.site.before.WindowSeries[0])
	b.pass(995 * ms)
	b.sample(5, "c")
	b.pass(5 * ms)
	b.agent.sampler.RunDue(b.now)
	assert.Equal(t, "5", b.value(1, 0, "n"))
}

// A latch has the results of the functions within it at the same tick, also if they have another interval. Clients get
// the same state, and a reload leaves it.
func TestLatch(t *testing.T) {
	lines := []string{
		`x = latch(max_sample(instant(up.count), "2s", "2s") > 90, max_sample(instant(up.count), "2s") < 70)`,
		`y = latch(max_sample(instant(up.count), "2s", "2s") > 90 && x, instant(up.count) < 70)`,
	}
	b := newBench(t, conf(lines...))
	b.now = b.now.Truncate(2 * time.Second)
	assert.Equal(t, "0", b.value(1, 0, "x"))
	want := [][]string{{"0", "0"}, {"1", "1"}, {"1", "1"}, {"1", "0"}, {"0", "0"}, {"1", "1"}, {"1", "1"}}
	for i, n := range []uint64{50, 95, 80, 69, 69, 95, 80} {
		b.tick(n)
		assert.Equal(t, want[i], []string{b.value(1, 0, "x"), b.value(2, 0, "y")}, "tick %d", i)
	}
	b.tick(50)
	b.tick(99)
	b.tick(99)
	b.serve(conf(append(lines, "z = up.count")...))
	assert.Equal(t, "1", b.value(1, 0, "x"))
	b.serve(conf(`x = latch(instant(up.count) > 90, instant(up.count) < 70, "2s")`))
	assert.Equal(t, "0", b.value(1, 0, "x"), "its conditions are other ones")
}

// Two instances exchange their numbers when their agent restarts: windows and latches of each begin anew once its name
// is known, and others go on.
func TestNumbersChangeHands(t *testing.T) {
	u := newCollector(t)
	h := start(t, u, conf(`peak = max_sample(up.bin, "1hour", "1s")`, `on = latch(up.bin == 30, 0)`)).bound()
	peak, on := h.id("derived.peak"), h.id("derived.on")
	are := func(what string, peaks, states []uint64) {
		await.Until(t, what, func() bool {
			sets := h.fetch(peak, on)
			return slices.Equal(bitsOf(sets[0].Values), peaks) && slices.Equal(bitsOf(sets[1].Values), states)
		})
	}
	low := uint64(uint32(0xffffffec)) // -20
	are("the first values", []uint64{10, low, 30}, []uint64{0, 0, 1})
	values := []pdu.Value{pdu.Int32Value(1, 1), pdu.Int32Value(2, -20), pdu.Int32Value(3, 3)}
	u.tick(time.Second, map[pdu.PMID][]pdu.Value{binID: values})
	u.Update(func() {
		u.InDoms[binDom] = pmapitest.InDom{Instances: []pdu.Instance{{ID: 1, Name: "three"}, {ID: 2, Name: "two"}, {ID: 3, Name: "one"}}}
	})
	u.Announce(pdu.ChangeRestartAgent)
	are("values of what the numbers stand for now", []uint64{1, low, 3}, []uint64{0, 0, 0})
}

// A reload leaves windows that it does not change as they are, also one whose sample is on its way.
func TestReloadKeepsWindows(t *testing.T) {
	b := newBench(t, conf(`n = sum_sample(instant(up.count), "10s")`, `other = max_sample(up.load, "5s")`))
	b.tick(1)
	b.tick(2)
	b.pass(time.Second)
	b.agent.sampler.RunDue(b.now)
	b.serve(conf(`n = sum_sample(instant(up.count), "10s")`, `other = max_sample(up.load, "6s")`,
		`more = min_sample(delta(up.count), "5s")`,
		`added = count_sample(instant(up.count), "10s")`))
	assert.Equal(t, "3", b.value(1, 0, "n"))
	for _, s := range b.site.before.WindowSeries {
		b.agent.upstream.Store(b.sample(4), s)
	}
	b.agent.sampler.RunDue(b.now.Add(10 * ms))
	assert.Equal(t, "7", b.value(1, 0, "n"))
	b.tick(5)
	assert.Equal(t, "1", b.value(1, 0, "more"))
	assert.Equal(t, "2", b.value(1, 0, "added"))
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
	b := newBench(
		t, conf(`n = sum_sample(instant(up.count), "10s")`, `m = sum_sample(instant(up.count), "100s")`),
		func(o *Options) { o.maxWindowValues = 100 },
	)
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	assert.Equal(t, pdu.ErrTooBig.Error(), b.value(1, 0, "m"))
	b.agent.figures.Connected.Store(true)
	snap := b.agent.snapshot.Load()
	assert.Empty(t, b.agent.problem(snap, b.metric("n")))
	assert.Contains(t, b.agent.problem(snap, b.metric("m")), "more than 10000000 values")
}

// A per-client window has the ticks since the client's last fetch. The client gets each tick once, whatever others do
// and however often it fetches, also with other lists of metrics, other definitions meanwhile, and through other
// definitions.
func TestEachClientHasItsOwnWindow(t *testing.T) {
	lines := []string{
		"sum = sum_sample(instant(up.count))", "max = max_sample(instant(up.count))", "twice = 2 * inner",
		"inner = sum_sample(instant(up.count))",
	}
	b := newBench(t, conf(lines...))
	type client struct {
		every int
		names []string
		seen  map[string]int // ticks, by the metric
		last  map[string]string
	}
	clients := []*client{
		{every: 1, names: []string{"sum", "max"}},
		{every: 5, names: []string{"max", "twice", "sum"}},
		{every: 7, names: []string{"inner"}},
		{every: 60, names: []string{"max"}},
	}
	for _, c := range clients {
		c.seen, c.last = map[string]int{}, map[string]string{}
	}
	r := rand.New(rand.NewPCG(19, 2))
	var ticks []uint64
	var when []int // seconds
	expected := func(c *client, name string) string {
		from, met := c.seen[name]
		if !met {
			from = len(ticks)
			for from > 0 && when[from-1] > when[len(when)-1]-10 {
				from--
			}
		}
		since := ticks[from:]
		c.seen[name] = len(ticks)
		sum := uint64(0)
		for _, n := range since {
			sum += n
		}
		switch {
		case name == "max" && len(since) > 0:
			c.last[name] = fmt.Sprint(slices.Max(since))
		case name == "max":
		case len(since) == 0:
			return "no value"
		case name == "twice":
			return fmt.Sprint(2 * sum)
		default:
			return fmt.Sprint(sum)
		}
		return c.last[name]
	}
	for second := 1; second <= 400; second++ {
		if r.IntN(10) > 0 {
			n, before := uint64(r.IntN(1000)), b.agent.figures.WindowTicks.Load()
			if b.tick(n); b.agent.figures.WindowTicks.Load() > before {
				ticks, when = append(ticks, n), append(when, second)
			}
		} else { // nothing new
			b.pass(time.Second)
		}
		for i, c := range clients {
			if second%c.every > 0 || second < 12 {
				continue
			}
			names := c.names
			if r.IntN(3) == 0 {
				names = names[r.IntN(len(names)):]
			}
			for k, set := range b.fetch(pmda.Client(i), 3, names...) {
				require.Equal(
					t, expected(c, names[k]), number(b.metric(names[k]), set), "second %d, client %d, %s", second, i, names[k],
				)
			}
		}
		if second%50 == 0 {
			b.serve(conf(append(lines, fmt.Sprintf("other = max_sample(up.load, \"%ds\")", second))...))
		}
	}
}

// A tick is not published before all samples have arrived, not even in part, nor when a new set is applied meanwhile.
func TestTickThatIsNotComplete(t *testing.T) {
	lines := []string{"n = sum_sample(instant(up.count))", "late = sum_sample(up.load)"}
	b := newBench(t, conf(lines...))
	b.fetch(1, 0, "n", "late")
	b.agent.sampler.RunDue(b.now)
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	b.value(2, 0, "n")
	b.pass(time.Second)
	b.agent.sampler.RunDue(b.now)
	for _, s := range b.site.before.WindowSeries[:1] {
		b.agent.upstream.Store(b.sample(10), s)
	}
	b.agent.sampler.RunDue(b.now.Add(ms))
	assert.Equal(t, "no value", b.value(1, 0, "n"))
	b.serve(conf(append([]string{"other = max_sample(up.load)"}, lines...)...))
	b.agent.sampler.RunDue(b.now.Add(2 * ms))
	assert.Equal(t, "no value", b.value(1, 0, "n"))
	b.agent.sampler.RunDue(b.now.Add(501 * ms)) // the others are late
	assert.Equal(t, "10", b.value(1, 0, "n"))
	b.tick(100)
	assert.Equal(t, "100", b.value(1, 0, "n"))
	assert.Equal(t, "110", b.value(2, 0, "n"))
}

// A tick that clients have read gets no sample any more, also if a new set is applied soon after it. The next tick has
// what was counted since.
func TestReloadAfterCompleteTick(t *testing.T) {
	line := "n = sum_sample(delta(up.count))"
	b := newBench(t, conf(line))
	b.fetch(1, 0, "n")
	b.agent.sampler.RunDue(b.now)
	b.tick(1)
	b.tick(3)
	assert.Equal(t, "2", b.value(1, 0, "n"))
	b.pass(time.Second)
	b.agent.sampler.RunDue(b.now)
	s := require1(t, b.site.before.WindowSeries)
	b.agent.upstream.Store(sampleOf(b.maker, result(t, b.now, pdu.ValueSet{PMID: countID, Code: pdu.ErrNoAgent}), b.now, b.now,
		operand.NewList(b.site.catalog["up.count"])), s)
	b.agent.sampler.RunDue(b.now)
	assert.Equal(t, "no value", b.value(1, 0, "n"))
	b.serve(conf(line, "other = up.load"))
	b.pass(100 * ms)
	b.agent.upstream.Store(b.sample(10), s)
	b.agent.sampler.RunDue(b.now)
	b.pass(-100 * ms)
	b.tick(20)
	assert.Equal(t, "17", b.value(1, 0, "n"))
}

// A window has one sample of a tick: a reload after it adds no other one, although the first of a sum of changes has no
// value.
func TestReloadAfterFirstSample(t *testing.T) {
	lines := []string{`n = sum_sample(delta(up.count), "3s")`, `last = last_sample(instant(up.count), "3s")`}
	b := newBench(t, conf(lines...))
	b.tick(1)
	b.serve(conf(append(lines, "other = up.load")...))
	b.pass(200 * ms)
	b.agent.upstream.Store(b.sample(5), b.site.before.WindowSeries[0])
	b.agent.sampler.RunDue(b.now)
	assert.Equal(t, []string{pdu.ErrAgain.Error(), "1"}, []string{b.value(1, 0, "n"), b.value(1, 0, "last")})
	b.pass(-200 * ms)
	b.tick(10)
	assert.Equal(t, []string{"9", "10"}, []string{b.value(1, 0, "n"), b.value(1, 0, "last")})
}

// Neither does a reload after a sample with an error add one: windows over one operand have the same sample of a tick.
func TestReloadAfterError(t *testing.T) {
	lines := []string{`n = sum_sample(instant(up.count), "3s")`, `ticks = count_sample(count(instant(up.count)), "3s")`}
	b := newBench(t, conf(lines...))
	b.tick(1)
	b.pass(time.Second)
	b.agent.sampler.RunDue(b.now)
	failed := sampleOf(b.maker, result(t, b.now, pdu.ValueSet{PMID: countID, Code: pdu.ErrNoAgent}), b.now, b.now,
		operand.NewList(b.site.catalog["up.count"]))
	b.agent.upstream.Store(failed, b.site.before.WindowSeries...)
	b.agent.sampler.RunDue(b.now)
	b.serve(conf(append(lines, "other = up.load")...))
	b.pass(200 * ms)
	b.agent.upstream.Store(b.sample(5), b.site.before.WindowSeries...)
	b.agent.sampler.RunDue(b.now)
	assert.Equal(t, []string{"1", "2"}, []string{b.value(1, 0, "n"), b.value(1, 0, "ticks")})
}

// All results of a fetch are of the tick that was published when it came, also if the next one is published meanwhile.
// The next one is not lost.
func TestFetchHasOneTick(t *testing.T) {
	b := newBench(t, conf("n = sum_sample(instant(up.count))"))
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(1)
	assert.Equal(t, "1", b.value(1, 0, "n"))
	came := b.agent.snapshot.Load().Published.Latest()
	b.tick(10)
	for range 3 {
		b.tick(100)
		for _, c := range b.agent.contexts.cursors {
			r, isFirst := b.agent.windows.Read(came, &c.Cursor, []uint32{0}, b.now, b.now.Add(time.Minute))
			assert.False(t, isFirst)
			assert.Empty(t, r.Values[0].Bits, "nothing was new when it came")
		}
	}
	assert.Equal(t, "310", b.value(1, 0, "n"))
}

// A first fetch that still has the former snapshot, because a reload comes, registers its cursor: the next fetch has
// the ticks since.
func TestFirstFetchMeetsReload(t *testing.T) {
	line := "n = sum_sample(instant(up.count))"
	b := newBench(t, conf(line))
	b.value(1, 0, "n")
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(1)
	former := b.agent.snapshot.Load()
	for i := range 3 {
		b.serve(conf(line, fmt.Sprintf(`a%d = max_sample(up.load, "%ds")`, i, i+2), "b = max_sample(up.load)"))
	}
	swapped := b.agent.snapshot.Swap(former)
	assert.Equal(t, "1", b.value(2, 0, "n"))
	b.agent.snapshot.Store(swapped)
	for range 5 {
		b.tick(10)
	}
	assert.Equal(t, "50", b.value(2, 0, "n"))
}

// A client gets the result of a first fetch for a definition that was edited, whatever else it has read.
func TestReadAfterEdit(t *testing.T) {
	m, n := "m = sum_sample(instant(up.count))", "n = sum_sample(instant(up.count) + 1000)"
	b := newBench(t, conf(m, "n = sum_sample(2 * instant(up.count))"))
	read := func() (values []string) {
		names := []string{"m", "n"}
		for i, set := range b.fetch(1, 0, names...) {
			values = append(values, number(b.metric(names[i]), set))
		}
		return values
	}
	read()
	b.agent.sampler.RunDue(b.now) // wakeRun
	b.tick(1)
	assert.Equal(t, []string{"1", "2"}, read())
	b.serve(conf(m, n))
	for range 5 {
		b.tick(10)
	}
	assert.Equal(t, []string{"50", "5050"}, read())
}

// Per-client windows have two ticks in Interval while no client reads them, else one each second: for three intervals
// of the client, at least a minute, and ten minutes after its first fetch.
func TestSampledWhileClientsRead(t *testing.T) {
	b := newBench(t, conf("n = count_sample(instant(up.count))"))
	passed := func(seconds int) (ticks int) {
		for range seconds {
			before := b.agent.figures.WindowTicks.Load()
			b.tick(1)
			ticks += int(b.agent.figures.WindowTicks.Load() - before)
		}
		return ticks
	}
	assert.Equal(t, 20, passed(100))
	read := func() {
		b.value(1, 0, "n")
		b.agent.sampler.RunDue(b.now) // wakeRun
	}
	read()
	assert.Equal(t, 600, passed(600))
	assert.InDelta(t, 20, passed(100), 1)
	for range 3 {
		read()
		assert.Equal(t, 30, passed(30))
	}
	read()
	assert.Equal(t, 90, passed(90))
	assert.InDelta(t, 20, passed(100), 1)
	read()
	assert.Equal(t, 10, passed(10))
	b.agent.EndContext(1)
	passed(1)
	assert.InDelta(t, 20, passed(100), 1)
	assert.Empty(t, b.agent.contexts.cursors)
}

// Functions of the same operands, and all of one definition, have the same ticks, whichever of them clients have read
// before.
func TestFunctionsThatAreSampledTogether(t *testing.T) {
	b := newBench(t, conf(
		"watched = count_sample(instant(up.count))", "peak = max_sample(instant(up.count))",
		"grown = sum_sample(delta(up.count))",
		"mean = sum_sample(instant(up.count)) / watched",
		"ratio = count_sample(up.count < 0 ? up.load : instant(up.count) / 1) / watched",
		"alone = count_sample(up.count < 0 ? sum(up.bin) / 1 : instant(up.count) / 1)",
	))
	b.value(1, 0, "watched")
	b.agent.sampler.RunDue(b.now) // wakeRun
	for n := range uint64(3) {
		b.tick(1 + n)
	}
	first := func(c pmda.Client) (all []string) {
		names := []string{"watched", "peak", "grown", "mean", "ratio", "alone"}
		for i, set := range b.fetch(c, 0, names...) {
			all = append(all, number(b.metric(names[i]), set))
		}
		b.agent.EndContext(c)
		return all
	}
	again := pdu.ErrAgain.Error()
	assert.Equal(t, []string{"3", "3", "2", "2", "1", again}, first(2))
	for n := range uint64(9) {
		b.tick(4 + n)
	}
	assert.Equal(t, []string{"10", "12", "10", "7.5", "1", "2"}, first(3))
}

// Samples come over a connection, with groups, and with other definitions meanwhile.
func TestWindowsAtWork(t *testing.T) {
	lines := []string{
		`n = count_sample(up.load, "0.5", "0.1")`, `g = max_sample(sum(up.bin) by (/^t|one/), "0.5", "0.1")`,
		`r = sum_sample(delta(up.count), "1 hour", "0.1")`,
		"s = sum_sample(delta(up.count))",
	}
	up := newCollector(t)
	up.Update(func() { up.Time = time.Time{} }) // that of the moment
	h := start(t, up, conf(lines...)).bound()
	n, g, r, s := h.id("derived.n"), h.id("derived.g"), h.id("derived.r"), h.id("derived.s")
	await.Until(t, "a window that is full", func() bool { return slices.Equal(bitsOf(h.value(n)), []uint64{5}) })
	groups := h.value(g)
	require.Len(t, groups, 2)
	await.Until(t, "something to count from", func() bool { return len(h.fetch(r)[0].Values) > 0 })
	reply := pmdatest.As[*pdu.InstanceReply](
		h.pmcd, h.pmcd.Request(&pdu.InstanceReq{InDom: pdu.NewInDom(testDomain, 64), Inst: pdu.NoInst}),
	)
	assert.Len(t, reply.Instances, 2)
	since := 0.0
	read := func() (values int) {
		for _, v := range h.fetch(s)[0].Values {
			since += pdu.TypeDouble.Float64(v.Bits)
			values++
		}
		return values
	}
	await.Until(t, "something to count from, since the last fetch", func() bool { return read() > 0 })
	for i := range 5 {
		up.Update(func() { up.Metrics[1].Values = []pdu.Value{pdu.Uint64Value(pdu.NoInst, uint64(101+i))} })
		h.reload(conf(append(lines, fmt.Sprintf(`x = max_sample(up.load, "%ds", "0.1")`, i+1))...))
	}
	await.Until(t, "all that was counted", func() bool { return pdu.TypeDouble.Float64(h.value(r)[0].Bits) == 5 })
	await.Until(t, "all that was counted, fetch by fetch", func() bool { read(); return since == 5 })
	assert.GreaterOrEqual(t, h.agent.figures.WindowTicks.Load(), uint64(15))
	assert.EqualValues(t, 5, h.agent.figures.Windows.Load())
}

func bitsOf(values []pdu.Value) (all []uint64) {
	for _, v := range values {
		all = append(all, v.Bits)
	}
	return all
}

// Latches within each other, with two intervals by turns, get their sample in one pass over all windows, however many
// they are.
func TestNestedLatchesTakeOnePass(t *testing.T) {
	growth.Check(t, 200, func(n int) func() {
		lines := []string{`l0 = latch(up.count > 0, up.count < 0)`}
		for i := range n {
			lines = append(lines, fmt.Sprintf(`l%d = latch(l%d, up.count < 0, "%ds")`, i+1, i, 1+i%2))
		}
		b := newBench(t, conf(lines...))
		b.now = b.now.Truncate(2 * time.Second)
		b.pass(2 * time.Second)
		b.agent.sampler.RunDue(b.now)
		for _, s := range b.site.before.WindowSeries {
			b.agent.upstream.Store(b.sample(1), s)
		}
		return func() {
			b.agent.sampler.RunDue(b.now.Add(10 * ms))
			require.Equal(t, "1", b.value(1, 0, lines[n][:strings.Index(lines[n], " ")]))
		}
	})
}

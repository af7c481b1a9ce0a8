package agent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// bench is an agent without any goroutine: the test is its request loop, its upstream and its clock.
type bench struct {
	tb    testing.TB
	agent *Agent
	site  *site
	now   time.Time
	maker *operand.Maker
	took  time.Duration // by each sample
}

func newBench(t *testing.T, c served.Config, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{tb: t, site: newSite(t), now: time.Unix(1_000_000, 0)}
	log, _ := logtest.NewNullLogger()
	o := Options{
		Domain: testDomain, Load: func() served.Config { return served.Config{} }, Interval: 10 * time.Second, Log: log,
		Now: func() time.Time { return b.now }, Debug: func(bool) {},
	}
	for _, f := range change {
		f(&o)
	}
	b.agent = New(o)
	b.maker = operand.NewMaker(&b.agent.names, b.now)
	b.serve(c)
	return b
}

func (b *bench) serve(c served.Config) {
	b.tb.Helper()
	snap := b.site.serve(c)
	snap.Published = b.agent.sampler.ApplySet(snap.Set, snap.WindowSeries, snap.WindowTimes)
	b.agent.snapshot.Store(snap)
	b.agent.upstream.SetSeries(snap.Series, snap.OlderSamples)
	b.agent.upstream.RetainNext(false, snap.Series...)
}

func (b *bench) metric(name string) *reload.ServedState { return b.site.metric(name) }

// pass moves the clock.
func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d) }

// sample makes a sample of up.count with the value n, taken now, for metrics.
func (b *bench) sample(n uint64, metrics ...string) *operand.Sample {
	return b.sampleAt(b.now, n, metrics...)
}

// sampleAt does the same with a time stamp of pmcd's clock, which differs from ours.
func (b *bench) sampleAt(at time.Time, n uint64, metrics ...string) *operand.Sample {
	b.tb.Helper()
	set := pdu.ValueSet{PMID: countID, Format: pdu.Block, Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, n)}}
	asked := operand.NewList(b.site.catalog["up.count"])
	s := sampleOf(b.maker, result(b.tb, at, set), b.now.Add(-b.took), b.now, asked)
	for _, name := range metrics {
		b.agent.upstream.Store(s, b.metric(name).Series)
	}
	return s
}

// fetch fetches metrics by name as a client and context.
func (b *bench) fetch(c pmda.Client, ctx pdu.ContextID, names ...string) []pdu.ValueSet {
	b.tb.Helper()
	req := pmda.FetchRequest{Client: c, Context: ctx, Profile: &pdu.Profile{}, Arrived: b.now}
	for _, name := range names {
		req.PMIDs = append(req.PMIDs, b.metric(name).Served.ID)
	}
	return b.fetchRequest(&req)
}

func (b *bench) fetchRequest(req *pmda.FetchRequest) []pdu.ValueSet {
	b.tb.Helper()
	var w pdu.ResultWriter
	require.NoError(b.tb, b.agent.Fetch(req, &w))
	b.agent.Replied(req.Client, pdu.KindFetch, 0)
	require.Equal(b.tb, len(req.PMIDs), w.Len())
	var res pdu.Result
	require.NoError(b.tb, res.Decode(w.Frame(0, 0)[pdu.HeaderSize:]))
	return res.Sets
}

// number returns the value of the first set, as text: "12", "no value" or an error.
func number(m *reload.ServedState, set pdu.ValueSet) string {
	switch {
	case set.Code < 0:
		return set.Code.Error()
	case len(set.Values) == 0:
		return "no value"
	}
	return fmt.Sprint(m.Served.Desc.Type.Float64(set.Values[0].Bits))
}

// value fetches one metric.
func (b *bench) value(c pmda.Client, ctx pdu.ContextID, name string) string {
	b.tb.Helper()
	return number(b.metric(name), b.fetch(c, ctx, name)[0])
}

func withoutWarmStart(o *Options) { o.Interval = 0 }

// delta() covers the time since the client's own previous fetch, whatever others do.
func TestEachContextHasItsOwnHistory(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)"), withoutWarmStart)
	b.sample(100, "d")
	for name, row := range map[string]struct {
		client  pmda.Client
		context pdu.ContextID
	}{"fast": {1, 0}, "slow": {2, 0}, "another context of the slow one": {2, 1}} {
		assert.Equal(t, "no value", b.value(row.client, row.context, "d"), name)
	}
	for i := range 10 {
		b.pass(time.Second)
		b.sample(100+uint64(i+1)*7, "d")
		assert.Equal(t, "7", b.value(1, 0, "d"))
	}
	assert.Equal(t, "70", b.value(2, 0, "d"))
	b.pass(time.Second)
	b.sample(177, "d")
	assert.Equal(t, "7", b.value(1, 0, "d"))
	assert.Equal(t, "7", b.value(2, 0, "d"))
	assert.Equal(t, "77", b.value(2, 1, "d"))
}

// clockNoise is the largest difference between pmcd's clock and ours that is not taken for a clock that was set.
const clockNoise = 50 * ms

// After pmcd's clock was set, the time between two time stamps is unknown.
func TestClockThatIsSet(t *testing.T) {
	for _, row := range []struct {
		name string
		pass time.Duration // really
		step time.Duration // what the clock shows more
		took time.Duration // by each fetch
		want string        // rate
	}{
		{"not set", time.Second, 0, 0, "10"},
		{"a bit", time.Second, clockNoise, 0, "9.523809523809524"},
		{"forward", time.Second, clockNoise + 2*ms, 0, "no value"},
		{"back", time.Second, -clockNoise - 2*ms, 0, "no value"},
		{"an hour forward", time.Second, time.Hour, 0, "no value"},
		{"an hour back", time.Second, -time.Hour, 0, "no value"},
		{"drift", 1000 * time.Second, time.Second, 0, "0.00999000999000999"},
		{"within the time of the fetch", time.Second, time.Second, 950 * ms, "5"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, conf("r = rate(up.count)"))
			at := time.Unix(5_000_000, 0)
			b.took = row.took
			b.sampleAt(at, 100, "r")
			assert.Equal(t, "no value", b.value(1, 0, "r"))
			b.pass(row.pass)
			b.sampleAt(at.Add(row.pass+row.step), 110, "r")
			assert.Equal(t, row.want, b.value(1, 0, "r"))
			if row.want == "no value" {
				b.pass(time.Second)
				b.sampleAt(at.Add(row.pass+row.step+time.Second), 130, "r")
				assert.Equal(t, "20", b.value(1, 0, "r"), "goes on from there")
			}
		})
	}
}

func TestHistoryEndsWithTheClient(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)"), withoutWarmStart)
	b.sample(100, "d")
	b.fetch(1, 0, "d")
	b.fetch(1, 1, "d")
	first := b.agent.contexts.find(
		b.agent.snapshot.Load(), &pmda.FetchRequest{Client: 1, PMIDs: []pdu.PMID{b.metric("d").Served.ID}},
	)
	assert.True(t, first.timer.Active())
	b.fetch(2, 0, "d")
	b.pass(time.Second)
	b.sample(110, "d")
	b.agent.EndContext(1)
	assert.Len(t, b.agent.contexts.byKey, 1)
	assert.False(t, first.timer.Active(), "nothing is sampled for it")
	assert.Equal(t, "no value", b.value(1, 0, "d"), "the successor has the same numbers")
	assert.Equal(t, "10", b.value(2, 0, "d"))
	b.agent.EndContext(1)
	b.agent.EndContext(2)
	b.agent.EndContext(77) // a client that never asked for anything
	assert.Empty(t, b.agent.contexts.byKey)
	assert.Empty(t, b.agent.contexts.ofClient)
	assert.Zero(t, b.agent.contexts.places)
}

// The first fetch of a context continues from the retained samples, whatever else was sampled.
func TestFirstFetch(t *testing.T) {
	const s = time.Second
	for _, row := range []struct {
		name   string
		window time.Duration
		kept   []time.Duration // how long ago samples were taken that are kept, oldest first; 100, 101 …
		others []time.Duration // likewise for other clients
		value  string
		covers time.Duration
	}{
		{"in between", 10 * s, []time.Duration{17 * s, 12 * s, 7 * s, 2 * s}, nil, "3", 12 * s},
		{"just long enough ago", 10 * s, []time.Duration{15 * s, 10 * s, 5 * s, 0}, nil, "2", 10 * s},
		{"just not long enough ago", 10 * s, []time.Duration{15*s - 1, 10*s - 1, 5*s - 1}, nil, "3", 15*s - 1},
		{
			"whatever others do", 10 * s,
			[]time.Duration{14 * s, 9 * s, 4 * s},
			[]time.Duration{13 * s, 12 * s, 11 * s, 10500 * ms, 10 * s, 3 * s, 2 * s, s},
			"11", 14 * s,
		},
		{"another window", 2 * s, []time.Duration{3500 * ms, 2500 * ms, 1500 * ms}, nil, "2", 2500 * ms},
		{"right after a start", 10 * s, []time.Duration{5 * s, 4900 * ms, 100 * ms}, nil, "3", 5 * s},
		{"a moment after a start", 10 * s, []time.Duration{freshness.MinStep}, nil, "1", freshness.MinStep},
		{"too soon after a start", 10 * s, []time.Duration{freshness.MinStep - 1}, nil, "no value", 0},
		{"an agent that rests", 10 * s, []time.Duration{65 * s, 36 * s}, nil, "1", 36 * s},
		{"too long ago", 10 * s, []time.Duration{61 * s}, nil, "no value", 0},
		{"not too long ago", 40 * s, []time.Duration{61 * s}, nil, "1", 61 * s},
		{"nothing kept", 10 * s, nil, []time.Duration{12 * s, 10 * s}, "no value", 0},
		{"as libpcp", 0, nil, []time.Duration{12 * s, 10 * s}, "no value", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, conf("d = delta(up.count)", "r = rate(up.count)"), func(o *Options) { o.Interval = row.window })
			now, n := b.now, uint64(100)
			take := func(ago time.Duration, kept bool) {
				b.now = now.Add(-ago)
				b.agent.upstream.RetainNext(kept, b.metric("d").Series)
				b.sample(n, "d")
				n++
			}
			for kept, others := row.kept, row.others; len(kept)+len(others) > 0; {
				if len(others) == 0 || len(kept) > 0 && kept[0] > others[0] {
					take(kept[0], true)
					kept = kept[1:]
				} else {
					take(others[0], false)
					others = others[1:]
				}
			}
			if len(row.kept) == 0 || row.kept[len(row.kept)-1] > 0 {
				take(0, false)
			}
			b.now = now
			assert.Equal(t, row.value, b.value(1, 0, "d"))
			rate := b.value(2, 0, "r")
			if row.covers == 0 {
				assert.Equal(t, "no value", rate)
				return
			}
			var change float64
			_, err := fmt.Sscan(row.value, &change)
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprint(change/row.covers.Seconds()), rate)
		})
	}
}

// A change of a change needs two windows.
func TestFirstFetchOfNestedDeltas(t *testing.T) {
	b := newBench(t, conf("dd = delta(delta(up.count))"), func(o *Options) { o.Interval = 2 * time.Second })
	for _, row := range []struct {
		count uint64
		want  string
	}{{100, "no value"}, {110, "no value"}, {130, "no value"}, {170, "no value"}, {200, "40"}, {300, "70"}} {
		b.agent.upstream.RetainNext(true, b.metric("dd").Series)
		b.sample(row.count, "dd")
		assert.Equal(t, row.want, b.value(pmda.Client(row.count), 0, "dd"), row.count)
		b.pass(time.Second)
	}
}

// Without a newer sample rate() has its last value, as long as that may be served, and delta() has none: the same
// change would count twice.
func TestNoNewerSample(t *testing.T) {
	b := newBench(t, served.Config{}, withoutWarmStart)
	var lines, names, want, again []string
	for _, row := range []struct{ name, expr, value, again string }{
		{"plain", "up.count", "130", "130"},
		{"rate", "rate(up.count)", "30", "30"},
		{"more", "2 * rate(up.count)", "60", "60"},
		{"nested", "derived.rate / 3", "10", "10"},
		{"delta", "delta(up.count)", "30", "no value"},
		{"mixed", "rate(up.count) * delta(up.count)", "900", "no value"},
		{"part", "derived.delta * derived.rate", "900", "no value"},
		{"rate_of_delta", "rate(delta(up.count))", "20", "20"},
		{"delta_of_rate", "delta(rate(up.count))", "20", "no value"},
	} {
		lines, names = append(lines, row.name+" = "+row.expr), append(names, row.name)
		want, again = append(want, row.value), append(again, row.again)
	}
	b.serve(conf(lines...))
	values := func() (got []string) {
		for i, set := range b.fetch(1, 0, names...) {
			got = append(got, number(b.metric(names[i]), set))
		}
		return got
	}
	for _, n := range []uint64{90, 100} {
		b.sample(n, "plain")
		values()
		b.pass(time.Second)
	}
	b.sample(130, "plain")
	require.Equal(t, want, values())
	assert.Equal(t, again, values())
	b.pass(freshness.AlwaysServed)
	assert.Equal(t, again, values())
	b.pass(freshness.NeverServed)
	for i, value := range values() {
		assert.Equal(t, pdu.ErrAgain.Error(), value, names[i])
	}
	b.sample(150, "plain")
	assert.Equal(t, "20", values()[4], "delta: what happened meanwhile")
}

// A sample must be new enough for the client.
func TestStaleSamples(t *testing.T) {
	for _, row := range []struct {
		name     string
		interval time.Duration // of the client's fetches before; 0: none
		age      time.Duration // of the sample
		served   bool
	}{
		{"no sample", 0, -1, false},
		{"first fetch, 1 s", 0, time.Second, true},
		{"first fetch, older", 0, time.Second + 1, false},
		{"fast client", 100 * ms, time.Second, true},
		{"fast client, older", 100 * ms, time.Second + 1, false},
		{"slow client", 10 * time.Second, 15 * time.Second, true},
		{"slow client, older", 10 * time.Second, 15*time.Second + 1, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, conf("c = up.count"))
			if row.interval > 0 {
				for range 4 {
					b.pass(row.interval)
					b.sample(1, "c")
					require.Equal(t, "1", b.value(1, 0, "c"))
				}
			}
			b.pass(row.interval)
			now := b.now
			if row.age >= 0 {
				b.now = now.Add(-row.age)
				b.sample(42, "c")
			}
			b.now = now
			stale := b.agent.figures.Stale.Load()
			if row.served {
				assert.Equal(t, "42", b.value(1, 0, "c"))
				assert.Equal(t, stale, b.agent.figures.Stale.Load())
				assert.EqualValues(t, row.age, b.agent.figures.SampleAge.Longest())
			} else {
				assert.Equal(t, pdu.ErrAgain.Error(), b.value(1, 0, "c"))
				assert.Equal(t, stale+1, b.agent.figures.Stale.Load())
			}
		})
	}
}

// Time in which pmcd was blocked does not count in the age of a sample: no newer one was possible.
func TestSampleFromBeforePMCDWasBusy(t *testing.T) {
	b := newBench(t, conf("c = up.count"))
	b.sample(42, "c")
	b.agent.upstream.Newest(nil, []*upstream.Series{b.metric("c").Series})[0].BlockedSum = time.Minute
	b.pass(4 * time.Second)
	req := &pmda.FetchRequest{PMIDs: []pdu.PMID{b.metric("c").Served.ID}, Arrived: b.now}
	for _, row := range []struct {
		name  string
		since time.Duration
		stale bool
	}{
		{"all the time but a second", 3 * time.Second, false},
		{"a second and a bit was left", 3*time.Second - 1, true},
		{"only before the sample", 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := b.agent.contexts.find(b.agent.snapshot.Load(), req)
			b.agent.takeSamples(&fetch{arrived: req.Arrived, context: c, blockedSum: time.Minute + row.since})
			assert.Equal(t, row.stale, c.places[0].history.Stale)
			assert.True(t, c.places[0].history.Missed, "a newer one is requested all the same")
		})
	}
}

// Metrics with the same operands are computed from the same samples.
func TestMetricsWithTheSameOperandsShareSamples(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)", "c = up.count", "cc = up.load"))
	assert.Same(t, b.metric("c").Series, b.metric("d").Series)
	assert.NotSame(t, b.metric("c").Series, b.metric("cc").Series)
	history := func() map[*upstream.Series]int {
		snap, found := b.agent.snapshot.Load(), make(map[*upstream.Series]int)
		for i, s := range snap.Series {
			found[s] = snap.OlderSamples[i]
		}
		return found
	}
	assert.Equal(t, 1, history()[b.metric("c").Series], "d needs it")
	assert.Zero(t, history()[b.metric("cc").Series])
	b.serve(conf("c = up.count"))
	assert.Zero(t, history()[b.metric("c").Series], "nobody does")
}

// The values of delta() add up to the change of the counter, also if some fetches have no newer sample.
func TestDeltasAddUp(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)", "c = up.count"), withoutWarmStart)
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test
	count, first, sum, repeated := uint64(1000), uint64(0), uint64(0), 0
	b.sample(count, "c")
	for i := range 2000 {
		b.pass(time.Duration(rng.IntN(200)) * ms)
		count += rng.Uint64N(100)
		if rng.IntN(3) > 0 { // or the fetch comes too early for its sample
			b.sample(count, "c")
		}
		sets := b.fetch(1, 0, "d", "c")
		c := sets[1].Values[0].Bits
		if i == 0 {
			first = c
		}
		if values := sets[0].Values; len(values) > 0 && i > 0 {
			sum += uint64(math.Float64frombits(values[0].Bits))
			assert.Equal(t, c-first, sum)
		} else {
			assert.Zero(t, sets[0].Code)
			repeated++
		}
	}
	assert.Positive(t, repeated)
}

// The ages of the samples of all metrics that are served are counted.
func TestAgesOfSamples(t *testing.T) {
	b := newBench(t, conf("c = up.count", "d = 2 * up.count"))
	for i := range 4 {
		b.pass(time.Second)
		b.sample(1, "c")
		b.sample(1, "d")
		b.pass(4 * ms)
		b.fetch(1, 0, "c", "d")
		b.pass(-4 * ms)
		var counts, want control.Buckets
		b.agent.figures.SampleAge.AddTo(&counts)
		want[slices.Index(control.BucketNames(), "4")] = uint64(2 * (i + 1))
		assert.Equal(t, want, counts)
	}
}

func TestReloadKeepsHistory(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)", "gone = up.load"), withoutWarmStart)
	b.sample(100, "d")
	gone := b.metric("gone").Served.ID
	req := func() *pmda.FetchRequest {
		return &pmda.FetchRequest{
			Client: 1, Profile: &pdu.Profile{}, Arrived: b.now, PMIDs: []pdu.PMID{b.metric("d").Served.ID, gone},
		}
	}
	b.fetchRequest(req())
	b.pass(time.Second)
	b.serve(conf("d = delta(up.count)", "new = up.load"))
	b.sample(107, "d")
	sets := b.fetchRequest(req())
	assert.Equal(t, "7", number(b.metric("d"), sets[0]))
	assert.Equal(t, pdu.ErrPMID, sets[1].Code)

	b.serve(conf("d = delta(up.count) * 2"))
	b.pass(time.Second)
	b.sample(110, "d")
	assert.Equal(t, "6", number(b.metric("d"), b.fetchRequest(req())[0]), "another expression over the same samples")

	b.serve(conf("d = delta(up.count + up.count) + sum(up.bin)"))
	assert.Equal(t, pdu.ErrAgain, b.fetchRequest(req())[0].Code, "another operand: nothing is known of it yet")
}

// The same metric may stand in a list twice.
func TestMetricTwiceInAList(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)"), withoutWarmStart)
	b.sample(100, "d")
	b.fetch(1, 0, "d", "d")
	b.pass(time.Second)
	b.sample(105, "d")
	for _, set := range b.fetch(1, 0, "d", "d") {
		assert.Equal(t, "5", number(b.metric("d"), set))
	}
}

func TestContextsAreBounded(t *testing.T) {
	t.Run("in number", func(t *testing.T) {
		const most = 8
		b := newBench(t, conf("d = delta(up.count)"), withoutWarmStart)
		b.agent.contexts.maxCount = most
		b.sample(100, "d")
		for i := range most {
			b.pass(time.Nanosecond)
			b.fetch(pmda.Client(i), 0, "d")
		}
		b.pass(time.Second)
		b.sample(110, "d")
		assert.Equal(t, "10", b.value(0, 0, "d"), "the oldest is used again")
		b.pass(time.Nanosecond)
		b.fetch(pmda.Client(most), 0, "d") // one too many
		assert.Len(t, b.agent.contexts.byKey, most)
		assert.EqualValues(t, 1, b.agent.figures.ContextsDropped.Load())
		assert.Equal(t, "10", b.value(2, 0, "d"))
		assert.Equal(t, "no value", b.value(1, 0, "d"), "it was idle longest")
	})
	t.Run("in metrics", func(t *testing.T) {
		b := newBench(t, conf("d = up.count"))
		all := slices.Repeat([]pdu.PMID{b.metric("d").Served.ID}, maxPlaces+1)
		req := &pmda.FetchRequest{Profile: &pdu.Profile{}, PMIDs: all[:maxPlaces/4]}
		for i := range 6 {
			b.pass(time.Second)
			req.Arrived, req.Client = b.now, pmda.Client(i)
			var w pdu.ResultWriter
			require.NoError(t, b.agent.Fetch(req, &w))
			assert.LessOrEqual(t, b.agent.contexts.places, maxPlaces)
		}
		assert.Len(t, b.agent.contexts.byKey, 4)
		req.PMIDs = all
		var w pdu.ResultWriter
		require.NoError(t, b.agent.Fetch(req, &w))
		assert.Len(t, b.agent.contexts.byKey, 1, "a list larger than the bound has the whole room")
		assert.Equal(t, len(req.PMIDs), w.Len())
		b.pass(time.Second)
		b.fetch(1, 0, "d")
		assert.Len(t, b.agent.contexts.byKey, 1)
		assert.Equal(t, 1, b.agent.contexts.places)
	})
	t.Run("in bytes", func(t *testing.T) {
		const most = 1000
		b := newBench(t, conf("d = delta(up.count)", "c = up.count"), withoutWarmStart)
		b.agent.contexts.maxBytes = most
		large := func(value uint64) {
			b.pass(time.Second)
			b.sample(value, "d", "c").Size = most / 4
		}
		large(100)
		for c := range pmda.Client(4) {
			b.fetch(c, 0, "d", "c")
		}
		assert.Equal(t, most/4, b.agent.contexts.sampleBytes.Total, "it is one sample")
		for c := range pmda.Client(4) {
			large(101 + uint64(c))
			b.fetch(c, 0, "d", "c")
		}
		assert.LessOrEqual(t, b.agent.contexts.sampleBytes.Total, most)
		assert.EqualValues(t, 1, b.agent.figures.ContextsDropped.Load())
		large(110)
		assert.Equal(t, "7", number(b.metric("d"), b.fetch(2, 0, "d", "c")[0]), "the history of those that are left goes on")
		for c := range pmda.Client(4) {
			b.agent.EndContext(c)
		}
		assert.Zero(t, b.agent.contexts.sampleBytes.Total)
	})
}

// An idle context does not keep an old snapshot in memory.
func TestIdleContextsReleaseSnapshots(t *testing.T) {
	s := newSite(t)
	cs := newContexts(newBench(t, served.Config{}).agent.upstream, &control.Figures{})
	old := s.serve(conf("a = up.load", "b = delta(up.count)"))
	ids := []pdu.PMID{s.metric("a").Served.ID, s.metric("b").Served.ID}
	fetch := func(snap *reload.Snapshot, c pmda.Client) *clientContext {
		return cs.find(snap, &pmda.FetchRequest{Client: c, PMIDs: ids, Profile: &pdu.Profile{}})
	}
	const idle = 3 * releasesPerFetch
	all := make([]*clientContext, idle)
	for i := range all {
		all[i] = fetch(old, pmda.Client(i))
	}
	was := all[0].places[1].state.Series
	now := s.serve(conf("a = up.load + 1", "b = delta(up.count)"))
	for range idle/releasesPerFetch + 1 {
		fetch(now, idle)
	}
	for _, c := range all {
		assert.Nil(t, c.snapshot)
		assert.Nil(t, c.places[0].state.Served)
	}
	again := fetch(now, 0)
	assert.Same(t, now, again.snapshot)
	assert.Same(t, s.metric("a").Served, again.places[0].state.Served)
	assert.Same(t, was, again.places[1].state.Series, "its history goes on")
}

// Constants do not change: their delta() and rate() are 0, as in libpcp from the second fetch on.
func TestChangeOfConstants(t *testing.T) {
	for _, interval := range []time.Duration{0, 10 * time.Second} {
		h := start(t, newCollector(t), conf("d = delta(12345)", "r = rate(mkconst(5, semantics=counter))"),
			func(o *Options) { o.Interval = interval }).bound()
		d, r := h.id("derived.d"), h.id("derived.r")
		for n := range 3 {
			sets := h.fetch(d, r)
			if n == 0 && interval == 0 {
				assert.Empty(t, sets[0].Values)
				assert.Empty(t, sets[1].Values)
				continue
			}
			assert.Equal(t, []pdu.Value{pdu.Int64Value(pdu.NoInst, 0)}, sets[0].Values)
			assert.Equal(t, []pdu.Value{pdu.DoubleValue(pdu.NoInst, 0)}, sets[1].Values)
		}
	}
}

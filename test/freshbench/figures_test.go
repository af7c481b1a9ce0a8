package freshbench

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

func TestQuantiles(t *testing.T) {
	many := make([]time.Duration, 1000)
	for i := range many {
		many[len(many)-1-i] = time.Duration(i+1) * ms
	}
	bounds := []time.Duration{ms, 5 * ms, 10 * ms, forever}
	for _, row := range []struct {
		name string
		d    distribution
		q    float64
		want time.Duration
	}{
		{"nothing", newDurations(nil), 0.99, 0},
		{"one", newDurations([]time.Duration{7 * ms}), 0.5, 7 * ms},
		{"median", newDurations(many), 0.5, 500 * ms},
		{"p99", newDurations(many), 0.99, 990 * ms},
		{"p99.9", newDurations(many), 0.999, 999 * ms},
		{"max", newDurations(many), 1, 1000 * ms},
		{"of few the highest", newDurations(many[:10]), 0.99, 1000 * ms},
		{"empty buckets", histogram{bounds, []uint64{0, 0, 0, 0}}, 0.5, 0},
		{"bound of the bucket", histogram{bounds, []uint64{99, 1, 0, 0}}, 0.99, ms},
		{"next bucket", histogram{bounds, []uint64{98, 2, 0, 0}}, 0.99, 5 * ms},
		{"max skips empty buckets", histogram{bounds, []uint64{99, 0, 1, 0}}, 1, 10 * ms},
		{"beyond all bounds", histogram{bounds, []uint64{1, 0, 0, 1}}, 1, forever},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, row.d.quantile(row.q)) })
	}
}

func TestHistogramArithmetic(t *testing.T) {
	bounds := []time.Duration{ms, forever}
	before, after := histogram{bounds, []uint64{1, 2}}, histogram{bounds, []uint64{4, 2}}
	assert.Equal(t, []uint64{3, 0}, after.since(before).counts)
	assert.Equal(t, []uint64{5, 4}, after.plus(before).counts)
	assert.Equal(t, []uint64{4, 2}, after.counts, "operands stay as they are")
	assert.EqualValues(t, 6, after.total())
}

func TestParseBound(t *testing.T) {
	for text, want := range map[string]time.Duration{"0.01": 10 * time.Microsecond, "1.5": 1500 * time.Microsecond, "inf": forever} {
		got, err := parseBound(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-1", "0", "soon"} {
		_, err := parseBound(text)
		assert.Error(t, err, text)
	}
}

func TestJudge(t *testing.T) {
	limits := []limit{{0.5, ms}, {0.99, 5 * ms}, {1, 0}}
	measured, target, ok := judge(newDurations([]time.Duration{ms, ms, 4 * ms}), limits)
	assert.Equal(t, "p50 1 ms, p99 4 ms, max 4 ms", measured)
	assert.Equal(t, "p50 ≤ 1 ms, p99 ≤ 5 ms", target, "no limit, no promise")
	assert.True(t, ok)

	measured, _, ok = judge(histogram{[]time.Duration{ms, 6 * ms}, []uint64{1, 1}}, limits)
	assert.Equal(t, "p50 ≤ 1 ms, p99 ≤ 6 ms, max ≤ 6 ms", measured, "buckets only say so much")
	assert.False(t, ok)
}

func TestTable(t *testing.T) {
	table := Table{Rows: []Row{
		{What: "age", Measured: "p50 ≤ 1 ms", Target: "p50 ≤ 1 ms", OK: true},
		{What: "how it was", Measured: "well", OK: true},
	}}
	assert.True(t, table.OK())
	table.Rows = append(table.Rows, Row{What: "fetches", Measured: "3", Target: "0"})
	assert.False(t, table.OK())
	var b strings.Builder
	require.NoError(t, table.Write(&b))
	assert.Equal(t, `what        measured    target
age         p50 ≤ 1 ms  p50 ≤ 1 ms  ok
how it was  well
fetches     3           0           MISSED
`, b.String())
}

func TestLastNumber(t *testing.T) {
	for _, row := range []struct {
		name, text string
		ok         bool
	}{
		{"pmval", "  1795262325706817377", true},
		{"pmrep", `2026-11-21 11:58:05,1795262325706817377`, true},
		{"pmdumplog", "    510.1.0 (derived.now): value 1795262325706817377", true},
		{"header of pmval", "samples:   13", false},
		{"no value", "No values available", false},
		{"empty cell", "2026-11-21 11:58:05,", false},
		{"nothing", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			n, ok := lastNumber(row.text)
			assert.Equal(t, row.ok, ok)
			if ok {
				assert.EqualValues(t, 1795262325706817377, n)
			}
		})
	}
}

func TestSinceMidnight(t *testing.T) {
	at := time.Date(2026, 11, 21, 23, 59, 59, 999_000_000, time.UTC)
	for _, row := range []struct {
		name, stamp string
		want        time.Duration
	}{
		{"later that day", "23:59:59.999900", 900 * time.Microsecond},
		{"after midnight", "00:00:00.004000", 5 * ms},
		{"before the sample", "23:59:59.998000", -ms},
	} {
		t.Run(row.name, func(t *testing.T) {
			stamp, err := timeOfDay(row.stamp)
			require.NoError(t, err)
			assert.Equal(t, row.want, sinceMidnight(stamp, wallClock(at)))
		})
	}
	_, err := timeOfDay("noon")
	assert.Error(t, err)
}

func TestAddUp(t *testing.T) {
	text := []string{
		`Time,"derived.counter","derived.step"`,
		"2026-11-21 12:00:00,100,9", // since before the first fetch
		"2026-11-21 12:00:01,110,10",
		"2026-11-21 12:00:02,,",
		"2026-11-21 12:00:03,,", // nothing was served, nothing is lost
		"2026-11-21 12:00:04,140,30",
	}
	var lines []line
	for _, l := range text {
		lines = append(lines, line{text: l})
	}
	b := &bench{options: Options{Log: new(strings.Builder)}}
	assert.Equal(t, total{fetches: 3, first: 100, last: 140, sum: 40}, b.addUp(lines))
}

func TestMeanError(t *testing.T) {
	mean, standard := meanError([]float64{0.01, -0.01, 0.02, -0.02})
	assert.InDelta(t, 0, mean, 1e-12)
	assert.InDelta(t, math.Sqrt(0.001/3/4), standard, 1e-12)

	rows := rateRows("an even", 4, []float64{0.01, 0.01, 0.01, 0.01})
	assert.True(t, rows[1].OK, "median error of a hundredth")
	assert.False(t, rows[2].OK, "always the same error is a bias")

	rows = rateRows("an even", 4, nil)
	for _, r := range rows {
		assert.False(t, r.OK, r.What)
	}
}

func TestSwing(t *testing.T) {
	assert.EqualValues(t, 0, swing(0))
	assert.InDelta(t, 1e6*swingPeriod.Seconds(), float64(swing(swingPeriod)), 1, "a million a second over a whole period")
	fast := float64(swing(swingPeriod/4+ms) - swing(swingPeriod/4))
	slow := float64(swing(3*swingPeriod/4+ms) - swing(3*swingPeriod/4))
	assert.InDelta(t, 1500, fast, 5)
	assert.InDelta(t, 500, slow, 5)
}

func TestNapsDisturb(t *testing.T) {
	begin := time.Now()
	n := nap{begin.Add(time.Second), begin.Add(2 * time.Second)}
	at := func(start, end time.Duration) taken { return taken{start: begin.Add(start), end: begin.Add(end)} }
	assert.False(t, n.disturbs(at(0, 900*ms)))
	assert.True(t, n.disturbs(at(900*ms, 2*time.Second)), "waited for the nap to end")
	assert.True(t, n.disturbs(at(2100*ms, 2101*ms)), "right behind it")
	assert.False(t, n.disturbs(at(2200*ms, 2201*ms)))

	naps := []nap{n, {begin.Add(11 * time.Second), begin.Add(12 * time.Second)}}
	r := standingRow("", begin, 22*time.Second, naps)
	assert.True(t, r.OK)
	assert.Contains(t, r.Measured, "5 %, 1 times", "one of the twenty seconds after the first nap")
	assert.False(t, standingRow("", begin, 11*time.Second, naps).OK)
	assert.False(t, standingRow("", begin, time.Second, nil).OK, "nothing was measured")
}

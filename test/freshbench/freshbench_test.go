package freshbench

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/rig"
)

const ms = time.Millisecond

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
			assert.Equal(t, row.want, sinceMidnight(stamp, uint64(at.UnixNano())))
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
	var lines []rig.Line
	for _, l := range text {
		lines = append(lines, rig.Line{Text: l})
	}
	assert.Equal(t, total{fetches: 3, first: 100, last: 140, sum: 40}, (&bench{}).addUp(lines))
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

func TestNapsDisturb(t *testing.T) {
	begin := time.Now()
	n := nap{begin.Add(time.Second), begin.Add(2 * time.Second)}
	at := func(sent, answered time.Duration) taken {
		return taken{sent: begin.Add(sent), answered: begin.Add(answered)}
	}
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

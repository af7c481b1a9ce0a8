package window

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// sequences is how many random sequences each of the tests with a model goes through.
var sequences = flag.Uint64("sequences", 1000, "random sequences of each test that has a model")

// counted is what a tick adds to a sum of changes.
type counted struct {
	tick int64
	by   float64
	none bool // it has no value
}

// counting is a model of the sum of delta() or rate() of a counter. It has all ticks, and computes everything anew.
type counting struct {
	rate  bool
	was   uint64
	at    int64 // when it was so, in seconds; 0: there is no sample
	ticks []counted
}

// add takes a sample. A restarted agent begins with another value. A counter that goes back has no value.
func (m *counting) add(tick int64, count uint64, restarted bool) {
	by := float64(int64(count - m.was))
	if m.rate {
		by /= float64(tick - m.at)
	}
	if m.at > 0 && !restarted {
		m.ticks = append(m.ticks, counted{tick, by, by < 0})
	}
	m.was, m.at = count, tick
}

// stale reports whether there is nothing to be served at a tick.
func (m *counting) stale(tick int64) bool {
	return len(m.ticks) == 0 || tick-m.newest() > maxMissedTicks
}

// after is what ticks after one come to; there may be no value.
func (m *counting) after(tick int64) (sum float64, any bool) {
	for _, c := range m.ticks {
		if c.tick > tick && !c.none {
			sum, any = sum+c.by, true
		}
	}
	return sum, any
}

// newest is the last tick that counts.
func (m *counting) newest() int64 {
	if n := len(m.ticks); n > 0 {
		return m.ticks[n-1].tick
	}
	return 0
}

// TestRandomReads compares sums of changes with the model: counters that wrap, agents that restart, missing samples,
// and clients that read at random ticks.
func TestRandomReads(t *testing.T) {
	set := newSet(t, map[string]string{"a": `sum_sample(delta(count))`, "b": `sum_sample(rate(count), "20s")`})
	since := 0 // its place
	if set.Windows()[since].Span != 0 {
		since = 1
	}
	for seed := range *sequences {
		r := rand.New(rand.NewPCG(37, seed))
		ws, m, fixed, count := windowsOf(set), &counting{}, &counting{rate: true}, r.Uint64N(1000)
		var clients [3]struct {
			seen   int64
			looked bool
			told   *derived.Results
		}
		shown := int64(0)
		for tick := int64(1); tick <= 60; tick++ {
			seen := []int64{shown}
			for i := range clients {
				if clients[i].looked {
					seen = append(seen, clients[i].seen)
				}
			}
			ws.BeginTick(since, seen...)
			restarted := r.IntN(30) == 0
			switch r.IntN(12) {
			case 0:
				ws.Miss(0, tick)
				ws.Miss(1, tick)
			case 1:
				failed := &moment{at: time.Unix(tick, 0)}
				assert.False(t, ws.Add(0, tick, failed, true))
				assert.False(t, ws.Add(1, tick, failed, true))
			case 2:
				count = r.Uint64N(10) // it wraps
				fallthrough
			default:
				count += r.Uint64N(1000)
				m.add(tick, count, restarted)
				fixed.add(tick, count, restarted)
				for i := range 2 {
					ws.Add(i, tick, at(tick, 0, count), !restarted)
				}
			}
			ws.EndTick(tick, since)
			shown = tick
			sum, any := fixed.after(fixed.newest() - 20)
			requireSum(t, ws.Results().Values[1-since], fixed.stale(tick), any, sum, seed, tick)
			for i := range clients {
				c := &clients[i]
				if r.IntN(1+3*i) > 0 {
					continue
				}
				told, from := ws.Results(), m.newest()-FirstTicks
				if c.looked {
					told, from = WithPrevious(set.Windows(), []uint32{uint32(since)}, ws.ResultsSince(c.seen),
						func(i uint32) *derived.Vector { return c.told.Values[i] }), c.seen
				}
				sum, any := m.after(from)
				failed := m.stale(tick)
				if c.looked && m.newest() > from { // what there was
					failed = false
				} else if c.looked && !failed { // nothing is new
					failed = c.told.Values[since].Code < 0
				}
				requireSum(t, told.Values[since], failed, any, sum, seed, tick)
				c.seen, c.looked, c.told = tick, true, told
			}
		}
	}
}

func requireSum(t *testing.T, v *derived.Vector, failed, any bool, sum float64, seed uint64, tick int64) {
	t.Helper()
	switch {
	case failed:
		require.Negative(t, v.Code, "seed %d, tick %d", seed, tick)
	case !any:
		require.Zero(t, v.Code, "seed %d, tick %d", seed, tick)
		require.Empty(t, v.Bits, "seed %d, tick %d", seed, tick)
	default:
		require.Equal(t, pdu.Code(0), v.Code, "seed %d, tick %d", seed, tick)
		require.InDeltaSlice(t, []float64{sum}, numbers(v), 1e-6, "seed %d, tick %d", seed, tick)
	}
}

package window

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
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
			Cursor
			told *derived.Vector // nil: it has not read
		}
		reader := NewReader(math.MaxInt)
		for tick := int64(1); tick <= 60; tick++ {
			ws.BeginTick(tick, time.Time{}, since)
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
			state := ws.State(tick, nil)
			sum, any := fixed.after(fixed.newest() - 20)
			requireSum(t, state.Results.Values[1-since], fixed.stale(tick), any, sum, seed, tick)
			for i := range clients {
				c := &clients[i]
				if r.IntN(1+3*i) > 0 {
					continue
				}
				from, isFirst := c.tick, c.told == nil
				if isFirst {
					from = m.newest() - FirstTicks
				}
				results, first := reader.Read(state, &c.Cursor, []uint32{uint32(since)}, time.Time{}, time.Time{})
				require.Equal(t, isFirst, first)
				sum, any := m.after(from)
				failed := m.stale(tick)
				if !isFirst && m.newest() > from { // what there was
					failed = false
				} else if !isFirst && !failed { // nothing is new
					failed = c.told.Code < 0
				}
				c.told = results.Values[since]
				requireSum(t, c.told, failed, any, sum, seed, tick)
			}
			state.SetCursors(func(yield func(*Cursor) bool) {
				for i := range clients {
					if !yield(&clients[i].Cursor) {
						return
					}
				}
			}, time.Time{})
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

// TestRandomLimits has clients that read each second, each minute and each hour, and one that comes and goes, while the
// windows without a span reach their limit and a request its own. A client gets the right values or, if it has missed too
// many, an error once. Windows with a span lose nothing.
func TestRandomLimits(t *testing.T) {
	set := newSet(t, map[string]string{
		"a": "max_sample(bin)", "b": "sum_sample(bin)", "c": `max_sample(bin, "1min")`, "d": `sum_sample(bin, "20s")`,
	})
	perClient := []uint32{}
	for i, w := range set.Windows() {
		if w.PerClient() {
			perClient = append(perClient, uint32(i))
		}
	}
	const each, inRequest = 20_000, 30_000
	refused := 0
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(59, seed))
		ws := NewWindows(derived.NewGroups())
		ws.FirstTicks, ws.MaxValues = FirstTicks, len(perClient)*each
		ws = ws.ForSet(set)
		m, reader := &binModel{}, NewReader(inRequest)
		clients := []*limitedClient{{period: 1}, {period: 60}, {period: 3600}, {period: 97, leaves: true}}
		instances := 8
		for tick := int64(1); tick <= 8000; tick++ {
			if r.IntN(200) == 0 {
				instances = []int{8, 8, 8, 300, 0}[r.IntN(5)]
			}
			now := time.Unix(tick, 0)
			ws.BeginTick(tick, now, int(perClient[0]), int(perClient[1]))
			if r.IntN(20) > 0 {
				ids, values := m.add(r, tick, instances)
				s := binsAt(tick, ids, values...)
				for i := range set.Windows() {
					require.True(t, ws.Add(i, tick, s, true), "seed %d, tick %d", seed, tick)
				}
			}
			state := ws.State(tick, nil)
			for i, w := range set.Windows() {
				if w.PerClient() {
					require.LessOrEqual(t, ws.windows[i].values, each)
				} else if newest := m.newest(); newest > 0 {
					requireBins(t, m.result(w.Func, newest-w.Span), state.Results.Values[i], seed, tick)
				}
			}
			for _, c := range clients {
				if tick%c.period == 0 && len(m.ticks) > 0 && !(c.leaves && r.IntN(3) == 0) {
					refused += c.read(t, reader, state, perClient, m, seed, tick, []int{each, inRequest})
				}
			}
			state.SetCursors(func(yield func(*Cursor) bool) {
				for _, c := range clients {
					if !yield(&c.Cursor) {
						return
					}
				}
			}, now)
		}
	}
	assert.Positive(t, refused)
}

// limitedClient is a client of TestRandomLimits.
type limitedClient struct {
	Cursor
	period int64
	leaves bool // it is forgotten if it misses a period
	told   map[uint32]*derived.Vector
}

// read reads the per-client windows and compares them with the model. It returns how many were refused.
func (c *limitedClient) read(
	t *testing.T, reader *Reader, state *State, perClient []uint32, m *binModel, seed uint64, tick int64, limits []int,
) (refused int) {
	t.Helper()
	after, before := c.Cursor.tick, c.told
	now := time.Unix(tick, 0)
	isFirst := before == nil || c.expires.Before(now)
	if isFirst {
		after = max(m.newest()-FirstTicks, 0)
	}
	reader.BeginRequest()
	results, first := reader.Read(state, &c.Cursor, perClient, now, now.Add(time.Duration(c.period)*time.Second))
	require.Equal(t, isFirst, first)
	c.told = make(map[uint32]*derived.Vector)
	left := limits[1]
	for _, i := range perClient {
		v, fn, n := results.Values[i], state.windows[i].Func, m.count(after)
		c.told[i] = v
		switch {
		case v.Code == pdu.ErrTooBig && m.newest() > after:
			refused++
			require.NotEmpty(t, v.Why)
			require.True(t, n > limits[0] || n > left || m.newest()-after > MaxPerClientTicks-100,
				"seed %d, tick %d: %d values are not too many", seed, tick, n)
			continue
		case m.newest() > after:
			requireBins(t, m.result(fn, after), v, seed, tick)
		case isFirst:
		case before[i].Code < 0 || fn == syntax.MaxSample:
			require.Equal(t, before[i], v)
		default:
			require.Empty(t, v.Bits, "it would count twice")
		}
		left -= n
	}
	return refused
}

// binModel has all values of bin.
type binModel struct {
	ticks  []int64
	values []map[pdu.Inst]uint64
	ids    []pdu.Inst // of the newest tick
}

// add adds a tick with about so many instances.
func (m *binModel) add(r *rand.Rand, tick int64, instances int) (ids []pdu.Inst, bits []uint64) {
	if m.ids == nil || r.IntN(10) == 0 || len(m.ids) > 2*instances || len(m.ids) < instances/2 {
		m.ids = []pdu.Inst{}
		for id := range pdu.Inst(instances) {
			if r.IntN(8) > 0 {
				m.ids = append(m.ids, id)
			}
		}
	}
	values := make(map[pdu.Inst]uint64)
	for _, id := range m.ids {
		values[id] = r.Uint64N(1000)
		bits = append(bits, values[id])
	}
	m.ticks, m.values = append(m.ticks, tick), append(m.values, values)
	return m.ids, bits
}

func (m *binModel) newest() int64 {
	if len(m.ticks) == 0 {
		return 0
	}
	return m.ticks[len(m.ticks)-1]
}

// count returns the number of values after a tick.
func (m *binModel) count(after int64) (n int) {
	for i := len(m.ticks) - 1; i >= 0 && m.ticks[i] > after; i-- {
		n += len(m.values[i])
	}
	return n
}

// result returns the result of the ticks after one.
func (m *binModel) result(fn syntax.Func, after int64) map[pdu.Inst]float64 {
	result := make(map[pdu.Inst]float64)
	for i := len(m.ticks) - 1; i >= 0 && m.ticks[i] > after; i-- {
		for _, id := range m.ids {
			x, ok := m.values[i][id]
			former, known := result[id]
			switch {
			case !ok:
			case fn == syntax.SumSample:
				result[id] = former + float64(x)
			case !known || float64(x) > former:
				result[id] = float64(x)
			}
		}
	}
	return result
}

func requireBins(t *testing.T, want map[pdu.Inst]float64, v *derived.Vector, seed uint64, tick int64) {
	t.Helper()
	require.Zero(t, v.Code, "seed %d, tick %d", seed, tick)
	require.Len(t, v.Bits, len(want), "seed %d, tick %d", seed, tick)
	for i, x := range numbers(v) {
		if want[v.At(i)] != x {
			require.Equal(t, want[v.At(i)], x, "seed %d, tick %d, instance %d", seed, tick, v.At(i))
		}
	}
}

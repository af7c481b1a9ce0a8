package window

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// doubles is a column of DOUBLE over instances; nil: singular.
func doubles(insts *derived.InstSet, values ...float64) *derived.Vector {
	v := &derived.Vector{Type: pdu.TypeDouble, Insts: insts}
	for _, x := range values {
		v.Bits = append(v.Bits, math.Float64bits(x))
	}
	return v
}

// alone is a window outside a set, for one client. Without a span it has the ticks since the last restart.
type alone struct {
	window
	reducer reducer
	read    int64
}

// newAlone makes a window of numbers of type t, with a tick every two seconds. A percentile is the 60th.
func newAlone(fn syntax.Func, t pdu.Type, span int64, own bool) *alone {
	return &alone{read: math.MinInt64, window: newWindow(&derived.Window{
		Func: fn, Number: 60, Type: t, Desc: pdu.Desc{Type: typeOf(fn, t)}, Span: span, Every: 2 * time.Second,
		Grouped: own,
	})}
}

// newSingular makes one of a singular operand.
func newSingular(fn syntax.Func, t pdu.Type, span int64) *alone {
	w := newAlone(fn, t, span, false)
	w.Desc.InDom = pdu.NoInDom
	w.window = newWindow(w.Window)
	return w
}

// Add adds the values of a tick, unless they are an error.
func (w *alone) Add(tick int64, v *derived.Vector) {
	if v.Code >= 0 {
		if w.hasTick() && tick <= w.newest { // the clock was set back
			w.read = math.MinInt64
		}
		w.add(tick, v.OnlyFinite(), v.Insts)
		if !w.PerClient() {
			w.drop(tick - w.Span)
		}
	}
}

// Value computes the result.
func (w *alone) Value() *derived.Vector {
	of := w.columns
	for len(of) > 0 && of[0].tick <= w.read {
		of = of[1:]
	}
	if len(of) == 0 {
		return &derived.Vector{Code: pdu.ErrAgain}
	}
	return w.reducer.result(w.Window, &w.view, of)
}

// restart makes the ticks that there are those that the client has read.
func (w *alone) restart() { w.read = w.newest }

// typeOf is the type of a result.
func typeOf(fn syntax.Func, t pdu.Type) pdu.Type {
	switch fn {
	case syntax.CountSample:
		return pdu.TypeU32
	case syntax.SumSample, syntax.AvgSample, syntax.StdevSample, syntax.SlopeSample:
		return pdu.TypeDouble
	default:
		return t
	}
}

// numbers are the values of a DOUBLE result.
func numbers(v *derived.Vector) []float64 {
	made := make([]float64, len(v.Bits))
	for i, b := range v.Bits {
		made[i] = v.Type.Float64(b)
	}
	return made
}

func TestFunctions(t *testing.T) {
	for _, tt := range []struct {
		fn    syntax.Func
		typ   pdu.Type
		wants []float64 // after each of the values 3, 1, 4, 1, 5 in a window of three ticks
	}{
		{syntax.MaxSample, pdu.TypeDouble, []float64{3, 3, 4, 4, 5}},
		{syntax.MinSample, pdu.TypeDouble, []float64{3, 1, 1, 1, 1}},
		{syntax.SumSample, pdu.TypeDouble, []float64{3, 4, 8, 6, 10}},
		{syntax.AvgSample, pdu.TypeDouble, []float64{3, 2, 8. / 3, 2, 10. / 3}},
		{syntax.CountSample, pdu.TypeU32, []float64{1, 2, 3, 3, 3}},
		{syntax.StdevSample, pdu.TypeDouble, []float64{0, 1, math.Sqrt(14. / 9), math.Sqrt(2), math.Sqrt(26. / 9)}},
		{syntax.FirstSample, pdu.TypeDouble, []float64{3, 3, 3, 1, 4}},
		{syntax.LastSample, pdu.TypeDouble, []float64{3, 1, 4, 1, 5}},
		{syntax.PercentileSample, pdu.TypeDouble, []float64{3, 3, 3, 1, 4}},
		{syntax.SlopeSample, pdu.TypeDouble, []float64{math.NaN(), -1, .25, 0, .25}}, // NaN: none
	} {
		t.Run(tt.fn.String(), func(t *testing.T) {
			w := newSingular(tt.fn, pdu.TypeDouble, 3)
			for i, x := range []float64{3, 1, 4, 1, 5} {
				w.Add(int64(i), doubles(nil, x))
				got := w.Value()
				assert.Equal(t, tt.typ, got.Type)
				if math.IsNaN(tt.wants[i]) {
					assert.Empty(t, got.Bits)
					continue
				}
				require.Len(t, got.Bits, 1)
				assert.InDelta(t, tt.wants[i], numbers(got)[0], 1e-12, "tick %d", i)
			}
		})
	}
}

// The largest and the smallest number of each type come out as they went in.
func TestExtremesKeepTheirType(t *testing.T) {
	float := func(x float32) uint64 { return uint64(math.Float32bits(x)) }
	for _, tt := range []struct {
		typ       pdu.Type
		ascending []uint64
	}{
		{pdu.Type32, []uint64{1 << 31, math.MaxUint32, 0, math.MaxInt32}},
		{pdu.TypeU32, []uint64{0, 1, 1 << 31, math.MaxUint32}},
		{pdu.Type64, []uint64{1 << 63, math.MaxUint64, 0, math.MaxInt64}},
		{pdu.TypeU64, []uint64{0, 1<<53 + 1, 1<<53 + 2, math.MaxUint64}},
		{pdu.TypeFloat, []uint64{float(-math.MaxFloat32), float(-1), float(0), float(math.MaxFloat32)}},
		{pdu.TypeDouble, []uint64{math.Float64bits(-math.MaxFloat64), math.Float64bits(-1), math.Float64bits(0), math.Float64bits(math.MaxFloat64)}},
	} {
		for i, smaller := range tt.ascending {
			for _, larger := range tt.ascending[i:] {
				for _, order := range [][]uint64{{smaller, larger}, {larger, smaller}} {
					least, most := newSingular(syntax.MinSample, tt.typ, 2), newSingular(syntax.MaxSample, tt.typ, 2)
					for tick, b := range order {
						v := &derived.Vector{Type: tt.typ, Bits: []uint64{b}}
						least.Add(int64(tick), v)
						most.Add(int64(tick), v)
					}
					assert.Equal(t, []uint64{smaller}, least.Value().Bits, "%s", tt.typ)
					assert.Equal(t, []uint64{larger}, most.Value().Bits, "%s", tt.typ)
				}
			}
		}
	}
}

func TestNoTick(t *testing.T) {
	w := newSingular(syntax.MaxSample, pdu.TypeDouble, 3)
	assert.False(t, w.hasTick())
	assert.Equal(t, pdu.ErrAgain, w.Value().Code)

	w.Add(1, &derived.Vector{Code: pdu.ErrAgain})
	assert.Equal(t, pdu.ErrAgain, w.Value().Code, "a tick that failed is none")
}

func TestGaps(t *testing.T) {
	w := newSingular(syntax.SumSample, pdu.TypeDouble, 3)
	w.Add(1, doubles(nil, 1))
	w.Add(2, doubles(nil, 2))
	w.Add(3, &derived.Vector{Code: pdu.ErrAgain})
	assert.Equal(t, []float64{3}, numbers(w.Value()), "the window ends at the last good tick")
	assert.EqualValues(t, 2, w.newest)

	w.Add(4, doubles(nil, 4))
	assert.Equal(t, []float64{6}, numbers(w.Value()), "ticks 2 and 4 of the three")
	w.Add(5, doubles(nil, math.Inf(1)))
	assert.Equal(t, []float64{4}, numbers(w.Value()), "what is not finite does not syntax.CountSample, and others do")
	w.Add(6, doubles(nil, 6))
	assert.Equal(t, []float64{10}, numbers(w.Value()))
	w.Add(1000, doubles(nil, 7))
	assert.Equal(t, []float64{7}, numbers(w.Value()), "the clock was set ahead")
	w.Add(999, doubles(nil, 8))
	assert.Equal(t, []float64{8}, numbers(w.Value()), "the clock was set back")
}

func TestInstancesComeAndGo(t *testing.T) {
	first, second := derived.NewInstSet([]pdu.Inst{1, 2}), derived.NewInstSet([]pdu.Inst{3, 2})
	newest, all := newAlone(syntax.SumSample, pdu.TypeDouble, 2, false), newAlone(syntax.SumSample, pdu.TypeDouble, 2, true)
	add := func(tick int64, v *derived.Vector) {
		newest.Add(tick, v)
		all.Add(tick, v)
	}
	add(1, doubles(first, 10, 20))
	add(2, doubles(second, 30, 40))
	assert.Same(t, second, newest.Value().Insts)
	assert.Equal(t, []float64{30, 60}, numbers(newest.Value()))
	assert.Equal(t, []pdu.Inst{1, 2, 3}, all.Value().Insts.IDs())
	assert.Equal(t, []float64{10, 60, 30}, numbers(all.Value()))

	add(3, doubles(second, 1, 2))
	assert.Equal(t, []pdu.Inst{2, 3}, all.Value().Insts.IDs())
	assert.Equal(t, []float64{42, 31}, numbers(all.Value()))
}

// A value that has left leaves no rounding behind.
func TestPeakThatHasLeft(t *testing.T) {
	for _, fn := range []syntax.Func{syntax.SumSample, syntax.AvgSample, syntax.StdevSample, syntax.SlopeSample} {
		w, calm := newSingular(fn, pdu.TypeDouble, 5), newSingular(fn, pdu.TypeDouble, 5)
		w.Add(0, doubles(nil, 1e300))
		for tick := int64(1); tick <= 12; tick++ {
			v := doubles(nil, 0.1*float64(tick))
			w.Add(tick, v)
			calm.Add(tick, v)
			if tick >= 5 {
				assert.InDelta(t, numbers(calm.Value())[0], numbers(w.Value())[0], 1e-12, "function %d, tick %d", fn,
					tick)
			}
		}
	}
}

// Sums, averages and slopes differ from exact arithmetic in the last digits only: by less than a rounding for each value,
// of the sum of all without their signs.
func TestRoundings(t *testing.T) {
	const precision = 200 // bits
	exact := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(59, seed))
		const span = 600
		sums, averages := newSingular(syntax.SumSample, pdu.TypeDouble, span), newSingular(syntax.AvgSample, pdu.TypeDouble, span)
		slopes := newSingular(syntax.SlopeSample, pdu.TypeDouble, span)
		sum, product, squares, size := exact(0), exact(0), exact(0), 0.0
		for tick := range int64(span) {
			x := math.Exp(6*r.NormFloat64()) * float64(1-2*r.IntN(2))
			for _, w := range []*alone{sums, averages, slopes} {
				w.Add(tick, doubles(nil, x))
			}
			off := exact(float64(tick) - (span-1)/2.)
			sum.Add(sum, exact(x))
			product.Add(product, new(big.Float).Mul(off, exact(x)))
			squares.Add(squares, new(big.Float).Mul(off, off))
			size += math.Abs(x)
		}
		total, _ := sum.Float64()
		growth, _ := product.Quo(product, squares).Float64()
		const rounding = 1. / (1 << 53)
		assert.InDelta(t, total, numbers(sums.Value())[0], span*rounding*size)
		assert.InDelta(t, total/span, numbers(averages.Value())[0], span*rounding*size/span)
		assert.InDelta(t, growth/2, numbers(slopes.Value())[0], span*rounding*size/span)
	}
}

// These are values that have left, small differences of large values, and values that become ever smaller.
func TestDeviationIsExact(t *testing.T) {
	for _, tt := range []struct {
		name  string
		value func(r *rand.Rand, tick int) float64
	}{
		{"peaks", func(r *rand.Rand, _ int) float64 { return []float64{r.Float64(), 1e15}[r.IntN(40)/39] }},
		{"far from 0", func(r *rand.Rand, _ int) float64 { return 1e6 + float64(r.IntN(8)) }},
		{"less at each tick", func(r *rand.Rand, tick int) float64 { return math.Ldexp(1+r.Float64(), -tick%200) }},
		{"less at some ticks", func(r *rand.Rand, tick int) float64 { return math.Ldexp(r.Float64(), -tick/8%200) }},
		{"large and small", func(r *rand.Rand, _ int) float64 { return math.Exp(8 * r.NormFloat64()) }},
		{"steps", func(r *rand.Rand, tick int) float64 { return 1e6*float64(tick/40%2) + r.Float64() }},
	} {
		for _, span := range []int{7, 60} {
			r, w := rand.New(rand.NewPCG(5, 6)), newSingular(syntax.StdevSample, pdu.TypeDouble, int64(span))
			var values []float64
			for tick := range 1000 {
				values = append(values, tt.value(r, tick))
				w.Add(int64(tick), doubles(nil, values[tick]))
				some, mean, squares := values[max(0, tick+1-span):], 0.0, 0.0
				for _, x := range some {
					mean += (x - values[tick]) / float64(len(some))
				}
				for _, x := range some {
					squares += (x - values[tick] - mean) * (x - values[tick] - mean)
				}
				want := math.Sqrt(squares / float64(len(some)))
				require.InDelta(t, want, numbers(w.Value())[0], 1e-9*want, "%s, %d ticks, tick %d", tt.name, span, tick)
			}
		}
	}
}

// Without a span a window has what came since the last Restart: each tick is in one window of each client.
func TestSinceTheLastLook(t *testing.T) {
	w, total := newSingular(syntax.SumSample, pdu.TypeDouble, 0), 0.0
	for tick := int64(1); tick <= 100; tick++ {
		w.Add(tick, doubles(nil, float64(tick)))
		if tick%7 == 0 || tick == 100 {
			total += numbers(w.Value())[0]
			w.restart()
		}
	}
	assert.InDelta(t, 5050, total, 0)
}

// A tick allocates its column and a result, however many values they have.
func TestSteadyWindowDoesNotAllocatePerValue(t *testing.T) {
	allocations := func(n int) float64 {
		ids := make([]pdu.Inst, n)
		for i := range ids {
			ids[i] = pdu.Inst(i)
		}
		v := &derived.Vector{Type: pdu.TypeDouble, Insts: derived.NewInstSet(ids), Bits: make([]uint64, n)}
		w, tick := newAlone(syntax.MaxSample, pdu.TypeDouble, 10, false), int64(0)
		add := func() {
			tick++
			w.Add(tick, v)
			w.Value()
		}
		for range 50 {
			add()
		}
		return testing.AllocsPerRun(100, add)
	}
	assert.LessOrEqual(t, allocations(1), 4.0)
	assert.Equal(t, allocations(1), allocations(1000))
}

// Columns share their instances with the sample, and those that have left leave no memory behind.
func TestMemoryOfColumns(t *testing.T) {
	sets := []*derived.InstSet{derived.NewInstSet([]pdu.Inst{1, 2}), derived.NewInstSet([]pdu.Inst{2, 3})}
	for _, span := range []int64{0, 1000} {
		w := newAlone(syntax.MaxSample, pdu.TypeDouble, span, false)
		for tick := range int64(1500) {
			w.Add(tick, doubles(sets[tick%2], 1, 2))
			if span == 0 {
				w.drop(tick - 1000)
			}
		}
		assert.Len(t, w.columns, 1000)
		assert.Equal(t, 2000, w.values)
		assert.LessOrEqual(t, cap(w.columns), 2100)
		for _, c := range w.columns {
			require.Same(t, sets[c.tick%2], c.insts)
			require.Equal(t, 2, cap(c.bits))
		}
		for _, c := range w.columns[1000:cap(w.columns)] {
			require.Nil(t, c.bits)
		}
	}
}

// model is a window that keeps all ticks and computes everything anew.
type model struct {
	fn    syntax.Func
	typ   pdu.Type
	span  int64
	own   bool
	ticks []int64
	all   []*derived.Vector
}

// timed is a value and its tick.
type timed struct{ tick, value float64 }

func (m *model) add(tick int64, v *derived.Vector) {
	if v.Code < 0 {
		return
	}
	if n := len(m.ticks); n > 0 && tick <= m.ticks[n-1] {
		m.ticks, m.all = nil, nil
	}
	m.ticks, m.all = append(m.ticks, tick), append(m.all, v)
}

// value returns the instances of the result and their numbers.
func (m *model) value() (with []pdu.Inst, result []float64) {
	var ids []pdu.Inst
	newest := len(m.ticks) - 1
	values := map[pdu.Inst][]timed{} // oldest syntax.FirstSample
	for i, v := range m.all {
		if m.span == 0 || m.ticks[i] > m.ticks[newest]-m.span {
			v = v.OnlyFinite()
			for k, b := range v.Bits {
				if n := len(values[v.At(k)]); n > 0 && values[v.At(k)][n-1].tick == float64(m.ticks[i]-m.ticks[newest]) {
					continue // an instance that occurs twice
				}
				values[v.At(k)] = append(values[v.At(k)],
					timed{float64(m.ticks[i] - m.ticks[newest]), m.typ.Float64(b)})
			}
		}
	}
	switch {
	case m.own:
		for id := range values {
			ids = append(ids, id)
		}
		slices.Sort(ids)
	case m.all[newest].Insts == nil:
		ids = []pdu.Inst{pdu.NoInst}
	default:
		ids = m.all[newest].Insts.IDs()
	}
	for _, id := range ids {
		if len(values[id]) == 0 || slices.Contains(with, id) {
			continue
		}
		if x := m.of(values[id]); !math.IsNaN(x) {
			with, result = append(with, id), append(result, x)
		}
	}
	return with, result
}

func (m *model) of(values []timed) float64 {
	n, total, ticks, squares, product, width := float64(len(values)), 0.0, 0.0, 0.0, 0.0, 0.0
	var ascending []float64
	for _, x := range values {
		total, ticks, ascending = total+x.value, ticks+x.tick, append(ascending, x.value)
	}
	slices.Sort(ascending)
	for _, x := range values {
		squares += (x.value - total/n) * (x.value - total/n)
		product += (x.tick - ticks/n) * (x.value - total/n)
		width += (x.tick - ticks/n) * (x.tick - ticks/n)
	}
	return map[syntax.Func]float64{
		syntax.MaxSample: ascending[len(values)-1], syntax.MinSample: ascending[0], syntax.SumSample: total, syntax.AvgSample: total / n, syntax.CountSample: n,
		syntax.StdevSample: math.Sqrt(squares / n),
		syntax.FirstSample: values[0].value, syntax.LastSample: values[len(values)-1].value,
		syntax.PercentileSample: ascending[(6*len(values)+9)/10-1], syntax.SlopeSample: product / width / 2,
	}[m.fn]
}

// Numbers of these tests are small multiples of a quarter, so that sums are exact in any order.
func randomNumber(r *rand.Rand, t pdu.Type) uint64 {
	n := r.IntN(2001) - 1000
	switch t {
	case pdu.Type32:
		return uint64(uint32(int32(n)))
	case pdu.Type64:
		return uint64(int64(n))
	case pdu.TypeFloat:
		if r.IntN(50) == 0 {
			return uint64(math.Float32bits(float32(math.Inf(n))))
		}
		return uint64(math.Float32bits(float32(n) / 4))
	case pdu.TypeDouble:
		if r.IntN(50) == 0 {
			return math.Float64bits(math.NaN())
		}
		return math.Float64bits(float64(n) / 4)
	default:
		return uint64(n + 1000)
	}
}

// randomInstances are up to a dozen, now and then in no order, now and then one of them twice.
func randomInstances(r *rand.Rand) *derived.InstSet {
	var ids []pdu.Inst
	for id := range pdu.Inst(12) {
		if r.IntN(3) > 0 {
			ids = append(ids, id)
		}
	}
	if r.IntN(4) == 0 {
		r.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	if len(ids) > 0 && r.IntN(20) == 0 {
		ids = append(ids, ids[0])
	}
	return derived.NewInstSet(ids)
}

// TestRandomSequences compares windows with the model: values, gaps, instances, steps of the clock, and, without a
// span, fetches.
func TestRandomSequences(t *testing.T) {
	types := []pdu.Type{pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble}
	funcs := []syntax.Func{
		syntax.MaxSample, syntax.MinSample, syntax.SumSample, syntax.AvgSample, syntax.CountSample, syntax.StdevSample,
		syntax.FirstSample, syntax.LastSample, syntax.PercentileSample, syntax.SlopeSample,
	}
	for seed := range *sequences {
		r := rand.New(rand.NewPCG(19, seed))
		m := &model{
			fn: funcs[r.IntN(len(funcs))], typ: types[r.IntN(len(types))],
			span: int64(r.IntN(20)), own: r.IntN(2) == 0,
		}
		if m.fn == syntax.PercentileSample || m.fn == syntax.SlopeSample { // results take all values, not parts
			m.span = max(m.span, 1) // these have a window always
		}
		w := newAlone(m.fn, m.typ, m.span, m.own)
		singular := r.IntN(5) == 0
		if singular {
			m.own, w = false, newSingular(m.fn, m.typ, m.span)
		}
		insts, tick := randomInstances(r), int64(1_000_000)
		for range 60 {
			switch r.IntN(40) {
			case 0:
				tick -= int64(r.IntN(5))
			case 1:
				tick += int64(r.IntN(50))
			case 2, 3:
				tick += 2
			default:
				tick++
			}
			if r.IntN(3) == 0 {
				insts = randomInstances(r)
			}
			v := &derived.Vector{Type: m.typ, Insts: insts}
			n := insts.Len()
			if singular {
				v.Insts, n = nil, r.IntN(8)
				n = min(n, 1)
			}
			for range n {
				v.Bits = append(v.Bits, randomNumber(r, m.typ))
			}
			if r.IntN(15) == 0 {
				v = &derived.Vector{Code: pdu.ErrAgain}
			}
			w.Add(tick, v)
			m.add(tick, v)
			if len(m.ticks) == 0 {
				require.Equal(t, pdu.ErrAgain, w.Value().Code, "seed %d", seed)
				continue
			}
			requireSame(t, m, w, seed)
			if m.span == 0 && r.IntN(6) == 0 { // a fetch
				w.restart()
				m.ticks, m.all = nil, nil
			}
		}
	}
}

func requireSame(t *testing.T, m *model, w *alone, seed uint64) {
	t.Helper()
	ids, wants := m.value()
	got := w.Value()
	require.Equal(t, typeOf(m.fn, m.typ), got.Type, "seed %d", seed)
	require.Len(t, got.Bits, len(ids), "seed %d", seed)
	within := 0.0
	switch m.fn {
	case syntax.StdevSample:
		within = 1e-5 // the root of a rounding, where all values are equal
	case syntax.SlopeSample:
		within = 1e-9
	default:
	}
	for i, x := range numbers(got) {
		require.Equal(t, ids[i], got.At(i), "seed %d", seed)
		require.InDelta(t, wants[i], x, within, "seed %d: function %d, instance %d", seed, m.fn, ids[i])
	}
}

// BenchmarkWindow measures the CPU time of a tick of a full window with its result, and the memory of a retained value.
// Every so many ticks the operand has other instances.
func BenchmarkWindow(b *testing.B) {
	for _, fn := range []syntax.Func{syntax.MaxSample, syntax.AvgSample, syntax.StdevSample, syntax.PercentileSample, syntax.SlopeSample} {
		for _, size := range []struct{ span, n, changes int }{
			{60, 1, 0}, {300, 1, 0}, {60, 10_000, 0}, {60, 10_000, 5}, {60, 10_000, 1}, {3600, 1000, 0},
		} {
			b.Run(fmt.Sprintf("%s/%dx%d/%d", fn, size.span, size.n, size.changes), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				var insts *derived.InstSet
				w, tick := newAlone(fn, pdu.TypeDouble, int64(size.span), false), int64(0)
				add := func(ticks int) {
					for range ticks {
						if insts == nil || size.changes > 0 && int(tick)%size.changes == 0 {
							insts = someOf(r, size.n)
						}
						v := &derived.Vector{Type: pdu.TypeDouble, Insts: insts, Bits: make([]uint64, insts.Len())}
						for i := range v.Bits {
							v.Bits[i] = math.Float64bits(r.Float64())
						}
						tick++
						w.Add(tick, v)
					}
				}
				before := heap()
				add(2 * size.span)
				insts = nil
				kept := float64(heap()-before) / float64(w.values)
				var took time.Duration
				for b.Loop() {
					add(1)
					began := cpu(b)
					w.Value()
					took += cpu(b) - began
				}
				b.ReportMetric(float64(took.Nanoseconds())/float64(b.N*w.values), "ns/value")
				b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs/tick")
				b.ReportMetric(kept, "B/value")
				runtime.KeepAlive(w)
			})
		}
	}
}

// someOf are n of a few more instances.
func someOf(r *rand.Rand, n int) *derived.InstSet {
	var ids []pdu.Inst
	for id := pdu.Inst(0); len(ids) < n; id++ {
		if r.IntN(20) > 0 {
			ids = append(ids, id)
		}
	}
	return derived.NewInstSet(ids)
}

// cpu is what the process has had of CPUs: other processes do not matter.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var use syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkRead measures the longest request: a client reads as many values as it may.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{194, 10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			insts := someOf(r, n)
			w := newAlone(syntax.MaxSample, pdu.TypeDouble, 0, false)
			for tick := range int64(MaxPerClientValues / n) {
				v := &derived.Vector{Type: pdu.TypeDouble, Insts: insts, Bits: make([]uint64, n)}
				for i := range v.Bits {
					v.Bits[i] = math.Float64bits(r.Float64())
				}
				w.Add(tick+1, v)
			}
			for b.Loop() {
				w.Value()
			}
		})
	}
}

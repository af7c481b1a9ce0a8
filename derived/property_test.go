package derived

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// numericTypes in the order of promotion, from the last.
var numericTypes = []pdu.Type{pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble}

// amount is what the model of arithmetic computes with: an exact value, or one of the special ones.
type amount struct {
	exact   *big.Float // nil: special
	special float64    // an infinity or NaN
}

func exactly(t pdu.Type, bits uint64) amount {
	f := new(big.Float).SetPrec(200)
	switch t {
	case pdu.Type32:
		return amount{exact: f.SetInt64(int64(int32(uint32(bits))))}
	case pdu.Type64:
		return amount{exact: f.SetInt64(int64(bits))}
	case pdu.TypeU32, pdu.TypeU64:
		return amount{exact: f.SetUint64(bits)}
	case pdu.TypeFloat:
		return amount{exact: f.SetFloat64(float64(math.Float32frombits(uint32(bits))))}
	}
	return amount{exact: f.SetFloat64(math.Float64frombits(bits))}
}

// as rounds or wraps an exact number to a type and returns its bits.
func (n amount) as(t pdu.Type) uint64 {
	switch t {
	case pdu.TypeDouble:
		if n.exact == nil {
			return math.Float64bits(n.special)
		}
		f, _ := n.exact.Float64()
		return math.Float64bits(f)
	case pdu.TypeFloat:
		f, _ := n.exact.Float32()
		return uint64(math.Float32bits(f))
	}
	i, _ := n.exact.Int(nil)
	wrapped := new(big.Int).And(i, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	if t == pdu.Type32 || t == pdu.TypeU32 {
		wrapped = uint64(uint32(wrapped))
	}
	return wrapped
}

// model is what pmRegisterDerived(3) makes of two numbers, and the type of it.
func model(op string, tx pdu.Type, x uint64, ty pdu.Type, y uint64) (pdu.Type, uint64) {
	common := numericTypes[max(slices.Index(numericTypes, tx), slices.Index(numericTypes, ty))]
	nx, ny := exactly(tx, x), exactly(ty, y)
	cx, cy := exactly(common, nx.as(common)), exactly(common, ny.as(common))
	result := new(big.Float).SetPrec(200)
	yes := false
	switch op {
	case "+":
		return common, amount{exact: result.Add(cx.exact, cy.exact)}.as(common)
	case "-":
		return common, amount{exact: result.Sub(cx.exact, cy.exact)}.as(common)
	case "*":
		return common, amount{exact: result.Mul(cx.exact, cy.exact)}.as(common)
	case "/":
		dx, dy := exactly(pdu.TypeDouble, nx.as(pdu.TypeDouble)), exactly(pdu.TypeDouble, ny.as(pdu.TypeDouble))
		switch {
		case dx.exact.Sign() == 0:
			return pdu.TypeDouble, 0
		case dy.exact.Sign() == 0:
			return pdu.TypeDouble, amount{special: math.Inf(dx.exact.Sign())}.as(pdu.TypeDouble)
		}
		return pdu.TypeDouble, amount{exact: result.SetPrec(300).Quo(dx.exact, dy.exact)}.as(pdu.TypeDouble)
	case "<":
		yes = cx.exact.Cmp(cy.exact) < 0
	case "<=":
		yes = cx.exact.Cmp(cy.exact) <= 0
	case "==":
		yes = cx.exact.Cmp(cy.exact) == 0
	case ">=":
		yes = cx.exact.Cmp(cy.exact) >= 0
	case ">":
		yes = cx.exact.Cmp(cy.exact) > 0
	case "!=":
		yes = cx.exact.Cmp(cy.exact) != 0
	case "&&":
		yes = nx.exact.Sign() != 0 && ny.exact.Sign() != 0
	case "||":
		yes = nx.exact.Sign() != 0 || ny.exact.Sign() != 0
	}
	return pdu.TypeU32, truth(yes)
}

// randomBits is a number of a type: often small or at an edge.
func randomBits(r *rand.Rand, t pdu.Type) uint64 {
	switch t {
	case pdu.TypeFloat:
		return uint64(math.Float32bits(float32(r.IntN(1<<24)-1<<23) / float32(int(1)<<r.IntN(20))))
	case pdu.TypeDouble:
		return math.Float64bits(float64(r.Int64N(1<<50)-1<<49) / float64(int64(1)<<r.IntN(50)))
	}
	v := r.Uint64() >> r.IntN(64)
	switch r.IntN(4) {
	case 0:
		v = -v
	case 1:
		v = []uint64{0, 1, math.MaxUint64, math.MaxInt64, math.MaxInt64 + 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32}[r.IntN(8)]
	}
	if t == pdu.Type32 || t == pdu.TypeU32 {
		v = uint64(uint32(v))
	}
	return v
}

// randomVector is a set of some of a few instances, in any order.
func randomVector(r *rand.Rand, t pdu.Type) *Vector {
	ids := r.Perm(8)[:r.IntN(9)]
	v := &Vector{Type: t}
	insts := make([]pdu.Inst, len(ids))
	for i, id := range ids {
		insts[i] = pdu.Inst(id)
		v.Bits = append(v.Bits, randomBits(r, t))
	}
	v.Insts = NewInstSet(insts)
	return v
}

// Every operator, over operands of any two types and any instances, does for each instance what the
// model does for two numbers.
func TestOperatorsFollowTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, op := range strings.Fields("+ - * / < <= == >= > != && ||") {
		for _, tx := range numericTypes {
			for _, ty := range numericTypes {
				cat := CatalogMap{
					"x": {PMID: 1, Type: tx, InDom: binInDom, Sem: pdu.SemInstant},
					"y": {PMID: 2, Type: ty, InDom: binInDom, Sem: pdu.SemInstant},
				}
				set, m := only(t, "x "+op+" y", cat)
				require.Nil(t, m.Err)
				eval := set.NewEvaluation()
				for range 40 {
					x, y := randomVector(r, tx), randomVector(r, ty)
					if r.IntN(3) == 0 && x.Len() == y.Len() {
						y.Insts = x.Insts
					}
					eval.Reset(&moment{values: map[pdu.PMID]*Vector{1: x, 2: y}})
					got := eval.Value(m)
					want := &Vector{Type: m.Desc.Type}
					var ids []pdu.Inst
					for i := range x.Len() {
						at := slices.Index(y.Insts.IDs(), x.At(i))
						if at < 0 {
							continue
						}
						typ, bits := model(op, tx, x.Bits[i], ty, y.Bits[at])
						require.Equal(t, m.Desc.Type, typ)
						want.Bits = append(want.Bits, bits)
						ids = append(ids, x.At(i))
					}
					want.Insts = NewInstSet(ids)
					require.Equal(t, want.shown(), got.shown(), "%s %s %s: %s, %s", tx, op, ty, x.shown(), y.shown())
				}
			}
		}
	}
}

// Conversion there and back gives the same number: always in DOUBLE, and in positive integers from the
// larger scale.
func TestConverterRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		from, to := randomUnits(r)
		there, ok := NewConverter(from, to)
		require.True(t, ok)
		back, ok := NewConverter(to, from)
		require.True(t, ok)
		x := float64(r.Int64N(1<<50)-1<<49) / 1024
		column := []uint64{math.Float64bits(x)}
		there.convert(pdu.TypeDouble, column, column)
		back.convert(pdu.TypeDouble, column, column)
		require.InEpsilon(t, x, math.Float64frombits(column[0]), 1e-14, "%s to %s", from, to)

		n := int64(r.IntN(1 << 20)) // below zero half a unit is lost, as in pmConvScale
		if there.den.Cmp(big.NewInt(1)) == 0 && there.num.BitLen() < 43 {
			column[0] = uint64(n)
			there.convert(pdu.Type64, column, column)
			back.convert(pdu.Type64, column, column)
			require.Equal(t, n, int64(column[0]), "%s to %s", from, to)
		}
	}
}

// Integers are converted as the exact quotient says: half a unit is added, then cut toward zero.
func TestConverterIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 5000 {
		from, to := randomUnits(r)
		c, ok := NewConverter(from, to)
		require.True(t, ok)
		for _, typ := range numericTypes[:4] {
			bits := randomBits(r, typ)
			want, _ := exactly(typ, bits).exact.Int(nil)
			if typ == pdu.TypeU32 {
				want = new(big.Int).SetUint64(bits)
			}
			want.Mul(want, c.num)
			want.Add(want, new(big.Int).Rsh(c.den, 1))
			want.Quo(want, c.den)
			column := []uint64{bits}
			c.convert(typ, column, column)
			require.Equal(t, amount{exact: new(big.Float).SetPrec(2000).SetInt(want)}.as(typ), column[0],
				"%s %s from %s to %s", typ, FormatNumber(typ, bits), from, to)
		}
	}
}

// randomUnits makes two units of the same dimension.
func randomUnits(r *rand.Rand) (from, to pdu.Units) {
	from = pdu.Units{Space: int8(r.IntN(5) - 2), Time: int8(r.IntN(3) - 1), Count: int8(r.IntN(3) - 1)}
	if r.IntN(4) == 0 {
		from.Extra, from.ExtraScale = pdu.ExtraUnit(r.IntN(9)-4), 1
	}
	to = from
	for _, u := range []*pdu.Units{&from, &to} {
		if u.Space != 0 {
			u.SpaceScale = pdu.SpaceScale(r.IntN(9))
		}
		if u.Time != 0 {
			u.TimeScale = pdu.TimeScale(r.IntN(6))
		}
		if u.Count != 0 {
			u.CountScale = int8(r.IntN(16) - 8)
		}
	}
	return from, to
}

// A sum means the same amount whatever the scales of its operands.
func TestWidenIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		x, y := randomUnits(r)
		fx, fy, ux, uy := widen(x, y)
		require.Equal(t, ux, uy, "%s and %s", x, y)
		for _, operand := range []struct {
			units  pdu.Units
			factor Factor
		}{{x, fx}, {y, fy}} {
			c, ok := NewConverter(operand.units, ux)
			require.True(t, ok)
			want, _ := new(big.Rat).SetFrac(c.num, c.den).Float64()
			if operand.factor.Trivial() {
				require.InDelta(t, 1, want, 0)
				continue
			}
			require.InEpsilon(t, want, operand.factor.Multiplier/operand.factor.Divisor, 1e-12, "%s in %s", operand.units, ux)
		}
	}
}

// mixture is a lot of definitions that share operands and subexpressions.
func mixture(tb testing.TB) []*Definition {
	var defs []*Definition
	for i, text := range []string{
		"bin", "bin + bin.u", "(bin + bin.u) * 2", "bin.d / (bin + bin.u)", "delta(bin + bin.u)",
		"rate(bin.ctr)", "rate(bin.ctr) / delta(bin.ctr)", "sum(rate(bin.ctr))", "max(bin) - bin",
		"bin[a]", "scalar(bin[a]) + bin", "matchinst(/x/, bin)", "matchinst(/x/, bin + bin.u)",
		"bin > bin.u ? bin : -bin", "bin > 3 ? bin.l : novalue()", "long.one ? bin : long.ten",
		"bin > 0 ? long.one : bin", "bin.string", "long.one ? string : bin.string", "bin ? bin.string : string",
		"scalar(bin.string)", "mkconst(3, indom=29.2) + bin", "delta(delta(bin.l))", "!bin || bin.u",
		"rescale(bin.kbyte, \"byte\")", "bin.kbyte + mkconst(1, units=Mbyte)", "derived.m1 - derived.m2", "-m4",
		"sqrt(bin.d)", "max(bin, bin.u, 3)", "min(bin.kbyte, bin.kbyte)", "default(bin.d / bin, 0)", "default(bin, long.one)",
		"default(rate(bin.ctr), 1)", "default(m10 + m1, m10)", "bin.u ? 0 : bin", "stdev_inst(bin.f)", "nth_percentile_inst(bin.d, 33.3)",
		"topk_inst(bin.d, 2)", "bottomk_inst(bin, 1) + bin", "default(topk_inst(delta(bin.l), 1), 7)",
	} {
		defs = append(defs, definition(tb, fmt.Sprint("m", i), text))
	}
	return defs
}

// randomMoments makes samples of all metrics of the tests' collector, sometimes with errors.
func randomMoments(r *rand.Rand, cat testCatalog, n int) []*moment {
	shared := []*InstSet{NewInstSet([]pdu.Inst{1, 2, 3}), NewInstSet([]pdu.Inst{3, 1}), NewInstSet(nil)}
	s := &story{cat: cat}
	var names []string
	for name := range cat.metrics {
		names = append(names, name)
	}
	slices.Sort(names)
	for range n {
		s.next(fmt.Sprint(10 + len(s.samples)))
		m := s.samples[len(s.samples)-1]
		for _, name := range names {
			d := cat.metrics[name]
			v := &Vector{Type: d.Type}
			size := 1
			switch {
			case r.IntN(12) == 0:
				v.Code, size = codes[r.IntN(len(codes))], 0
			case d.InDom != pdu.NoInDom && r.IntN(2) == 0:
				*v = *randomVector(r, d.Type)
				size = v.Len()
			case d.InDom != pdu.NoInDom:
				v.Insts = shared[r.IntN(len(shared))]
				size = v.Insts.Len()
			}
			if d.Type.Numeric() {
				for len(v.Bits) < size {
					v.Bits = append(v.Bits, randomBits(r, d.Type))
				}
			} else {
				v.Bits = nil
				for len(v.Blobs) < size {
					v.Blobs = append(v.Blobs, []byte(fmt.Sprint("blob", r.IntN(100))))
				}
			}
			m.values[d.PMID] = v
		}
		m.names[binInDom] = NewNameTable(map[pdu.Inst]string{1: "x", 2: "xy z", 3: "y"}, map[string]pdu.Inst{"a": pdu.Inst(r.IntN(4))})
		if r.IntN(4) > 0 {
			m.members[binInDom] = shared[r.IntN(len(shared))]
		}
	}
	return s.samples
}

// Metrics do not influence each other: not by what is computed before, nor by the memory that an
// evaluation uses again. Samples stay as they are.
func TestEvaluationsAreIndependent(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	cat := newTestCatalog(t)
	set := Language{}.NewSet(mixture(t), cat, "derived")
	for _, m := range set.Metrics() {
		require.Nil(t, m.Err)
	}
	kept := set.NewEvaluation()
	for range 200 {
		samples := randomMoments(r, cat, 3)
		before := fmt.Sprint(dump(samples))
		history := newestFirst(samples[:1+r.IntN(3)])
		kept.Reset(history...)
		results := map[*Metric]*Vector{}
		for _, i := range r.Perm(len(set.Metrics())) {
			m := set.Metrics()[i]
			results[m] = kept.Value(m)
		}
		for _, m := range set.Metrics() {
			alone := set.NewEvaluation()
			alone.Reset(history...)
			v := alone.Value(m)
			checkVector(t, m, v)
			require.Equal(t, v.shown(), results[m].shown(), "%s = %s", m.Name, m.Definition.Text)
			assert.Same(t, results[m], kept.Value(m))
		}
		require.Equal(t, before, fmt.Sprint(dump(samples)))
	}
}

func dump(samples []*moment) []string {
	var all []string
	for _, m := range samples {
		for id, v := range m.values {
			all = append(all, fmt.Sprint(id, v.shown()))
		}
	}
	slices.Sort(all)
	return all
}

// Samples that no longer belong to the evaluation's history have no influence, and are not kept.
func TestResetForgets(t *testing.T) {
	set, m := only(t, "delta(long.one)", newTestCatalog(t))
	eval := set.NewEvaluation()
	assert.Same(t, set, eval.Set())
	assert.Equal(t, "none", eval.Value(m).shown(), "an evaluation without samples")
	s := &story{tb: t, cat: newTestCatalog(t)}
	for i := range 3 {
		s.next(fmt.Sprint(i))
		s.line(fmt.Sprintf("long.one = %d", i*i))
	}
	eval.Reset(newestFirst(s.samples)...)
	assert.Equal(t, "3", eval.Value(m).shown())
	eval.Reset(s.samples[1], s.samples[0])
	assert.Equal(t, "1", eval.Value(m).shown())
	eval.Reset(s.samples[2])
	assert.Equal(t, "none", eval.Value(m).shown())
	assert.Nil(t, eval.history[:2][1])
	eval.Reset()
	assert.Equal(t, "none", eval.Value(m).shown())
}

func TestValueOfBadMetric(t *testing.T) {
	set, m := only(t, "nosuch", newTestCatalog(t))
	assert.Equal(t, pdu.ErrBadDerive, set.NewEvaluation().Value(m).Code)
}

// A sample may have been made after a metric has changed; values that the set was not made for are
// an error, and an instance of a singular value means nothing.
func TestChangedOperand(t *testing.T) {
	for _, row := range []struct {
		name, expr, want string
		value            Vector
	}{
		{"other type", "long.one + 1", "error: " + pdu.ErrType.Error(), Vector{Type: pdu.Type64, Bits: []uint64{1}}},
		{"no number", "long.one + 1", "error: " + pdu.ErrType.Error(), Vector{Type: pdu.TypeString, Blobs: [][]byte{nil}}},
		{"no instances", "bin + 1", "error: " + pdu.ErrType.Error(), Vector{Type: pdu.Type32, Bits: []uint64{1}}},
		{"no values", "bin + 1", "none", Vector{Type: pdu.TypeString}},
		{"an instance", "long.one", "5", Vector{Type: pdu.Type32, Bits: []uint64{5}, Insts: NewInstSet([]pdu.Inst{0})}},
		{
			"instances", "long.one ? bin : long.one", "error: " + pdu.ErrAgain.Error(),
			Vector{Type: pdu.Type32, Bits: []uint64{5, 6}, Insts: NewInstSet([]pdu.Inst{0, 1})},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			set, m := only(t, row.expr, newTestCatalog(t))
			eval := set.NewEvaluation()
			eval.Reset(&moment{values: map[pdu.PMID]*Vector{m.Needs().Operands[0]: &row.value}})
			assert.Equal(t, row.want, eval.Value(m).shown())
		})
	}
}

package derived

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// modelled is a random expression with its meaning, which is computed value by value, and without the package's code.
type modelled struct {
	text  string
	typ   pdu.Type
	set   bool
	value func(now *moment) answer

	// could gives the instances that it could have: those that its operands share. ok: it is known.
	could func(now *moment) (ids []pdu.Inst, ok bool)
}

// answer is values by instance, in their order, or an error.
type answer struct {
	code pdu.Code
	ids  []pdu.Inst
	bits map[pdu.Inst]uint64
}

func (a answer) with(id pdu.Inst, bits uint64) answer {
	if a.bits == nil {
		a.bits = map[pdu.Inst]uint64{}
	}
	a.ids, a.bits[id] = append(a.ids, id), bits
	return a
}

// at returns the value for an instance. A singular value is that of all instances.
func (a answer) at(id pdu.Inst) (bits uint64, ok bool) {
	if bits, ok = a.bits[pdu.NoInst]; ok {
		return bits, true
	}
	bits, ok = a.bits[id]
	return bits, ok
}

// as brings a number to another type, a wider one.
func as(from, to pdu.Type, bits uint64) uint64 {
	switch from {
	case to:
		return bits
	case pdu.TypeFloat: // to DOUBLE, also infinities and NaN
		return math.Float64bits(float64(math.Float32frombits(uint32(bits))))
	}
	return derivedtest.Exactly(from, bits).As(to)
}

// lessThan orders numbers of a type. NaN is not less than any number.
func lessThan(t pdu.Type, x, y uint64) bool {
	if t == pdu.TypeFloat || t == pdu.TypeDouble {
		return t.Float64(x) < t.Float64(y)
	}
	return derivedtest.Exactly(t, x).Exact.Cmp(derivedtest.Exactly(t, y).Exact) < 0
}

func isNaN(t pdu.Type, bits uint64) bool {
	return (t == pdu.TypeFloat || t == pdu.TypeDouble) && math.IsNaN(t.Float64(bits))
}

func finite(t pdu.Type, bits uint64) bool {
	return t != pdu.TypeFloat && t != pdu.TypeDouble || !isNaN(t, bits) && !math.IsInf(t.Float64(bits), 0)
}

// modeller makes random expressions.
type modeller struct{ *rand.Rand }

func (r modeller) of(words string) string {
	all := strings.Fields(words)
	return all[r.IntN(len(all))]
}

// leaf is a metric of the tests' collector without units that is no counter.
func (r modeller) leaf(cat derivedtest.Catalog) modelled {
	name := r.of("bin bin.u bin.l bin.ul bin.f bin.d bin bin.d " +
		"long.one ulong.one longlong.one ulonglong.one float.one double.one")
	desc := cat.Metrics[name]
	m := modelled{text: name, typ: desc.Type, set: desc.InDom != pdu.NoInDom}
	m.value = func(now *moment) (a answer) {
		v := now.values[desc.PMID]
		a.code = v.Code
		for i, bits := range v.Bits {
			a = a.with(v.At(i), bits)
		}
		return a
	}
	m.could = func(now *moment) ([]pdu.Inst, bool) {
		a := m.value(now)
		return a.ids, a.code >= 0
	}
	return m
}

// number is a plain number that fits a type.
func (r modeller) number(t pdu.Type) (text string, bits uint64) {
	whole := int64(r.IntN(200))
	minus := r.IntN(2) == 0 && t != pdu.TypeU32 && t != pdu.TypeU64
	text = strconv.FormatInt(whole, 10)
	if minus {
		text, whole = "-"+text, -whole
	}
	switch {
	case t != pdu.TypeFloat && t != pdu.TypeDouble:
		return text, derivedtest.Exactly(pdu.Type64, uint64(whole)).As(t)
	case r.IntN(2) == 0:
		text += ".5"
	}
	f, _ := strconv.ParseFloat(text, 64)
	if t == pdu.TypeFloat {
		return text, uint64(math.Float32bits(float32(f)))
	}
	return text, math.Float64bits(f)
}

// expr makes an expression of at most a depth.
func (r modeller) expr(cat derivedtest.Catalog, depth int) modelled {
	if depth <= 0 {
		return r.leaf(cat)
	}
	x := r.expr(cat, depth-1-r.IntN(2))
	switch r.IntN(12) {
	case 0:
		return r.each(x)
	case 1, 2:
		return r.pair(cat, x, depth)
	case 3, 4, 5:
		return r.fallBack(cat, x, depth)
	case 6:
		return r.ternary(cat, x)
	case 7:
		return r.aggregate(x)
	case 8, 9:
		return r.top(x)
	case 10:
		return r.matched(x)
	}
	return r.ratio(x, r.expr(cat, depth-1))
}

func (r modeller) each(x modelled) modelled {
	f := r.of("sqrt log abs round")
	m := modelled{text: f + "(" + x.text + ")", typ: x.typ, set: x.set, could: x.could}
	if f == "sqrt" || f == "log" {
		m.typ = pdu.TypeDouble
	}
	m.value = func(now *moment) (a answer) {
		from := x.value(now)
		a.code = from.code
		for _, id := range from.ids {
			bits := from.bits[id]
			n := x.typ.Float64(bits)
			switch {
			case f == "sqrt":
				bits = math.Float64bits(math.Sqrt(n))
			case f == "log":
				bits = math.Float64bits(math.Log(n))
			case m.typ == pdu.TypeDouble && f == "abs":
				bits = math.Float64bits(math.Abs(n))
			case m.typ == pdu.TypeDouble:
				bits = math.Float64bits(math.Round(n) + 0)
			case m.typ == pdu.TypeFloat && f == "abs":
				bits = uint64(math.Float32bits(float32(math.Abs(n))))
			case m.typ == pdu.TypeFloat:
				bits = uint64(math.Float32bits(float32(math.Round(n)) + 0))
			case f == "abs" && n < 0:
				bits = derivedtest.Exactly(m.typ, -bits).As(m.typ)
				if derivedtest.Exactly(m.typ, bits).Exact.Sign() < 0 {
					bits-- // the smallest has no counterpart
				}
			}
			a = a.with(id, bits)
		}
		return a
	}
	return m
}

// shared are the instances that sets share, in the order of the first.
func shared(operands []modelled) func(now *moment) ([]pdu.Inst, bool) {
	return func(now *moment) (ids []pdu.Inst, ok bool) {
		first := true
		for _, x := range operands {
			if !x.set {
				continue
			}
			of, known := x.could(now)
			if !known {
				return nil, false
			}
			if first {
				ids, first = slices.Clone(of), false
			}
			ids = slices.DeleteFunc(ids, func(id pdu.Inst) bool { return !slices.Contains(of, id) })
		}
		return ids, true
	}
}

// paired computes a function of the values of operands, instance by instance. An instance that an operand lacks is left
// out. The first error of an operand is the result.
func paired(operands []modelled, compute func(values []uint64) uint64) func(now *moment) answer {
	return func(now *moment) (a answer) {
		var all []answer
		ids := []pdu.Inst{pdu.NoInst}
		set := false
		for _, x := range operands {
			v := x.value(now)
			if v.code < 0 {
				return answer{code: v.code}
			}
			if x.set && !set {
				ids, set = v.ids, true
			}
			all = append(all, v)
		}
		for _, id := range ids {
			var values []uint64
			for _, v := range all {
				if bits, ok := v.at(id); ok {
					values = append(values, bits)
				}
			}
			if len(values) == len(all) {
				a = a.with(id, compute(values))
			}
		}
		return a
	}
}

// widest is the type in which numbers meet.
func widest(operands []modelled) pdu.Type {
	most := 0
	for _, x := range operands {
		most = max(most, slices.Index(derivedtest.NumericTypes, x.typ))
	}
	return derivedtest.NumericTypes[most]
}

// pair is max() or min() of several operands, numbers among them.
func (r modeller) pair(cat derivedtest.Catalog, x modelled, depth int) modelled {
	operands := []modelled{x}
	for r.IntN(3) == 0 {
		operands = append(operands, r.expr(cat, depth-2))
	}
	t := widest(operands)
	f := r.of("max min")
	if len(operands) == 1 || r.IntN(2) == 0 {
		text, bits := r.number(t)
		number := modelled{text: text, typ: t, value: func(*moment) answer { return answer{}.with(pdu.NoInst, bits) }}
		operands = slices.Insert(operands, r.IntN(len(operands)+1), number)
	}
	m := modelled{typ: t, could: shared(operands)}
	var texts []string
	for _, x := range operands {
		texts, m.set = append(texts, x.text), m.set || x.set
	}
	m.text = f + "(" + strings.Join(texts, ", ") + ")"
	m.value = paired(operands, func(values []uint64) uint64 {
		best := as(operands[0].typ, t, values[0])
		for i, bits := range values {
			bits = as(operands[i].typ, t, bits)
			switch {
			case isNaN(t, best):
			case isNaN(t, bits), f == "max" && lessThan(t, best, bits), f == "min" && lessThan(t, bits, best):
				best = bits
			}
		}
		return best
	})
	return m
}

// ratio divides: 0 by anything is 0.
func (r modeller) ratio(x, y modelled) modelled {
	operands := []modelled{x, y}
	return modelled{
		text: "(" + x.text + ") / (" + y.text + ")", typ: pdu.TypeDouble, set: x.set || y.set, could: shared(operands),
		value: paired(operands, func(values []uint64) uint64 {
			dividend, divisor := x.typ.Float64(values[0]), y.typ.Float64(values[1])
			if dividend == 0 {
				return 0
			}
			return math.Float64bits(dividend / divisor)
		}),
	}
}

// fallBack is default() with a number, or another expression of a type that fits.
func (r modeller) fallBack(cat derivedtest.Catalog, x modelled, depth int) modelled {
	text, bits := r.number(x.typ)
	y := modelled{text: text, typ: x.typ, value: func(*moment) answer { return answer{}.with(pdu.NoInst, bits) }}
	if r.IntN(2) == 0 {
		if other := r.expr(cat, depth-2); widest([]modelled{x, other}) == x.typ && (x.set || !other.set) {
			y = other
		}
	}
	m := modelled{text: "default(" + x.text + ", " + y.text + ")", typ: x.typ, set: x.set}
	m.value = func(now *moment) (a answer) {
		vx, vy := x.value(now), y.value(now)
		if vx.code < 0 {
			return answer{code: vx.code}
		}
		ids := []pdu.Inst{pdu.NoInst}
		if x.set {
			ids = slices.Clone(vx.ids)
			more := vy.ids
			if all, ok := x.could(now); ok && !y.set {
				ids, more = slices.Clone(all), vx.ids
			}
			for _, id := range more {
				if id != pdu.NoInst && !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
		}
		if len(ids) == 0 && vy.code < 0 {
			return answer{code: vy.code}
		}
		for _, id := range ids {
			bits, ok := vx.bits[id]
			if !ok || !finite(x.typ, bits) {
				if vy.code < 0 {
					return answer{code: vy.code}
				}
				if bits, ok = vy.at(id); ok {
					bits = as(y.typ, x.typ, bits)
				}
			}
			if ok {
				a = a.with(id, bits)
			}
		}
		return a
	}
	m.could = func(now *moment) ([]pdu.Inst, bool) {
		a := m.value(now)
		return a.ids, a.code >= 0
	}
	return m
}

// ternary selects between an expression and a number.
func (r modeller) ternary(cat derivedtest.Catalog, x modelled) modelled {
	guard := r.of("bin.l longlong.one")
	if !x.set {
		guard = "longlong.one"
	}
	desc := cat.Metrics[guard]
	text, number := r.number(x.typ)
	m := modelled{text: "(" + guard + " > 0 ? " + x.text + " : " + text + ")", typ: x.typ, set: x.set}
	first := r.IntN(2) == 0
	if first {
		m.text = "(" + guard + " > 0 ? " + text + " : " + x.text + ")"
	}
	m.value = func(now *moment) (a answer) {
		g, v := now.values[desc.PMID], x.value(now)
		if g.Code < 0 {
			return answer{code: g.Code}
		}
		failed := pdu.Code(0)
		for i, bits := range g.Bits {
			own := int64(bits) > 0 != first // x is selected, not the number
			switch at := g.At(i); {
			case desc.InDom == pdu.NoInDom && !own && !x.set:
				return answer{}.with(pdu.NoInst, number)
			case desc.InDom == pdu.NoInDom && (own || v.code < 0):
				return v
			case desc.InDom == pdu.NoInDom:
				for _, id := range v.ids {
					a = a.with(id, number)
				}
			case own && v.code < 0:
				failed = v.code
			case own:
				if bits, ok := v.at(at); ok {
					a = a.with(at, bits)
				}
			default:
				a = a.with(at, number)
			}
		}
		if len(a.ids) == 0 {
			a.code = failed
		}
		return a
	}
	of := []modelled{{set: desc.InDom != pdu.NoInDom, could: func(now *moment) ([]pdu.Inst, bool) {
		v := now.values[desc.PMID]
		return v.Insts.IDs(), v.Code >= 0
	}}, x}
	m.could = shared(of)
	return m
}

// aggregate is a function over the instances.
func (r modeller) aggregate(x modelled) modelled {
	f, n := r.of("sum_inst max_inst min_inst nth_percentile_inst"), float64(r.IntN(201))/2
	m := modelled{text: f + "(" + x.text + ")", typ: x.typ}
	if f == "nth_percentile_inst" {
		m.text = fmt.Sprintf("%s(%s, %g)", f, x.text, n)
	}
	m.value = func(now *moment) (a answer) {
		v := x.value(now)
		if a.code = v.code; v.code < 0 || len(v.ids) == 0 && f != "sum_inst" {
			return a
		}
		var all []uint64
		for _, id := range v.ids {
			all = append(all, v.bits[id])
		}
		return a.with(pdu.NoInst, aggregated(f, x.typ, all, n))
	}
	return m
}

func aggregated(f string, t pdu.Type, all []uint64, n float64) uint64 {
	if f == "sum_inst" {
		switch t {
		case pdu.TypeDouble:
			sum := 0.0
			for _, bits := range all {
				sum += t.Float64(bits)
			}
			return math.Float64bits(sum)
		case pdu.TypeFloat:
			sum := float32(0)
			for _, bits := range all {
				sum += math.Float32frombits(uint32(bits))
			}
			return uint64(math.Float32bits(sum))
		}
		sum := uint64(0)
		for _, bits := range all {
			sum += bits
		}
		return derivedtest.Exactly(pdu.TypeU64, sum).As(t)
	}
	if f == "nth_percentile_inst" {
		numbers := slices.DeleteFunc(slices.Clone(all), func(bits uint64) bool { return isNaN(t, bits) })
		for _, bits := range numbers { // the smallest that enough of them do not exceed
			enough, smaller := 0, 0
			for _, other := range numbers {
				if !lessThan(t, bits, other) {
					enough++
				}
				if lessThan(t, other, bits) {
					smaller++
				}
			}
			if need := n * float64(len(numbers)) / 100; float64(enough) >= need && (smaller == 0 || float64(smaller) < need) {
				return bits
			}
		}
		return all[0]
	}
	best := all[0]
	for _, bits := range all {
		if f == "max_inst" && lessThan(t, best, bits) || f == "min_inst" && lessThan(t, bits, best) {
			best = bits
		}
	}
	return best
}

// top is topk_inst() or bottomk_inst(): an instance stays if fewer than k come before it.
func (r modeller) top(x modelled) modelled {
	f, k := r.of("topk_inst bottomk_inst"), 1+r.IntN(4)
	m := modelled{text: fmt.Sprintf("%s(%s, %d)", f, x.text, k), typ: x.typ, set: x.set}
	m.value = func(now *moment) (a answer) {
		v := x.value(now)
		a.code = v.code
		for _, id := range v.ids {
			ahead := 0
			for _, other := range v.ids {
				mine, theirs := v.bits[id], v.bits[other]
				if f == "bottomk_inst" {
					mine, theirs = theirs, mine
				}
				switch {
				case isNaN(x.typ, v.bits[id]) != isNaN(x.typ, v.bits[other]):
					if isNaN(x.typ, v.bits[id]) {
						ahead++
					}
				case lessThan(x.typ, mine, theirs):
					ahead++
				case !lessThan(x.typ, theirs, mine) && other < id:
					ahead++
				}
			}
			if ahead < k {
				a = a.with(id, v.bits[id])
			}
		}
		return a
	}
	m.could = func(now *moment) ([]pdu.Inst, bool) {
		a := m.value(now)
		return a.ids, a.code >= 0
	}
	return m
}

// matched keeps the instances whose name has an x.
func (r modeller) matched(x modelled) modelled {
	if !x.set {
		return x
	}
	named := func(now *moment, ids []pdu.Inst) []pdu.Inst {
		return slices.DeleteFunc(slices.Clone(ids), func(id pdu.Inst) bool {
			name, ok := now.names[derivedtest.BinInDom].Name(id)
			return !ok || !strings.Contains(name, "x")
		})
	}
	m := modelled{text: "matchinst(/x/, " + x.text + ")", typ: x.typ, set: true}
	m.value = func(now *moment) (a answer) {
		v := x.value(now)
		a.code = v.code
		for _, id := range named(now, v.ids) {
			a = a.with(id, v.bits[id])
		}
		return a
	}
	m.could = func(now *moment) ([]pdu.Inst, bool) {
		ids, ok := x.could(now)
		return named(now, ids), ok
	}
	return m
}

// Functions that libpcp lacks have the values of the model, in random expressions over random samples: with errors,
// without values, with numbers that are not finite and instances in any order.
func TestFunctionsFollowTheModel(t *testing.T) {
	r := modeller{rand.New(rand.NewPCG(18, 1))}
	cat := derivedtest.NewCatalog(t)
	words := map[string]int{}
	withoutModel := []syntax.Func{ // libpcp has them, or they have tests of their own
		syntax.Avg, syntax.Count, syntax.Delta, syntax.Rate, syntax.Instant, syntax.Scalar, syntax.Defined, syntax.Const,
		syntax.NoValue, syntax.Rescale, syntax.Floor, syntax.Ceil, syntax.Stdev, syntax.Latch,
		syntax.PercentileBucket, syntax.ShareBucket, syntax.Now, syntax.Increase,
	}
	for range 5000 {
		x := r.expr(cat, 1+r.IntN(4))
		set, m := only(t, x.text, cat)
		require.Nil(t, m.Err, "%s: %v", x.text, m.Err)
		require.Equal(t, x.typ, m.Desc.Type, x.text)
		require.Equal(t, x.set, m.Desc.InDom != pdu.NoInDom, x.text)
		syntax.Walk(m.Definition.Expr, func(e syntax.Expr) bool {
			if call, ok := e.(*syntax.Call); ok {
				words[call.Func.String()]++
			}
			return true
		})
		eval := set.NewEvaluation()
		for _, sample := range randomMoments(r.Rand, cat, 4) {
			eval.Reset(sample)
			got, want := eval.Value(m), x.value(sample)
			require.Equal(t, want.code, got.Code, "%s: %s", x.text, textOf(got))
			require.Equal(t, len(want.ids), got.Len(), "%s: %s, want %v", x.text, textOf(got), want)
			for i, id := range want.ids {
				require.Equal(t, id, got.At(i), "%s: %s, want %v", x.text, textOf(got), want)
				if !isNaN(x.typ, want.bits[id]) || !isNaN(x.typ, got.Bits[i]) {
					wanted, computed := FormatNumber(x.typ, want.bits[id]), FormatNumber(x.typ, got.Bits[i])
					require.Equal(t, wanted, computed, "%s: instance %d", x.text, id)
				}
			}
		}
	}
	for f := range syntax.Functions {
		if !strings.HasSuffix(f.String(), "_sample") && !slices.Contains(withoutModel, f) {
			require.Greater(t, words[f.String()], 100, "no random expression uses %s(): add it to modeller.each", f)
		}
	}
}

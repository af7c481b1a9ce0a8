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

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// model returns the result of an operator for two numbers, and its type, by pmRegisterDerived(3).
func model(op string, tx pdu.Type, x uint64, ty pdu.Type, y uint64) (pdu.Type, uint64) {
	types := derivedtest.NumericTypes
	common := types[max(slices.Index(types, tx), slices.Index(types, ty))]
	nx, ny := derivedtest.Exactly(tx, x), derivedtest.Exactly(ty, y)
	cx, cy := derivedtest.Exactly(common, nx.As(common)), derivedtest.Exactly(common, ny.As(common))
	result := new(big.Float).SetPrec(200)
	yes := false
	switch op {
	case "+":
		return common, derivedtest.Amount{Exact: result.Add(cx.Exact, cy.Exact)}.As(common)
	case "-":
		return common, derivedtest.Amount{Exact: result.Sub(cx.Exact, cy.Exact)}.As(common)
	case "*":
		return common, derivedtest.Amount{Exact: result.Mul(cx.Exact, cy.Exact)}.As(common)
	case "/":
		dx := derivedtest.Exactly(pdu.TypeDouble, nx.As(pdu.TypeDouble))
		dy := derivedtest.Exactly(pdu.TypeDouble, ny.As(pdu.TypeDouble))
		switch {
		case dx.Exact.Sign() == 0:
			return pdu.TypeDouble, 0
		case dy.Exact.Sign() == 0:
			return pdu.TypeDouble, derivedtest.Amount{Special: math.Inf(dx.Exact.Sign())}.As(pdu.TypeDouble)
		}
		return pdu.TypeDouble, derivedtest.Amount{Exact: result.SetPrec(300).Quo(dx.Exact, dy.Exact)}.As(pdu.TypeDouble)
	case "<":
		yes = cx.Exact.Cmp(cy.Exact) < 0
	case "<=":
		yes = cx.Exact.Cmp(cy.Exact) <= 0
	case "==":
		yes = cx.Exact.Cmp(cy.Exact) == 0
	case ">=":
		yes = cx.Exact.Cmp(cy.Exact) >= 0
	case ">":
		yes = cx.Exact.Cmp(cy.Exact) > 0
	case "!=":
		yes = cx.Exact.Cmp(cy.Exact) != 0
	case "&&":
		yes = nx.Exact.Sign() != 0 && ny.Exact.Sign() != 0
	case "||":
		yes = nx.Exact.Sign() != 0 || ny.Exact.Sign() != 0
	}
	return pdu.TypeU32, map[bool]uint64{true: 1}[yes]
}

// randomVector is a set of some of a few instances, in any order.
func randomVector(r *rand.Rand, t pdu.Type) *Vector {
	ids := r.Perm(8)[:r.IntN(9)]
	v := &Vector{Type: t}
	insts := make([]pdu.Inst, len(ids))
	for i, id := range ids {
		insts[i] = pdu.Inst(id)
		v.Bits = append(v.Bits, derivedtest.RandomBits(r, t))
	}
	v.Insts = NewInstSet(insts)
	return v
}

// Every operator, over operands of any two types and any instances, does for each instance what the
// model does for two numbers.
func TestOperatorsFollowTheModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, op := range strings.Fields("+ - * / < <= == >= > != && ||") {
		for _, tx := range derivedtest.NumericTypes {
			for _, ty := range derivedtest.NumericTypes {
				cat := CatalogMap{
					"x": {PMID: 1, Type: tx, InDom: derivedtest.BinInDom, Sem: pdu.SemInstant},
					"y": {PMID: 2, Type: ty, InDom: derivedtest.BinInDom, Sem: pdu.SemInstant},
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
					require.Equal(t, textOf(want), textOf(got), "%s %s %s: %s, %s", tx, op, ty, textOf(x), textOf(y))
				}
			}
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
		"default(rate(bin.ctr), 1)", "default(m10 + m1, m10)", "bin.u ? 0 : bin",
		"share_bucket(bin.d, 0.5)", "default(nth_percentile_bucket(delta(bin), 95), 7)",
		"stdev_inst(bin.f)", "nth_percentile_inst(bin.d, 33.3)",
		"topk_inst(bin.d, 2)", "bottomk_inst(bin, 1) + bin", "default(topk_inst(delta(bin.l), 1), 7)",
	} {
		defs = append(defs, definition(tb, fmt.Sprint("m", i), text))
	}
	return defs
}

// randomMoments makes samples of all metrics of the tests' collector, sometimes with errors.
func randomMoments(r *rand.Rand, cat derivedtest.Catalog, n int) []*moment {
	shared := []*InstSet{NewInstSet([]pdu.Inst{1, 2, 3}), NewInstSet([]pdu.Inst{3, 1}), NewInstSet(nil)}
	s := &story{cat: cat}
	var names []string
	for name := range cat.Metrics {
		names = append(names, name)
	}
	slices.Sort(names)
	for range n {
		s.next(fmt.Sprint(10 + len(s.samples)))
		m := s.samples[len(s.samples)-1]
		for _, name := range names {
			d := cat.Metrics[name]
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
					v.Bits = append(v.Bits, derivedtest.RandomBits(r, d.Type))
				}
			} else {
				v.Bits = nil
				for len(v.Blobs) < size {
					v.Blobs = append(v.Blobs, []byte(fmt.Sprint("blob", r.IntN(100))))
				}
			}
			m.values[d.PMID] = v
		}
		insts, selectors := map[pdu.Inst]string{1: "x", 2: "xy z", 3: "y"}, map[string]pdu.Inst{"a": pdu.Inst(r.IntN(4))}
		m.names[derivedtest.BinInDom] = NewNameTable(insts, selectors)
		if r.IntN(4) > 0 {
			m.members[derivedtest.BinInDom] = shared[r.IntN(len(shared))]
		}
	}
	return s.samples
}

// Metrics do not influence each other: not by what is computed before, nor by the memory that an
// evaluation uses again. Samples stay as they are.
func TestEvaluationsAreIndependent(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	cat := derivedtest.NewCatalog(t)
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
			require.Equal(t, textOf(v), textOf(results[m]), "%s = %s", m.Name, m.Definition.Text)
			assert.Same(t, results[m], kept.Value(m))
		}
		require.Equal(t, before, fmt.Sprint(dump(samples)))
	}
}

func dump(samples []*moment) []string {
	var all []string
	for _, m := range samples {
		for id, v := range m.values {
			all = append(all, fmt.Sprint(id, textOf(v)))
		}
	}
	slices.Sort(all)
	return all
}

// Samples that no longer belong to the evaluation's history have no influence, and are not kept.
func TestResetForgets(t *testing.T) {
	set, m := only(t, "delta(long.one)", derivedtest.NewCatalog(t))
	eval := set.NewEvaluation()
	assert.Same(t, set, eval.Set())
	assert.Equal(t, "none", textOf(eval.Value(m)), "an evaluation without samples")
	s := &story{tb: t, cat: derivedtest.NewCatalog(t)}
	for i := range 3 {
		s.next(fmt.Sprint(i))
		s.line(fmt.Sprintf("long.one = %d", i*i))
	}
	eval.Reset(newestFirst(s.samples)...)
	assert.Equal(t, "3", textOf(eval.Value(m)))
	eval.Reset(s.samples[1], s.samples[0])
	assert.Equal(t, "1", textOf(eval.Value(m)))
	eval.Reset(s.samples[2])
	assert.Equal(t, "none", textOf(eval.Value(m)))
	eval.Reset()
	assert.Equal(t, "none", textOf(eval.Value(m)))
}

func TestValueOfBadMetric(t *testing.T) {
	set, m := only(t, "nosuch", derivedtest.NewCatalog(t))
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
			set, m := only(t, row.expr, derivedtest.NewCatalog(t))
			eval := set.NewEvaluation()
			eval.Reset(&moment{values: map[pdu.PMID]*Vector{m.Needs().Operands[0]: &row.value}})
			assert.Equal(t, row.want, textOf(eval.Value(m)))
		})
	}
}

package derived

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// known is an operand's value for one instance, now or before.
type known struct {
	value uint64
	ok    bool
}

// values are the numbers of a vector by instance.
func values(v *Vector) func(pdu.Inst) known {
	at := make(map[pdu.Inst]uint64, v.Len())
	for i, id := range v.Insts.IDs() {
		at[id] = v.Bits[i]
	}
	return func(id pdu.Inst) known {
		value, ok := at[id]
		return known{value, ok}
	}
}

// Values are paired by instance whatever the orders and however long the columns are, which are worked
// on in blocks, some in place. Every row is an expression, the operand whose instances it is for, and
// the value for one of them.
func TestBlocks(t *testing.T) {
	both := func(f func(a, b uint64) uint64) func(a, b, old known) known {
		return func(a, b, _ known) known { return known{f(a.value, b.value), a.ok && b.ok} }
	}
	rows := []struct {
		expr, of string
		want     func(a, b, old known) known
	}{
		{"a + b", "a", both(func(a, b uint64) uint64 { return a + b })},
		{"b - a", "b", both(func(a, b uint64) uint64 { return b - a })},
		{"7 * instant(a)", "a", func(a, _, _ known) known { return known{7 * a.value, true} }},
		{"instant(b) - 7", "b", func(_, b, _ known) known { return known{b.value - 7, true} }},
		{"(instant(a) + 1) * (instant(b) + 2)", "a", both(func(a, b uint64) uint64 { return (a + 1) * (b + 2) })},
		{"instant(a + b) * instant(a + b) - instant(a)", "a", both(func(a, b uint64) uint64 { return (a+b)*(a+b) - a })},
		{"!(a < b)", "a", both(func(a, b uint64) uint64 { return map[bool]uint64{true: 1}[a >= b] })},
		{"delta(a)", "a", func(a, _, old known) known {
			return known{math.Float64bits(float64(int64(a.value - old.value))), old.ok}
		}},
		{"rate(a)", "a", func(a, _, old known) known {
			return known{math.Float64bits(float64(int64(a.value-old.value)) / 2), old.ok && a.value >= old.value}
		}},
		{`max_sample(delta(a), "1min")`, "a", func(a, _, old known) known { // its operand
			return known{math.Float64bits(float64(a.value - old.value)), old.ok && a.value >= old.value}
		}},
		{`max_sample((instant(a) > 500) / (instant(b) > 500), "1min")`, "a", func(a, b, _ known) known {
			above := func(v uint64) float64 { return map[bool]float64{true: 1}[v > 500] }
			return known{math.Float64bits(above(a.value) / above(b.value)), b.ok && (a.value > 500 || b.value > 500)}
		}},
		{"instant(a) > 500 ? 7 + instant(a) : instant(b)", "a", func(a, b, _ known) known {
			if a.value > 500 {
				return known{7 + a.value, true}
			}
			return b
		}},
		{"a > b ? a : b", "a", both(func(a, b uint64) uint64 { return max(a, b) })},
		{"a > 500 ? instant(a) : mkconst(3, type=u64, semantics=instant)", "a", func(a, _, _ known) known {
			if a.value > 500 {
				return known{a.value, true}
			}
			return known{3, true}
		}},
	}
	var defs []*Definition
	for i, row := range rows {
		defs = append(defs, definition(t, string(rune('A'+i)), row.expr))
	}
	cat := benchCatalog()
	set := Language{}.NewSet(defs, cat, "derived")
	eval, inWindow := set.NewEvaluation(), set.NewWindowEvaluation()
	lists := derivedtest.InstanceLists()
	r := rand.New(rand.NewPCG(13, 14))
	for _, pair := range [][2]string{
		{"dense", "dense"},
		{"dense", "dense, shuffled"},
		{"dense, shuffled", "dense"},
		{"dense", "dense, few missing"},
		{"dense, few missing", "dense"},
		{"sparse, half missing", "sparse"},
		{"sparse, shuffled", "sparse, half missing"},
		{"sparse, shuffled, half missing", "sparse, shuffled"},
		{"dense, second half", "dense, few missing"},
		{"one", "dense"},
		{"dense", "one"},
		{"dense", "extremes"},
	} {
		t.Run(pair[0]+" and "+pair[1], func(t *testing.T) {
			vector := func(list string) *Vector {
				v := &Vector{Type: pdu.TypeU64, Insts: NewInstSet(lists[list])}
				for range v.Insts.Len() {
					v.Bits = append(v.Bits, uint64(r.IntN(1000)))
				}
				return v
			}
			a, b, old := vector(pair[0]), vector(pair[1]), vector(pair[1])
			for i := range old.Bits { // most counters go up
				if at := a.Insts.Index(old.Insts.IDs()[i]); at >= 0 && r.IntN(50) > 0 {
					old.Bits[i] = a.Bits[at] - min(a.Bits[at], uint64(r.IntN(100)))
				}
			}
			if pair[0] == pair[1] { // one set for all
				b.Insts, old.Insts = a.Insts, a.Insts
			}
			now := &moment{at: time.Unix(12, 0), values: map[pdu.PMID]*Vector{cat["a"].PMID: a, cat["b"].PMID: b}}
			before := &moment{at: time.Unix(10, 0), values: map[pdu.PMID]*Vector{cat["a"].PMID: old}}
			of := map[string]*Vector{"a": a, "b": b}
			inA, inB, inOld := values(a), values(b), values(old)
			eval.Reset(now, before)
			inWindow.Reset(now, before)
			for i, row := range rows {
				m := set.Metrics()[i]
				require.Nil(t, m.Err, row.expr)
				var ids []pdu.Inst
				var bits []uint64
				for _, id := range of[row.of].Insts.IDs() {
					if w := row.want(inA(id), inB(id), inOld(id)); w.ok {
						ids, bits = append(ids, id), append(bits, w.value)
					}
				}
				got := eval.Value(m)
				for _, w := range m.Needs().Windows {
					got = inWindow.Operand(set.Windows()[w])
				}
				require.Zero(t, got.Code, row.expr)
				require.Equal(t, bits, slices.Clip(append([]uint64(nil), got.Bits...)), row.expr)
				if len(ids) > 0 {
					require.Equal(t, ids, append([]pdu.Inst(nil), got.Insts.IDs()...), row.expr)
				}
			}
		})
	}
}

// The result of a step that several take is not overwritten by any of them.
func TestSharedStepsStay(t *testing.T) {
	set := Language{}.NewSet([]*Definition{
		definition(t, "twice", "2 * (instant(a) + 1)"),
		definition(t, "negative", "-(instant(a) + 1)"),
		definition(t, "plus", "instant(a) + 1"),
	}, benchCatalog(), "")
	now := benchMoments(1000, 1, sameOrder)[0]
	eval := set.NewEvaluation()
	eval.Reset(now)
	operand := now.values[set.Metrics()[0].Needs().Operands[0]]
	for _, i := range []int{0, 1, 2, 1, 0} {
		v := eval.Value(set.Metrics()[i])
		for k, bits := range v.Bits {
			want := []uint64{2 * (operand.Bits[k] + 1), -(operand.Bits[k] + 1), operand.Bits[k] + 1}[i]
			require.Equal(t, want, bits)
		}
	}
}

package derived

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// The benchmarks of this file are the lines of the evaluation in test/bench/README.md. They report
// ns/value and B/value, per value of the result.

// benchOperands are the operands of the benchmarks: two counters and two gauges of one domain.
var benchOperands = []string{"a", "b", "x", "y"}

func benchCatalog() CatalogMap {
	cat := CatalogMap{}
	for i, name := range benchOperands {
		d := pdu.Desc{PMID: pdu.NewPMID(29, 1, i), Type: pdu.TypeU64, InDom: derivedtest.BinInDom, Sem: pdu.SemCounter}
		if i >= 2 {
			d.Type, d.Sem = pdu.TypeDouble, pdu.SemInstant
		}
		cat[name] = d
	}
	return cat
}

// fiftyOperators is an expression of 50 operators over two operands.
func fiftyOperators() string {
	var b strings.Builder
	b.WriteString("x")
	for i := range 50 {
		b.WriteString(" " + string("+-*"[i%3]) + " " + string("yx"[i%2]))
	}
	return b.String()
}

// benchExpressions are the expressions that are measured.
func benchExpressions() [][2]string {
	return [][2]string{
		{"sum", "a + b"},
		{"rate", "rate(a)"},
		{"ratio", "delta(a) / delta(b)"},
		{"fifty", fiftyOperators()},
		{"ternary", "x > 50 ? x : -x"},
		{"aggregate", "sum(a)"},
	}
}

// lists makes the instances of an operand at a moment, of n in all.
type lists func(operand, moment, n int) []pdu.Inst

// scattered returns instance numbers as of a system that counts up and seldom reuses a number.
func scattered(i int) pdu.Inst { return pdu.Inst(1000 + 7*i + i%5) }

func sameOrder(_, _, n int) []pdu.Inst {
	ids := make([]pdu.Inst, n)
	for i := range ids {
		ids[i] = scattered(i)
	}
	return ids
}

// shuffled gives every operand an order of its own.
func shuffled(operand, _, n int) []pdu.Inst {
	ids := sameOrder(operand, 0, n)
	r := rand.New(rand.NewPCG(uint64(operand), 1))
	r.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// missing takes one instance in a hundred from every operand, and one more at every moment.
func missing(operand, moment, n int) []pdu.Inst {
	ids := sameOrder(operand, moment, n)
	kept := ids[:0]
	for i, id := range ids {
		if i%100 != 7*operand+1 && i != moment+1 {
			kept = append(kept, id)
		}
	}
	return kept
}

// churning replaces one instance in ten at every moment, all over the list.
func churning(_, moment, n int) []pdu.Inst {
	ids := make([]pdu.Inst, n)
	for i := range ids {
		ids[i] = scattered(i)
		if i%10 == moment%10 {
			ids[i] += pdu.Inst(3 + moment%2)
		}
	}
	return ids
}

// churningShuffled is churning in another order for every operand.
func churningShuffled(operand, moment, n int) []pdu.Inst {
	ids := churning(operand, moment, n)
	r := rand.New(rand.NewPCG(uint64(operand), 2))
	r.Shuffle(n, func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	return ids
}

// benchMoments makes samples of the benchmarks' operands. Equal lists share one set,
// as in the agent.
func benchMoments(n, moments int, list lists) []*moment {
	var known []*InstSet
	share := func(ids []pdu.Inst) *InstSet {
		for _, s := range known {
			if slices.Equal(s.IDs(), ids) {
				return s
			}
		}
		known = append(known, NewInstSet(ids))
		return known[len(known)-1]
	}
	cat := benchCatalog()
	all := make([]*moment, moments)
	for at := range all {
		m := &moment{at: time.Unix(int64(1000+at), 1e6*int64(at)), values: map[pdu.PMID]*Vector{}}
		for operand, name := range benchOperands {
			d := cat[name]
			insts := share(list(operand, at, n))
			v := &Vector{Type: d.Type, Insts: insts, Bits: make([]uint64, insts.Len())}
			for i := range v.Bits {
				number := uint64(at*1000 + i + operand)
				if d.Type == pdu.TypeDouble {
					number = pdu.DoubleValue(0, float64(number)/1e6).Bits
				}
				v.Bits[i] = number
			}
			m.values[d.PMID] = v
		}
		all[at] = m
	}
	return all
}

// BenchmarkEvaluate is the cost of a value in the steady state: instances that stay, in one order.
func BenchmarkEvaluate(b *testing.B) {
	for _, e := range benchExpressions() {
		for _, n := range []int{1, 100, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/instances=%d", e[0], n), func(b *testing.B) {
				benchmarkMoments(b, e[1], n, 2, sameOrder, false)
			})
		}
	}
}

// BenchmarkInstances is the cost of a value where instances are not the same for all operands or at
// all moments. A set that changes is new to the evaluation at every sample, which
// makes its index and joins again.
func BenchmarkInstances(b *testing.B) {
	for _, row := range []struct {
		name  string
		list  lists
		fresh bool
	}{
		{"same", sameOrder, false},
		{"shuffled", shuffled, false},
		{"missing", missing, false},
		{"new", sameOrder, true},
		{"new missing", missing, true},
		{"churning", churning, true},
		{"new shuffled", churningShuffled, true},
	} {
		for _, e := range benchExpressions()[:3] {
			for _, n := range []int{100, 10_000, 100_000} {
				b.Run(fmt.Sprintf("%s/%s/instances=%d", row.name, e[0], n), func(b *testing.B) {
					benchmarkMoments(b, e[1], n, 4, row.list, row.fresh)
				})
			}
		}
	}
}

// benchmarkMoments computes a metric from one pair of moments after the other. fresh makes every set
// of instances a new one each time.
func benchmarkMoments(b *testing.B, expr string, n, moments int, list lists, fresh bool) {
	set, m := only(b, expr, benchCatalog())
	require.Nil(b, m.Err)
	all := benchMoments(n, moments, list)
	eval := set.NewEvaluation()
	values, pair := 0, 0
	next := func() {
		before, now := all[pair], all[pair+1]
		pair = (pair + 2) % moments
		if fresh {
			made := map[*InstSet]*InstSet{}
			for _, m := range []*moment{before, now} {
				for _, v := range m.values {
					if made[v.Insts] == nil {
						made[v.Insts] = NewInstSet(v.Insts.IDs())
					}
					v.Insts = made[v.Insts]
				}
			}
		}
		eval.Reset(now, before)
		values += eval.Value(m).Len()
	}
	for range 2 * moments {
		next()
	}
	require.NotZero(b, values)
	values = 0
	b.ReportAllocs()
	for b.Loop() {
		next()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(values), "ns/value")
}

// BenchmarkScalars is the cost of a definition over singular metrics, of many that are all computed.
func BenchmarkScalars(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("definitions=%d", n), func(b *testing.B) {
			cat, defs := simpleDefinitions(b, n)
			set := Language{}.NewSet(defs, cat, "derived")
			now := &moment{at: time.Unix(1, 0), values: map[pdu.PMID]*Vector{}}
			vectors, bits := make([]Vector, 2*n), make([]uint64, 2*n) // next to each other, as in a sample
			for i := range vectors {
				d := cat["operand.of.m"+strconv.Itoa(i)]
				vectors[i] = Vector{Type: d.Type, Bits: bits[i : i+1 : i+1]}
				now.values[d.PMID] = &vectors[i]
			}
			eval := set.NewEvaluation()
			b.ReportAllocs()
			for b.Loop() {
				eval.Reset(now)
				for _, m := range set.Metrics() {
					if eval.Value(m).Len() != 1 {
						b.Fatal("no value")
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/value")
		})
	}
}

// simpleDefinitions are n definitions of two operands each, all different, and a catalog of these.
func simpleDefinitions(tb testing.TB, n int) (CatalogMap, []*Definition) {
	cat := CatalogMap{}
	defs := make([]*Definition, n)
	for i := range 2 * n {
		cat["operand.of.m"+strconv.Itoa(i)] = pdu.Desc{
			PMID: pdu.NewPMID(30, i>>10, i&1023), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter,
		}
	}
	for i := range defs {
		defs[i] = definition(tb, "group.m"+strconv.Itoa(i), fmt.Sprintf("operand.of.m%d + operand.of.m%d", 2*i, 2*i+1))
	}
	return cat, defs
}

// BenchmarkMatch matches the names of 10,000 instances, of which none was seen before, or one in ten
// is new. It includes the table of names, as it is made when instances change.
func BenchmarkMatch(b *testing.B) {
	const n, rounds = 10_000, 20
	for _, pattern := range []string{"[13579]$", "^0+[0-9]*1.*process-(1|2|3|4)", "-process-[0-9]+7$"} {
		for _, row := range []struct {
			name  string
			every int // which instance is new
		}{{"first seen", 1}, {"one in ten new", 10}} {
			b.Run(pattern+"/"+row.name, func(b *testing.B) {
				set, m := only(b, fmt.Sprintf("matchinst(/%s/, x)", pattern), benchCatalog())
				require.Nil(b, m.Err)
				var all [rounds][]pdu.Instance
				for round := range all {
					for i := range n {
						id := i
						if (i+round)%row.every == 0 {
							id += n * (1 + round)
						}
						name := fmt.Sprintf("%06d-process-%d", id, id%97)
						all[round] = append(all[round], pdu.Instance{ID: pdu.Inst(id), Name: name})
					}
				}
				v := &Vector{Type: pdu.TypeDouble, Bits: make([]uint64, n)}
				now := &moment{values: map[pdu.PMID]*Vector{m.Needs().Operands[0]: v}, names: map[pdu.InDom]*NameTable{}}
				eval := set.NewEvaluation()
				round := 0
				b.ReportAllocs()
				for b.Loop() {
					names, ids := make(map[pdu.Inst]string, n), make([]pdu.Inst, n)
					for i, inst := range all[round%rounds] {
						names[inst.ID], ids[i] = inst.Name, inst.ID
					}
					now.names[derivedtest.BinInDom], v.Insts = NewNameTable(names, nil), NewInstSet(ids)
					eval.Reset(now)
					eval.Value(m)
					round++
				}
			})
		}
	}
}

// BenchmarkParseDefinitions and BenchmarkBind are for 5,000 definitions.
func BenchmarkParseDefinitions(b *testing.B) {
	for _, row := range definitionKinds(b) {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, d := range row.defs {
					if _, err := Parse(d.Name, d.Text); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkBind(b *testing.B) {
	for _, row := range definitionKinds(b) {
		b.Run(row.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if (Language{}).NewSet(row.defs, row.cat, "derived").Metrics()[0].Err != nil {
					b.Fatal("bad definition")
				}
			}
		})
	}
}

type definitionKind struct {
	name string
	cat  Catalog
	defs []*Definition
}

func definitionKinds(tb testing.TB) []definitionKind {
	const n = 5000
	cat, simple := simpleDefinitions(tb, n)
	tests := derivedtest.NewCatalog(tb)
	var ratios, filtered []*Definition
	for i := range n {
		ratios = append(ratios, definition(tb, fmt.Sprint("m", i),
			fmt.Sprintf("100 * rate(operand.of.m%d) / (rate(operand.of.m%d) + rate(operand.of.m%d))", i, i, i+1)))
		filtered = append(filtered, definition(tb, fmt.Sprint("m", i),
			fmt.Sprintf("delta(bin.ctr.bytes) / delta(bin.ctr) * sum(matchinst(/%d/, bin.d)) * %d", i%100, i)))
	}
	return []definitionKind{{"simple", cat, simple}, {"ratios", cat, ratios}, {"filtered", tests, filtered}}
}

// BenchmarkMemory reports bytes of heap, not times: of a definition of two operands, parsed and bound,
// and of a value that an evaluation keeps, without its sample.
func BenchmarkMemory(b *testing.B) {
	b.Run("definition", func(b *testing.B) {
		const n = 5000
		cat, defs := simpleDefinitions(b, n)
		texts := make([][2]string, n)
		for i, d := range defs {
			texts[i] = [2]string{d.Name, d.Text}
		}
		for b.Loop() {
			before := heap()
			made := make([]*Definition, n)
			for i, t := range texts {
				made[i] = definition(b, t[0], t[1])
			}
			parsed := heap()
			set := Language{}.NewSet(made, cat, "derived")
			bound := heap()
			eval := set.NewEvaluation()
			evaluated := heap()
			b.ReportMetric(float64(parsed-before)/n, "B-parsed/def")
			b.ReportMetric(float64(bound-before)/n, "B/def")
			b.ReportMetric(float64(evaluated-bound)/n, "B-evaluation/def")
			runtime.KeepAlive(eval)
			runtime.KeepAlive(made)
		}
	})
	for _, e := range benchExpressions()[:4] {
		for _, row := range []struct {
			name string
			list lists
		}{{"same", sameOrder}, {"shuffled", shuffled}} {
			b.Run(e[0]+"/"+row.name, func(b *testing.B) {
				const n = 100_000
				all := benchMoments(n, 2, row.list)
				set, m := only(b, e[1], benchCatalog())
				for b.Loop() {
					before := heap()
					eval := set.NewEvaluation()
					eval.Reset(all[1], all[0])
					require.Equal(b, n, eval.Value(m).Len())
					b.ReportMetric(float64(heap()-before)/n, "B/value")
					runtime.KeepAlive(eval)
				}
			})
		}
	}
}

// heap is the memory in use, in bytes.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

package derived

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

// steady makes two samples of the sets of the tests' collector with n instances each, which are the
// same list, as in a system where nothing comes or goes. split gives every metric a list of its own.
func steady(tb testing.TB, n int, split bool) (testCatalog, []Sample) {
	tb.Helper()
	cat := newTestCatalog(tb)
	ids := make([]pdu.Inst, n)
	names := map[pdu.Inst]string{}
	for i := range ids {
		ids[i] = pdu.Inst(i)
		names[ids[i]] = "inst-" + strconv.Itoa(i)
	}
	insts := NewInstSet(ids)
	table := map[pdu.InDom]*NameTable{binInDom: NewNameTable(names, map[string]pdu.Inst{"it": pdu.Inst(n / 2)})}
	var samples []Sample
	lists := map[pdu.PMID]*InstSet{}
	for at := range 3 {
		m := &moment{at: time.Unix(int64(100-at), 0), values: map[pdu.PMID]*Vector{}, names: table}
		for _, d := range cat.metrics {
			if !d.Type.Numeric() {
				continue
			}
			v := &Vector{Type: d.Type}
			size := 1
			if d.InDom != pdu.NoInDom {
				v.Insts, size = insts, n
				if split {
					if lists[d.PMID] == nil {
						other := append([]pdu.Inst{}, ids...)
						k := int(d.PMID) % n
						other[0], other[k] = other[k], other[0]
						lists[d.PMID] = NewInstSet(other[:n-int(d.PMID)%2])
					}
					v.Insts = lists[d.PMID]
					size = v.Insts.Len()
				}
			}
			for i := range size {
				v.Bits = append(v.Bits, uint64(i*10+3-at))
			}
			m.values[d.PMID] = v
		}
		samples = append(samples, m)
	}
	return cat, samples
}

// In the steady state, which is that of instances that stay the same, nothing is allocated.
func TestNoAllocation(t *testing.T) {
	for _, expr := range []string{
		"bin + bin.u",
		"bin.d / bin - 5 * bin.l",
		"rate(bin.ctr) / rate(bin.ctr.l)",
		"delta(bin) > 3 && !bin.u",
		"matchinst(/[13579]$/, bin)",
		"bin[it]",
		"bin + scalar(bin[it])",
		"bin.u > 50 ? bin : -bin",
		"bin.u > 50 ? bin : novalue()",
		"bin.u > 50 ? bin : long.one",
		"long.one ? bin : long.ten",
		"sum(bin) / count(bin)",
		"avg(bin.f) + max(bin) - min(bin.d)",
		`rescale(-bin.kbyte, "Mbyte") + bin.kbyte`,
		"(bin.u > 50 ? bin : novalue()) + bin.d",
		"delta(delta(bin))",
	} {
		for _, split := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, split %t", expr, split), func(t *testing.T) {
				cat, history := steady(t, 1000, split)
				set, m := only(t, expr, cat)
				require.Nil(t, m.Err)
				eval := set.NewEvaluation()
				eval.Reset(history...)
				v := eval.Value(m)
				require.Zero(t, v.Code)
				require.NotZero(t, v.Len(), "a test over nothing shows nothing")
				assert.Zero(t, testing.AllocsPerRun(10, func() {
					eval.Reset(history...)
					eval.Value(m)
				}))
			})
		}
	}
}

func benchmarkValue(b *testing.B, expr string, n int, split bool) {
	cat, history := steady(b, n, split)
	set, m := only(b, expr, cat)
	require.Nil(b, m.Err)
	eval := set.NewEvaluation()
	eval.Reset(history...)
	require.NotZero(b, eval.Value(m).Len())
	b.ReportAllocs()
	for b.Loop() {
		eval.Reset(history...)
		eval.Value(m)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/inst")
}

func BenchmarkValue(b *testing.B) {
	fifty := "bin.d"
	for i := range 50 {
		fifty += " " + string("+-*"[i%3]) + " bin"
	}
	for _, row := range []struct{ name, expr string }{
		{"sum", "bin + bin.u"},
		{"convert", "bin.d + bin"},
		{"ratio of deltas", "delta(bin.ctr.bytes) / delta(bin.ctr)"},
		{"ratio of rates", "rate(bin.ctr.l) / rate(bin.ctr)"},
		{"50 operators", fifty},
		{"matchinst", "matchinst(/[0-4]$/, bin)"},
		{"ternary", "bin.u > 50 ? bin : -bin"},
		{"aggregate", "sum(bin)"},
		{"rescale", `rescale(bin.kbyte, "Mbyte")`},
	} {
		for _, n := range []int{1, 16, 256, 4096} {
			b.Run(fmt.Sprintf("%s/%d", row.name, n), func(b *testing.B) { benchmarkValue(b, row.expr, n, false) })
		}
	}
	b.Run("shuffled sum/10000", func(b *testing.B) { benchmarkValue(b, "bin + bin.u", 10_000, true) })
	b.Run("matchinst/10000", func(b *testing.B) { benchmarkValue(b, "matchinst(/[0-4]$/, bin)", 10_000, false) })
}

// What happens when instances come and go at every sample: the pattern is matched and sets are joined
// anew.
func BenchmarkChangingInstances(b *testing.B) {
	for _, row := range []struct{ name, expr string }{
		{"sum", "bin + bin.u"}, {"matchinst", "matchinst(/[0-4]$/, bin)"},
	} {
		b.Run(row.name, func(b *testing.B) {
			const n = 10_000
			cat, history := steady(b, n, true)
			set, m := only(b, row.expr, cat)
			eval := set.NewEvaluation()
			now := history[0].(*moment)
			b.ReportAllocs()
			for b.Loop() {
				for _, v := range now.values {
					if v.Insts != nil {
						v.Insts = NewInstSet(v.Insts.ids)
					}
				}
				eval.Reset(history...)
				eval.Value(m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/inst")
		})
	}
}

func BenchmarkNewSet(b *testing.B) {
	cat := newTestCatalog(b)
	var defs []*Definition
	for i := range 5000 {
		defs = append(defs, definition(b, fmt.Sprint("m", i),
			fmt.Sprintf("delta(bin.ctr.bytes) / delta(bin.ctr) * sum(matchinst(/%d/, bin.d)) * %d", i%100, i)))
	}
	b.ReportAllocs()
	for b.Loop() {
		if NewSet(defs, cat, "derived").Metrics()[0].Err != nil {
			b.Fatal("bad definition")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(defs)), "ns/def")
}

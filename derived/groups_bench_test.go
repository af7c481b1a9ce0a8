package derived

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// groupedMoment is a sample of instances from a number on, in a hundred groups: by name, by a string and by a number.
// Each has its own copies of the strings, as samples of a collector have.
func groupedMoment(first, n int, insts *InstSet, names *NameTable) *moment {
	if insts == nil {
		ids, table := make([]pdu.Inst, n), make(map[pdu.Inst]string, n)
		for i := range ids {
			ids[i] = pdu.Inst(first + i)
			table[ids[i]] = fmt.Sprintf("%06d slice-%d", first+i, (first+i)%100)
		}
		insts, names = NewInstSet(ids), NewNameTable(table, nil)
	}
	m := &moment{
		at: time.Unix(int64(first), 0), values: map[pdu.PMID]*Vector{},
		names: map[pdu.InDom]*NameTable{derivedtest.BinInDom: names},
	}
	text := &Vector{Insts: insts, Type: pdu.TypeString}
	whole := &Vector{Insts: insts, Type: pdu.Type64}
	x := &Vector{Insts: insts, Type: pdu.TypeDouble}
	for i := range n {
		text.Blobs = append(text.Blobs, []byte("user-"+strconv.Itoa((first+i)%100)))
		whole.Bits = append(whole.Bits, uint64((first+i)%100))
		x.Bits = append(x.Bits, math.Float64bits(float64(i)))
	}
	cat := groupCatalog()
	m.values[cat["some.texts"].PMID], m.values[cat["whole"].PMID], m.values[cat["x"].PMID] = text, whole, x
	return m
}

// BenchmarkGroups is the cost of a value of the operand, of 10,000 instances in a hundred groups: beside the plain
// aggregate, in the steady state, where each sample has its own copy of the keys, and where every instance and every
// key is new.
func BenchmarkGroups(b *testing.B) {
	const n = 10_000
	for _, expr := range []string{
		"sum(x)", "sum(x) by (/slice-([0-9]+)/)", "sum(x) by (some.texts)", "sum(x) by (whole)", "x / sum(x) by (some.texts)",
	} {
		b.Run("steady/"+expr, func(b *testing.B) {
			first := groupedMoment(0, n, nil, nil)
			insts, names := first.values[groupCatalog()["x"].PMID].Insts, first.names[derivedtest.BinInDom]
			all := []*moment{first, groupedMoment(0, n, insts, names), groupedMoment(0, n, insts, names)}
			texts := groupCatalog()["some.texts"].PMID
			for _, m := range all { // as a maker of samples has it
				m.values[texts] = first.values[texts]
			}
			benchmarkGroups(b, expr, n, all...)
		})
		b.Run("copied/"+expr, func(b *testing.B) {
			first := groupedMoment(0, n, nil, nil)
			insts, names := first.values[groupCatalog()["x"].PMID].Insts, first.names[derivedtest.BinInDom]
			benchmarkGroups(b, expr, n, first, groupedMoment(0, n, insts, names), groupedMoment(0, n, insts, names))
		})
		b.Run("new/"+expr, func(b *testing.B) {
			var all []*moment
			for i := range 40 {
				all = append(all, groupedMoment(i*n, n, nil, nil))
			}
			benchmarkGroups(b, expr, n, all...)
		})
	}
}

func benchmarkGroups(b *testing.B, expr string, n int, all ...*moment) {
	set, m := only(b, expr, keyedCatalog())
	require.Nil(b, m.Err)
	eval := set.NewEvaluation()
	eval.Reset(all[0])
	eval.Value(m)
	next := 0
	b.ReportAllocs()
	for b.Loop() {
		eval.Reset(all[next%len(all)])
		if eval.Value(m).Len() == 0 {
			b.Fatal("no value")
		}
		next++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/value")
}

package derived

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// keyedMoment is a sample of 10,000 instances in 1,000 groups, by one key and by two: labels, parts of names and
// metrics. shift is how many instances have gone, in whose place others came.
func keyedMoment(shift int) *moment {
	const n = 10_000
	names, ids := make(map[pdu.Inst]string, n), make([]pdu.Inst, n)
	labels := map[string]map[pdu.Inst]string{"both": {}, "route": {}, "code": {}, "id": {}}
	m := &moment{values: map[pdu.PMID]*Vector{}, names: map[pdu.InDom]*NameTable{}}
	cat := keyedCatalog()
	x, texts, whole := &Vector{Type: pdu.TypeDouble}, &Vector{Type: pdu.TypeString}, &Vector{Type: pdu.Type64}
	for i := range ids {
		id := pdu.Inst(shift + i)
		route, code := fmt.Sprint("/route/", (shift+i)%1000/10), strconv.Itoa(200+(shift+i)%10)
		ids[i], names[id] = id, fmt.Sprintf("%d code:%s route:%s", id, code, route)
		labels["route"][id], labels["code"][id], labels["both"][id] = route, code, route+"-"+code
		labels["id"][id] = fmt.Sprintf("%064x", id)
		texts.Blobs = append(texts.Blobs, []byte(route))
		whole.Bits = append(whole.Bits, uint64((shift+i)%10))
		x.Bits = append(x.Bits, math.Float64bits(float64(i)))
	}
	x.Insts = NewInstSet(ids)
	texts.Insts, whole.Insts = x.Insts, x.Insts
	m.names[derivedtest.BinInDom] = NewNameTable(names, nil).WithLabels(labels)
	others := map[pdu.Inst]string{}
	for i := range ids {
		others[ids[i]] = fmt.Sprintf("%064x web", ids[i])
	}
	m.names[derivedtest.OtherInDom] = NewNameTable(others, nil).WithLabels(labels)
	m.values[cat["other.texts"].PMID], m.values[cat["other.whole"].PMID] = texts, whole
	m.values[cat["x"].PMID], m.values[cat["some.texts"].PMID], m.values[cat["whole"].PMID] = x, texts, whole
	return m
}

// BenchmarkKeys compares groups by two keys with the same groups by one: in the steady state, and where ten of 10,000
// instances come and go with each sample, and where all do.
func BenchmarkKeys(b *testing.B) {
	for _, expr := range []string{
		"sum(x) by (label(both))", "sum(x) by (label(route), label(code))",
		"sum(x) by (/code:(.*)/)", "sum(x) by (code=/code:([0-9]*)/, route=/route:(.*)/)",
		"sum(x) by (some.texts)", "sum(x) by (some.texts, whole)",
	} {
		for name, step := range map[string]int{"steady": 0, "few": 10, "all": 10_000} {
			b.Run(name+"/"+expr, func(b *testing.B) {
				all := []*moment{keyedMoment(0)}
				for i := 1; step > 0 && i < 40; i++ {
					all = append(all, keyedMoment(i*step))
				}
				benchmarkGroups(b, expr, 10_000, all...)
			})
		}
	}
}

// BenchmarkLookup compares groups by what is looked up with groups by a metric and by the key that is looked up, a text
// of 64 digits as the id of a container. The looked-up metric stays; or as many of its instances come and go, too.
func BenchmarkLookup(b *testing.B) {
	cat := keyedCatalog()
	for _, expr := range []string{"sum(x) by (some.texts)", "sum(x) by (label(id))", "sum(x) by (label(id) -> other.texts)"} {
		for name, step := range map[string]int{"steady": 0, "few": 10, "both": 10} {
			b.Run(name+"/"+expr, func(b *testing.B) {
				all := []*moment{keyedMoment(0)}
				for i := 1; step > 0 && i < 10; i++ {
					m := keyedMoment(i * step)
					if name == "few" {
						m.names[derivedtest.OtherInDom] = all[0].names[derivedtest.OtherInDom]
						m.values[cat["other.texts"].PMID] = all[0].values[cat["other.texts"].PMID]
					}
					all = append(all, m)
				}
				benchmarkGroups(b, expr, 10_000, all...)
			})
		}
	}
}

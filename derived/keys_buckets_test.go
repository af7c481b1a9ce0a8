package derived

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// A histogram by route of buckets by bound and route is that of the route's instances alone, whatever others lack.
func TestHistogramsByOuterKey(t *testing.T) {
	r := rand.New(rand.NewPCG(63, 2))
	cat := CatalogMap{"c": {PMID: pdu.NewPMID(29, 0, 9), Type: pdu.TypeU64, Sem: pdu.SemCounter, InDom: derivedtest.BinInDom}}
	together, alone := 0, 0
	for range 1000 {
		change := []string{"delta(%s)", "rate(%s)", "instant(%s)"}[r.IntN(3)]
		f := []string{"share_bucket(%s, 2)", "nth_percentile_bucket(%s, 60)"}[r.IntN(2)]
		defs := []*Definition{definition(t, "all",
			fmt.Sprintf(f, "sum("+fmt.Sprintf(change, "c")+") by (label(route), label(le))")+" by (label(route))")}
		for _, route := range []string{"a", "b"} {
			one := fmt.Sprintf(change, "matchinst(/^"+route+"$/, c, label(route))")
			defs = append(defs, definition(t, route, fmt.Sprintf(f, "sum("+one+") by (label(le))")))
		}
		set := Language{}.NewSet(defs, cat, "derived")
		eval, groups := set.NewEvaluation(), NewGroups()
		eval.SetGroups(groups)

		names := map[pdu.Inst]string{}
		labels := map[string]map[pdu.Inst]string{"le": {}, "route": {}}
		counts := make([]uint64, 12) // two methods of each route
		for i := range counts {
			id := pdu.Inst(i)
			names[id] = fmt.Sprint("bucket ", i)
			labels["le"][id], labels["route"][id] = []string{"1", "4", "+Inf"}[i%3], []string{"a", "b"}[i/6]
			counts[i] = uint64(10*(i%3) + 5)
		}
		table := NewNameTable(names, nil).WithLabels(labels)
		var samples []Sample
		for at := range 4 {
			v := &Vector{Type: pdu.TypeU64}
			var ids []pdu.Inst
			for i := range counts {
				switch counts[i] += uint64(i%3 + 1 + r.IntN(2)*(i%3)); r.IntN(30) {
				case 0:
					counts[i] = 0
				case 1:
					continue
				}
				ids, v.Bits = append(ids, pdu.Inst(i)), append(v.Bits, counts[i])
			}
			v.Insts = NewInstSet(ids)
			m := &moment{
				at: time.Unix(int64(10*at), 0), values: map[pdu.PMID]*Vector{cat["c"].PMID: v},
				names: map[pdu.InDom]*NameTable{derivedtest.BinInDom: table},
			}
			samples = append([]Sample{m}, samples...)
			eval.Reset(samples[:min(2, len(samples))]...)
			got := map[string]uint64{}
			all := eval.Value(set.Metrics()[0])
			for k, bits := range all.Bits {
				name, _ := groups.Table(set.Metrics()[0].Desc.InDom).Name(all.At(k))
				got[name] = bits
				together++
			}
			want := map[string]uint64{}
			for _, one := range set.Metrics()[1:] {
				require.Nil(t, one.Err)
				if v := eval.Value(one); v.Len() > 0 {
					want[one.Name] = v.Bits[0]
					alone++
				}
			}
			require.Equal(t, want, got, defs[0].Text)
		}
	}
	require.Equal(t, alone, together)
	require.Greater(t, together, 1000, "a test over nothing shows nothing")
}

package derived

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// steady makes two samples of the sets of the tests' collector with n instances each, which are the
// same list, as in a system where nothing comes or goes. split gives every metric a list of its own.
func steady(tb testing.TB, n int, split bool) (derivedtest.Catalog, []Sample) {
	tb.Helper()
	cat := derivedtest.NewCatalog(tb)
	ids := make([]pdu.Inst, n)
	names := map[pdu.Inst]string{}
	for i := range ids {
		ids[i] = pdu.Inst(i)
		names[ids[i]] = fmt.Sprintf("inst-%d le=%d", i, i)
	}
	insts := NewInstSet(ids)
	named := NewNameTable(names, map[string]pdu.Inst{"it": pdu.Inst(n / 2)})
	table := map[pdu.InDom]*NameTable{derivedtest.BinInDom: named}
	var samples []Sample
	lists := map[pdu.PMID]*InstSet{}
	for at := range 3 {
		m := &moment{at: time.Unix(int64(100-at), 0), values: map[pdu.PMID]*Vector{}, names: table}
		for _, d := range cat.Metrics {
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

// In the steady state, in which instances stay the same, nothing is allocated.
func TestNoAllocation(t *testing.T) {
	for _, expr := range []string{
		"bin + bin.u",
		"increase(bin.ctr) + increase(bin.ctr[it])",
		"sum(increase(matchinst(/[13579]$/, bin.ctr))) by (/([0-9])$/)",
		"nth_percentile_bucket(increase(bin.ctr), 95)",
		"nth_percentile_bucket(increase(bin.ctr), 95) by (/([0-9])$/)",
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
		"sqrt(abs(bin.d)) + max(bin.d, bin, 3) - min(bin.f, 0.5)",
		"default(bin.d / (bin - bin), 7)",
		"default(rate(bin.ctr), 0)",
		"default(matchinst(/[13579]$/, bin), bin)",
		"stdev_inst(bin) + nth_percentile_inst(bin.d, 90)",
		"topk_inst(bin.d, 3500) / bottomk_inst(bin, 4500)",
		"sum(bin) by (/([0-9])$/)",
		"avg(bin.d) by (g=bin.u) - max(bin) by (g=/-(.)/)",
		"bin / sum(bin) by (/([0-9])$/)",
		"sum(delta(bin.ctr)) by (a=/([0-9])$/) + count(bin) by (b=/([0-9])$/)",
		"max(sum(bin) by (/([0-9]{2})$/)) by (/(.)$/)",
		"max(bin, avg(bin) by (/([0-9])$/), 3.5)",
		"matchinst(/[13579]$/, bin, /([0-9]+)/) + matchinst(!/5/, bin, bin.u)",
		"bin / sum(bin) by (one=/([0-9])$/, bin.u)",
		"sum(sum(bin) by (one=/([0-9])$/, ten=/([0-9])[0-9]$/)) by (label(ten))",
		"sum(bin) by (/([0-9])$/ -> bin.l by (bin), x=bin.u -> bin.u by (/([0-9]+)/))",
		"matchinst(/0/, bin, /-([0-9]+)/ -> bin by (bin)) + bin / sum(bin) by (/(i.*)/ -> bin.ul)",
		"avg(bin) by (/([0-9])$/) > 30 ? bin.l : bin.l - bin",
		"default(bin > 30 ? delta(bin.l) : bin.l - bin, 7)",
		"nth_percentile_bucket(bin, 95) - share_bucket(bin.d, 500)",
		"nth_percentile_bucket(rate(bin.ctr), 95) by (/([0-9])$/)",
		"share_bucket(bin > 30 ? bin.d : novalue(), 500) by (bin.u)",
		"default(delta(bin), nth_percentile_inst(bin, 90) by (/([0-9])$/))",
	} {
		for _, split := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, split %t", expr, split), func(t *testing.T) {
				cat, history := steady(t, 5000, split)
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

package derived

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/internal/derivedtest"
	"pmdaderived/pdu"
)

// Cases of the documentation of histogram_quantile() and histogram_fraction(), computed by hand. The buckets are those
// of a client of Prometheus: cumulative, with a bucket +Inf.
func TestBucketsAsPrometheusDocuments(t *testing.T) {
	cat := derivedtest.NewCatalog(t)
	for _, tt := range []struct {
		name    string
		bounds  []string
		counts  []float64
		percent map[float64]float64 // percentiles by n
		shares  map[float64]float64 // shares by bound
	}{
		{
			"linear within a bucket",
			[]string{"0.1", "0.2", "1", "+Inf"},
			[]float64{50, 90, 100, 100},
			map[float64]float64{25: 0.05, 50: 0.1, 70: 0.15, 90: 0.2, 95: 0.6, 100: 1},
			map[float64]float64{0.05: 0.25, 0.1: 0.5, 0.15: 0.7, 0.2: 0.9, 0.6: 0.95, 1: 1},
		},
		{
			"a whole rank is reached, whatever the rounding",
			[]string{"1", "2", "3", "4", "+Inf"},
			[]float64{999, 999, 999, 1000, 1000},
			map[float64]float64{99.9: 1},
			map[float64]float64{1: 0.999},
		},
		{
			"in the highest bucket it is the bound of the second highest",
			[]string{"0.1", "0.2", "+Inf"},
			[]float64{1, 2, 10},
			map[float64]float64{20: 0.2, 21: 0.2, 99: 0.2, 100: 0.2},
			map[float64]float64{0.2: 0.2, 7: 0.2},
		},
		{
			"the lowest bucket begins at 0 if its bound is above 0",
			[]string{"8", "+Inf"},
			[]float64{4, 4},
			map[float64]float64{0: 0, 50: 4, 100: 8},
			map[float64]float64{-1: 0, 0: 0, 2: 0.25, 8: 1},
		},
		{
			"else its bound is the percentile",
			[]string{"-2", "2", "+Inf"},
			[]float64{4, 8, 8},
			map[float64]float64{0: -2, 25: -2, 50: -2, 75: 0, 100: 2},
			map[float64]float64{-3: 0, -2: 0.5, 0: 0.75, 2: 1},
		},
		{
			"a bound of 0 likewise",
			[]string{"0", "2", "+Inf"},
			[]float64{4, 8, 8},
			map[float64]float64{50: 0, 75: 1},
			map[float64]float64{-1: 0, 0: 0.5, 1: 0.75},
		},
		{
			"empty buckets",
			[]string{"1", "2", "3", "4", "+Inf"},
			[]float64{0, 5, 5, 10, 10},
			map[float64]float64{0: 1, 50: 2, 60: 3.2, 100: 4},
			map[float64]float64{1: 0, 1.5: 0.25, 2.5: 0.5, 3.5: 0.75},
		},
		{"nothing was counted", []string{"1", "+Inf"}, []float64{0, 0}, map[float64]float64{50: math.NaN()}, nil},
		{"without a bucket +Inf", []string{"1", "2"}, []float64{1, 2}, map[float64]float64{50: math.NaN()}, nil},
		{
			"a single bucket",
			[]string{"+Inf"},
			[]float64{2},
			map[float64]float64{50: math.NaN()},
			map[float64]float64{1: math.NaN()},
		},
		{"counts that fall", []string{"1", "2", "+Inf"}, []float64{3, 2, 4}, map[float64]float64{50: math.NaN()}, nil},
		{"counts below 0", []string{"1", "+Inf"}, []float64{-3, 4}, map[float64]float64{50: math.NaN()}, nil},
		{"an infinite count", []string{"1", "+Inf"}, []float64{1, math.Inf(1)}, map[float64]float64{50: math.NaN()}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			names := map[pdu.Inst]string{}
			v := &Vector{Type: pdu.TypeDouble}
			var ids []pdu.Inst
			for i, le := range tt.bounds {
				ids = append(ids, pdu.Inst(i))
				names[pdu.Inst(i)], v.Bits = "le:"+le, append(v.Bits, math.Float64bits(tt.counts[i]))
			}
			v.Insts = NewInstSet(ids)
			sample := &moment{
				values: map[pdu.PMID]*Vector{cat.Metrics["bin.d"].PMID: v},
				names:  map[pdu.InDom]*NameTable{derivedtest.BinInDom: NewNameTable(names, nil)},
			}
			check := func(format string, n, want float64) {
				text := fmt.Sprintf(format, n)
				set, m := only(t, text, cat)
				require.Nil(t, m.Err, text)
				eval := set.NewEvaluation()
				eval.Reset(sample)
				got := eval.Value(m)
				if math.IsNaN(want) {
					assert.Zero(t, got.Len(), text)
				} else if assert.Equal(t, 1, got.Len(), text) {
					assert.InDelta(t, want, math.Float64frombits(got.Bits[0]), 1e-12, text)
				}
			}
			for n, want := range tt.percent {
				check("nth_percentile_bucket(bin.d, %g)", n, want)
			}
			for bound, want := range tt.shares {
				check("share_bucket(bin.d, %g)", bound, want)
			}
		})
	}
}

// histogramModel is a random histogram: slow, obvious, and not a line of it is the evaluator's.
type histogramModel struct {
	group      string
	cumulative bool
	names      []string  // of the instances
	labels     []string  // le, "" for none
	low, high  []float64 // what each bucket counts, ascending
	own        []float64 // how many values each has counted itself
	reset      int       // the bucket whose counter went back; -1: none
}

// model makes a histogram whose instances have the bounds in a form.
func (r groupModeller) model(group, form string) histogramModel {
	h := histogramModel{group: group, cumulative: form == "label" || form == "le:", reset: -1}
	bounds := map[int]bool{}
	for range 1 + r.IntN(8) {
		bounds[r.IntN(60)-20] = true
	}
	var sorted []int
	for b := range bounds {
		sorted = append(sorted, b)
	}
	slices.Sort(sorted)
	before := math.Inf(-1)
	for i, b := range sorted {
		high := float64(b) / 4
		text := strconv.FormatFloat(high, 'f', -1, 64)
		switch form {
		case "label":
			h.labels, text = append(h.labels, text), fmt.Sprintf("any%d", b)
		case "range": // of whole numbers, not always side by side
			first := b - 1
			if i > 0 {
				first = sorted[i-1] + 1 + r.IntN(b-sorted[i-1])
			}
			text, before, high = fmt.Sprintf("%d-%d", first, b), float64(first), float64(b+1)
			if i == 0 && r.IntN(2) == 0 {
				text, before = fmt.Sprintf("-inf-%d", b), math.Inf(-1)
			}
		case "number":
		default:
			text = form + text
		}
		h.names, h.low, h.high = append(h.names, text), append(h.low, before), append(h.high, high)
		before = high
	}
	if r.IntN(5) > 0 { // the bucket of what is above
		text := map[string]string{
			"label": "any", "le:": "le:+Inf", "le=": "le=inf", "range": fmt.Sprintf("%g-inf", before), "number": "+inf",
		}[form]
		if form == "label" {
			h.labels = append(h.labels, "+Inf")
		}
		h.names, h.low, h.high = append(h.names, text), append(h.low, before), append(h.high, math.Inf(1))
	}
	most := 1 + r.IntN(4)
	for range h.names {
		h.own = append(h.own, float64(max(0, r.IntN(4*most)-r.IntN(3)*most)))
	}
	if r.IntN(8) == 0 {
		h.reset = r.IntN(len(h.own))
	}
	if r.IntN(10) == 0 {
		clear(h.own)
	}
	return h
}

// counted returns the counts as an agent has them.
func (h *histogramModel) counted(i int) float64 {
	if !h.cumulative {
		return h.own[i]
	}
	sum := 0.0
	for _, n := range h.own[:i+1] {
		sum += n
	}
	return sum
}

// valid reports whether there is a value: something was counted, no bucket lacks, and one has an end.
func (h *histogramModel) valid() bool {
	total := 0.0
	for _, n := range h.own {
		total += n
	}
	last := h.high[len(h.high)-1]
	return total > 0 && h.reset < 0 && (!h.cumulative || math.IsInf(last, 1))
}

// ends returns the range over which what a bucket has counted is spread evenly.
func (h *histogramModel) ends(i int) (low, high float64) {
	low, high = h.low[i], h.high[i]
	if math.IsInf(low, -1) && high > 0 {
		low = 0
	} else if math.IsInf(low, -1) {
		low = high
	}
	return low, high
}

// percentile goes through the buckets and asks how many values are in it or below.
func (h *histogramModel) percentile(n float64) float64 {
	total := 0.0
	for _, own := range h.own {
		total += own
	}
	wanted := total * n / 100
	below := 0.0
	for i, own := range h.own {
		low, high := h.ends(i)
		if own > 0 && below+own >= wanted {
			if math.IsInf(high, 1) {
				return low
			}
			return low + (high-low)*(wanted-below)/own
		}
		below += own
	}
	return math.NaN()
}

// share adds what each bucket has at or below a bound.
func (h *histogramModel) share(bound float64) float64 {
	total, below := 0.0, 0.0
	for i, own := range h.own {
		total += own
		low, high := h.ends(i)
		switch {
		case high <= bound:
			below += own
		case low < bound && !math.IsInf(high, 1):
			below += own * (bound - low) / (high - low)
		}
	}
	return below / total
}

// 2,000 random histograms have the values of the model: alone, in groups, as they are counted, as changes and rates of
// counters of which some were reset, with guards that select one of two metrics for each bucket or for all, and with
// buckets without values. While labels are refused, there are none.
func TestBucketsFollowTheModel(t *testing.T) {
	r := groupModeller{rand.New(rand.NewPCG(53, 1))}
	cat := derivedtest.NewCatalog(t)
	values, without, refusals := 0, 0, 0
	for round := 0; values+without < 4000; round++ {
		form := r.pick("label", "le:", "le=", "range", "number")
		x := r.pick("rate(bin.ctr)", "delta(bin.ctr)", "(bin ? bin.d : novalue())",
			"(bin.u ? 1.0 * bin.f : 1.0 * bin.l)", "(long.one ? 1.0 * bin.f : 1.0 * bin.l)")
		oneBranch := strings.Contains(x, "long") // whose instances are the buckets
		by := r.IntN(3) > 0
		var all []histogramModel
		for _, group := range []string{"a", "b", "c"}[:1+r.IntN(3)] {
			h := r.model(group, form)
			if oneBranch {
				h.reset = -1
			}
			all = append(all, h)
			if !by || form == "number" { // which is the whole name
				break
			}
		}
		if form == "number" {
			by = false
		}

		names, labels, kinds := map[pdu.Inst]string{}, map[pdu.Inst]string{}, map[pdu.Inst]string{}
		was, is := &Vector{Type: pdu.TypeU32}, &Vector{Type: pdu.TypeU32}
		there, counts := &Vector{Type: pdu.Type32}, &Vector{Type: pdu.TypeDouble}
		branches, ofBranch := [2]*Vector{{Type: pdu.Type64}, {Type: pdu.TypeFloat}}, [2][]pdu.Inst{}
		guard, whole := &Vector{Type: pdu.TypeU32}, r.IntN(2)
		ids := r.Perm(50)
		var insts []pdu.Inst
		for _, h := range all {
			for _, i := range r.Perm(len(h.names)) {
				id := pdu.Inst(ids[len(insts)])
				insts = append(insts, id)
				if names[id] = h.names[i]; form != "number" {
					names[id] = fmt.Sprintf("%d %s", id, h.names[i])
				}
				if kinds[id] = h.group; form == "label" {
					labels[id] = h.labels[i]
				}
				start, n := uint64(r.IntN(1000)), h.counted(i)
				exists := uint64(1)
				was.Bits = append(was.Bits, start+1)
				if is.Bits = append(is.Bits, start+1+10*uint64(n)); h.reset == i {
					is.Bits[len(is.Bits)-1], exists = start, 0
				}
				there.Bits, counts.Bits = append(there.Bits, exists), append(counts.Bits, math.Float64bits(n))
				selected := r.IntN(2)
				guard.Bits = append(guard.Bits, uint64(selected))
				if oneBranch {
					selected = whole
				}
				for k, v := range branches { // what is not selected does not matter
					count := [...]uint64{uint64(int64(n)), uint64(math.Float32bits(float32(n)))}[k]
					if has := h.reset != i; k == selected && has || k != selected && r.IntN(2) == 0 {
						v.Bits, ofBranch[k] = append(v.Bits, count), append(ofBranch[k], id)
					}
				}
			}
		}
		for _, v := range []*Vector{was, is, there, counts, guard} {
			v.Insts = NewInstSet(insts)
		}
		for k, v := range branches {
			if len(v.Bits) > 0 {
				v.Insts = NewInstSet(ofBranch[k])
			}
		}
		table := NewNameTable(names, nil).WithLabels(map[string]map[pdu.Inst]string{"le": labels, "kind": kinds})
		refused := r.IntN(20) == 0
		if refused {
			table = NewNameTable(names, nil).Unanswered(nil, pdu.ErrPermission)
		}
		tables := map[pdu.InDom]*NameTable{derivedtest.BinInDom: table}
		before := &moment{at: time.Unix(100, 0), names: tables, values: map[pdu.PMID]*Vector{
			cat.Metrics["bin.ctr"].PMID: was,
		}}
		now := &moment{at: time.Unix(110, 0), names: tables, values: map[pdu.PMID]*Vector{
			cat.Metrics["bin.ctr"].PMID: is, cat.Metrics["bin"].PMID: there, cat.Metrics["bin.d"].PMID: counts,
			cat.Metrics["bin.l"].PMID: branches[0], cat.Metrics["bin.f"].PMID: branches[1], cat.Metrics["bin.u"].PMID: guard,
			cat.Metrics["long.one"].PMID: {Type: pdu.Type32, Bits: []uint64{uint64(whole)}},
		}}
		n, bound := float64(r.IntN(201))/2, float64(r.IntN(160)-60)/8
		text := fmt.Sprintf("nth_percentile_bucket(%s, %g)", x, n)
		want := func(h *histogramModel) float64 { return h.percentile(n) }
		if r.IntN(2) == 0 {
			text = fmt.Sprintf("share_bucket(%s, %g)", x, bound)
			want = func(h *histogramModel) float64 { return h.share(bound) }
		}
		if by {
			text += " by (label(kind))"
		}
		set, m := only(t, text, cat)
		require.Nil(t, m.Err, text)
		eval, groups := set.NewEvaluation(), NewGroups()
		eval.SetGroups(groups)
		eval.Reset(now, before)
		v := eval.Value(m)
		checkVector(t, m, v)
		if refused {
			require.Zero(t, v.Len(), "%s of %v", text, all)
			if refusals++; !slices.ContainsFunc(all, func(h histogramModel) bool { return h.reset >= 0 }) {
				require.Equal(t, pdu.ErrPermission, v.Code, "%s of %v", text, all)
			}
			continue
		}
		got := map[string]float64{}
		for i := range v.Len() {
			name := all[0].group
			if by {
				found, _ := groups.Find(m.Desc.InDom, v.At(i), "")
				name = found.Name
			}
			got[name] = math.Float64frombits(v.Bits[i])
		}
		for _, h := range all {
			low, _ := h.ends(0)
			if !h.valid() || len(h.names) == 1 && math.IsInf(h.high[0], 1) && low <= 0 {
				assert.NotContains(t, got, h.group, "%s of %v", text, h)
				without++
				continue
			}
			require.Contains(t, got, h.group, "%s of %v", text, h)
			require.InDelta(t, want(&h), got[h.group], 1e-9, "%s of %v", text, h)
			values++
			delete(got, h.group)
		}
		require.Empty(t, got, text)
	}
	require.Greater(t, values, 2000, "a test over nothing shows nothing")
	require.Greater(t, without, 200, "a test over nothing shows nothing")
	require.Greater(t, refusals, 50, "a test over nothing shows nothing")
}

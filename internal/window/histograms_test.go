package window

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// services is a random world of services with a histogram each. A service restarts at times, some of its buckets come
// late or lack at a tick, and its agent refuses the labels of all at times.
type services struct {
	*rand.Rand
	bounds []float64 // the last one is +Inf
	counts [][]uint64
	late   [][]bool // the bucket does not exist yet
}

// bucketTick is a sample of the world.
type bucketTick struct {
	moment
	names   *derived.NameTable
	counts  map[pdu.Inst]uint64
	refused bool // labels
}

func (s *bucketTick) Names(pdu.InDom) *derived.NameTable { return s.names }

func newServices(r *rand.Rand) *services {
	w := &services{Rand: r}
	for b := range 1 + r.IntN(3) {
		w.bounds = append(w.bounds, float64(b+1)*2)
	}
	w.bounds = append(w.bounds, math.Inf(1))
	for range 1 + r.IntN(3) {
		w.counts, w.late = append(w.counts, make([]uint64, len(w.bounds))), append(w.late, make([]bool, len(w.bounds)))
	}
	for s := range w.late {
		w.late[s][r.IntN(len(w.bounds))] = r.IntN(4) == 0
	}
	return w
}

// instance is the number of a bucket.
func (w *services) instance(service, bucket int) pdu.Inst {
	return pdu.Inst(service*len(w.bounds) + bucket)
}

// tick lets all services count.
func (w *services) tick(second int64) *bucketTick {
	s := &bucketTick{counts: map[pdu.Inst]uint64{}, refused: w.IntN(12) == 0}
	v := &derived.Vector{Type: pdu.TypeU64}
	names, les, kinds := map[pdu.Inst]string{}, map[pdu.Inst]string{}, map[pdu.Inst]string{}
	var ids []pdu.Inst
	for service, counts := range w.counts {
		if w.IntN(12) == 0 {
			clear(counts)
		}
		most, sum := uint64(1+w.IntN(400)), uint64(0)
		for bucket := range counts {
			sum += w.Uint64N(most)
			counts[bucket] += sum
			id, le := w.instance(service, bucket), strings.TrimPrefix(fmt.Sprint(w.bounds[bucket]), "+")
			names[id], les[id], kinds[id] = fmt.Sprintf("s%d-%d le:%s", service, bucket, le), le, fmt.Sprint("s", service)
			late := &w.late[service][bucket]
			if *late = *late && w.IntN(5) > 0; *late || w.IntN(60) == 0 {
				continue
			}
			ids, v.Bits, s.counts[id] = append(ids, id), append(v.Bits, counts[bucket]), counts[bucket]
		}
	}
	labels := map[string]map[pdu.Inst]string{"le": les, "svc": kinds}
	if s.refused {
		labels = nil
	}
	s.names = derived.NewNameTable(names, nil).WithLabels(labels).Unanswered(nil, pdu.ErrPermission)
	if v.Insts = derived.NewInstSet(ids); len(ids) == 0 {
		v.Insts = nil
	}
	s.moment = moment{at: time.Unix(second, 0), values: map[pdu.PMID]*derived.Vector{binID: v}}
	return s
}

// changes are those of the instances since another sample, without those that went back.
func (s *bucketTick) changes(before *bucketTick) map[pdu.Inst]float64 {
	made := map[pdu.Inst]float64{}
	if before == nil {
		return made
	}
	for id, n := range s.counts {
		if was, ok := before.counts[id]; ok && n >= was {
			made[id] = float64(n - was)
		}
	}
	return made
}

// bucketModel is a sum over ticks of changes of counters, or the mean of their rates. The instances are buckets of some
// histograms.
type bucketModel struct {
	histogram func(pdu.Inst) string // "": of none
	byLabel   bool                  // labels say so
	bounds    int                   // of services whose histograms are added; 0: they are not
	grouped   bool                  // the window is of groups, which stay
	rates     bool
	last      *bucketTick
	ticks     []int64
	values    []map[pdu.Inst]float64
	ids       []map[pdu.Inst]uint64 // those that are there
}

// add adds a tick: a histogram of which a bucket has no change counts nothing, also one that has gone. Of added
// histograms whole ones may come and go: as many buckets with each bound.
func (m *bucketModel) add(tick int64, s *bucketTick) {
	before := m.last
	values := s.changes(before)
	if m.byLabel && s.refused && len(values) > 0 {
		return // it is a gap
	}
	m.last = s
	lacks := map[string]bool{"": true}
	came := map[int]int{} // how many instances with a bound came or went
	for of, other := range map[*bucketTick]*bucketTick{s: before, before: s} {
		if of == nil {
			continue
		}
		for id := range of.counts {
			if m.histogram(id) == "" {
				continue
			}
			if m.bounds > 0 {
				came[int(id)%m.bounds] += 0
			}
			if _, ok := values[id]; ok {
				continue
			}
			if other != nil && m.bounds > 0 {
				if _, both := other.counts[id]; !both {
					came[int(id)%m.bounds]++
					continue
				}
			}
			lacks[m.histogram(id)] = true
		}
	}
	if numbers := slices.Sorted(maps.Values(came)); len(numbers) > 0 && numbers[0] != numbers[len(numbers)-1] {
		lacks["all"] = true
	}
	for id := range values {
		if m.rates {
			values[id] /= s.at.Sub(before.at).Seconds()
		}
		if lacks[m.histogram(id)] {
			delete(values, id)
		}
	}
	if before == nil {
		return
	}
	m.ticks, m.values, m.ids = append(m.ticks, tick), append(m.values, values), append(m.ids, s.counts)
}

// sums are those of the newest ticks, of instances that are still there, or of groups.
func (m *bucketModel) sums(span int64) map[pdu.Inst]float64 {
	made, of := map[pdu.Inst]float64{}, map[pdu.Inst]float64{}
	for i, tick := range m.ticks {
		if tick > m.ticks[len(m.ticks)-1]-span {
			for id, n := range m.values[i] {
				if _, ok := m.ids[len(m.ids)-1][id]; ok || m.grouped {
					made[id] += n
					of[id]++
				}
			}
		}
	}
	for id := range made {
		if m.rates {
			made[id] /= of[id]
		}
	}
	return made
}

// share is that of cumulative buckets at or below a bound, spread evenly.
func (w *services) share(counts map[float64]float64, bound float64) (share float64, ok bool) {
	total, there := counts[math.Inf(1)]
	if !there || total <= 0 || len(counts) == 1 {
		return 0, false
	}
	var bounds []float64
	for b := range counts {
		bounds = append(bounds, b)
	}
	slices.Sort(bounds)
	low, before, below := 0.0, 0.0, 0.0
	for _, high := range bounds {
		own := counts[high] - before
		switch {
		case own < -1e-9*total:
			return 0, false
		case high <= bound:
			below += own
		case low < bound && !math.IsInf(high, 1):
			below += own * (bound - low) / (high - low)
		}
		low, before = high, counts[high]
	}
	return below / total, true
}

// byBound adds the values of a service, or of all if it is "", by bound.
func (w *services) byBound(values map[pdu.Inst]float64, service string) map[float64]float64 {
	made := map[float64]float64{}
	for id, n := range values {
		if service == "" || fmt.Sprint("s", int(id)/len(w.bounds)) == service {
			made[w.bounds[int(id)%len(w.bounds)]] += n
		}
	}
	return made
}

// Shares of histograms, over a window and between two samples, are those of the model: a sample counts for all buckets
// of a histogram or for none, the restart of a service costs no other a tick, a window without buckets is another one,
// and refused labels are an error.
func TestHistogramsFollowTheModel(t *testing.T) {
	const span, bound = 5, 3
	texts := []string{
		`sum_sample(delta(ctr), "5s")`,
		`share_bucket(sum_sample(delta(matchinst(/^s0-/, ctr)), "5s"), 3)`,
		`share_bucket(avg_sample(rate(ctr), "5s"), 3) by (/^(s[0-9])/)`,
		`share_bucket(sum_sample(delta(ctr), "5s"), 3) by (label(svc))`,
		`share_bucket(sum(sum_sample(delta(ctr), "5s")) by (le=/^s[01]-. le:(.*)/), 3)`,
		`share_bucket(sum_sample(sum(delta(ctr)) by (le=/le:(.*)/), "5s"), 3)`,
		`share_bucket(sum(delta(ctr)) by (le=/^s[01]-. le:(.*)/), 3)`,
		`share_bucket(rate(ctr), 3) by (/^(s[0-9])/)`,
	}
	cat := derived.CatalogMap{"ctr": {PMID: binID, Type: pdu.TypeU64, InDom: binDom, Sem: pdu.SemCounter}}
	var defs []*derived.Definition
	for i, text := range texts {
		d, err := derived.Parse(fmt.Sprint("m", i), text)
		require.NoError(t, err)
		defs = append(defs, d)
	}
	set := derived.Language{}.NewSet(defs, cat, "")
	keys := map[string]bool{}
	for _, key := range set.Keys() {
		keys[key] = true
	}
	require.Len(t, keys, len(set.Windows()), "no window goes on with the values of another one after a reload")
	service := func(w *services, id pdu.Inst) string { return fmt.Sprint("s", int(id)/len(w.bounds)) }
	compared, none := 0, 0
	for seed := range *sequences / 5 {
		w := newServices(rand.New(rand.NewPCG(61, seed)))
		some := func(names ...string) func(pdu.Inst) string { // one histogram of some services
			return func(id pdu.Inst) string {
				if slices.Contains(names, service(w, id)) {
					return "all"
				}
				return ""
			}
		}
		of := func(id pdu.Inst) string { return service(w, id) }
		each := func(id pdu.Inst) string { return fmt.Sprint(id) }
		models := []*bucketModel{
			{histogram: each},
			{histogram: some("s0")},
			{histogram: of, rates: true},
			{histogram: of, byLabel: true},
			{histogram: some("s0", "s1"), bounds: len(w.bounds)},
			{histogram: some("s0", "s1", "s2"), bounds: len(w.bounds), grouped: true},
		}
		groups := derived.NewGroups()
		ws := NewSingleClient(set, groups, FirstTicks).Windows
		require.Len(t, set.Windows(), len(models))
		eval := set.NewEvaluation()
		eval.SetGroups(groups)
		var before *bucketTick
		for tick := int64(1); tick <= 30; tick++ {
			if w.IntN(15) == 0 {
				for i := range models {
					ws.Miss(i, tick)
				}
				continue
			}
			s := w.tick(tick)
			for i, m := range models {
				ws.Add(i, tick, s, true)
				m.add(tick, s)
			}
			if before != nil {
				eval.Reset(s, before)
			} else {
				eval.Reset(s)
			}
			eval.SetResults(ws.State(tick, nil).Results)
			for i, text := range texts {
				m, v := set.Metrics()[i], eval.Value(set.Metrics()[i])
				require.Nil(t, m.Err, text)
				want := map[string]float64{}
				var values map[pdu.Inst]float64
				failed := false
				switch {
				case i < len(models):
					n := len(models[i].ticks)
					if failed = n == 0 || tick-models[i].ticks[n-1] > maxMissedTicks; !failed {
						values = models[i].sums(span)
					}
				default:
					now := &bucketModel{histogram: some("s0", "s1"), bounds: len(w.bounds), last: before}
					if i == 7 {
						now = &bucketModel{histogram: of, last: before}
					}
					if now.add(tick, s); len(now.ticks) > 0 {
						values = now.sums(1)
					}
				}
				if bounds := i == 1 || i == 2 || i == 3 || i == 7; bounds && s.refused && len(values) > 0 {
					failed = true
				}
				switch i {
				case 0:
					for id, n := range values {
						want[fmt.Sprint(id)] = n
					}
				case 1, 4, 5, 6:
					if share, ok := w.share(w.byBound(values, ""), bound); ok {
						want[""] = share
					}
				default:
					for _, name := range []string{"s0", "s1", "s2"} {
						if share, ok := w.share(w.byBound(values, name), bound); ok {
							want[name] = share
						}
					}
				}
				at := fmt.Sprintf("%s, seed %d, tick %d", text, seed, tick)
				if failed {
					require.Negative(t, v.Code, at)
					continue
				}
				require.Zero(t, v.Code, at)
				require.Len(t, v.Bits, len(want), "%s: %v, not %v", at, v, want)
				for k, got := range numbers(v) {
					name := ""
					if v.Insts != nil {
						found, _ := groups.Find(m.Desc.InDom, v.At(k), "")
						name = cmp.Or(found.Name, fmt.Sprint(v.At(k)))
					}
					require.InDelta(t, want[name], got, 1e-9, "%s: %s", at, name)
				}
				if compared += len(v.Bits); len(v.Bits) == 0 {
					none++
				}
			}
			before = s
		}
	}
	require.Greater(t, compared, 10*int(*sequences), "a test over nothing shows nothing")
	require.Greater(t, none, int(*sequences)/5, "a test over nothing shows nothing")
}

package soak

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"pmdaderived/pdu"
	"pmdaderived/test/rig"
)

// moment has the times that the values of a track tell: of the sample, and of the sample that deltas and rates compare
// it with.
type moment struct {
	at       uint64  // ns since the Epoch
	before   uint64  // of the sample before, likewise; 0: there is none
	interval float64 // divisor of rates, in s
	first    uint64  // of windows: the first tick; at is the last one
	whole    bool    // of windows: no tick from first to at is a gap

	// There is no newer sample than at the fetch before: rates are the same, and deltas have no value.
	repeated bool
}

// cell is one value of a metric.
type cell struct {
	inst  pdu.Inst
	value float64
}

// form is a kind of definition. Definitions of a form differ in one number.
type form struct {
	name     string
	text     string // with %d for the number
	track    string // that has the same operands
	float    bool   // its values are FLOAT, exact to 24 bits
	historic bool   // it needs a sample before
	lasting  bool   // likewise; its values stay while there is no newer sample
	sums     bool   // it is a sum: 0 of no values, once there were two samples
	whole    bool   // its value is known if no tick is a gap
	cells    func(m moment, k float64) []cell
}

func forms() []form {
	return []form{
		{
			name: "linear", track: "phase", text: "wave.phase + %d",
			cells: single(func(m moment, k float64) float64 { return float64(rig.Phase(m.at)) + k }),
		},
		{
			name: "nested", track: "phase", text: "derived.track.phase.at * %d",
			cells: single(func(m moment, k float64) float64 { return float64(rig.Phase(m.at)) * k }),
		},
		{
			name: "ratio", track: "both", text: "wave.phase / (wave.slope + %d)",
			cells: single(func(m moment, k float64) float64 {
				return float64(rig.Phase(m.at)) / (float64(rig.Slope(m.at)) + k)
			}),
		},
		{
			name: "choice", track: "both", text: "(wave.phase < 500000000 ? wave.phase : wave.slope) + %d",
			cells: single(func(m moment, k float64) float64 {
				if p := rig.Phase(m.at); p < rig.PhaseLength/2 {
					return float64(p) + k
				}
				return float64(rig.Slope(m.at)) + k
			}),
		},
		{
			name: "scaled", track: "size", text: `rescale(wave.size, "Kbyte") * %d`,
			cells: single(func(m moment, k float64) float64 {
				return math.Round(float64(rig.Size(m.at))/1024) * k
			}),
		},
		{name: "member", track: "member", text: "wave.member * %d", cells: each(rig.AllMembers, rig.Member)},
		{name: "burst", track: "burst", text: "wave.burst * %d", cells: each(rig.BurstMembers, rig.Member)},
		{name: "selected", track: "member", text: "wave.member[m3] + %d", cells: func(m moment, k float64) []cell {
			return []cell{{3, float64(rig.Member(m.at, 3)) + k}}
		}},
		{
			name: "sum", track: "member", text: "sum(wave.member) + %d",
			cells: single(func(m moment, k float64) float64 { return total(m.at) + k }),
		},
		{
			name: "share", track: "member", text: "share_bucket(sum(wave.member) by (/m(.)/), 3) * %d",
			cells: single(func(m moment, k float64) float64 {
				below := 0.0
				for _, inst := range rig.AllMembers(m.at)[:4] {
					below += float64(rig.Member(m.at, inst))
				}
				return below / total(m.at) * k
			}),
		},
		{
			name: "percentile", track: "member", text: "nth_percentile_bucket(sum(wave.member) by (/m(.)/), 75) * %d",
			cells: single(func(m moment, k float64) float64 {
				rank := total(m.at) * 0.75
				for _, inst := range rig.AllMembers(m.at) {
					count := float64(rig.Member(m.at, inst))
					if rank <= count && inst > 0 { // all that the first bucket counts is at its bound, 0
						return (float64(inst) - 1 + rank/count) * k
					}
					rank -= count
				}
				return math.NaN()
			}),
		},
		{
			name: "average", track: "member", float: true, text: "avg(wave.member) * %d",
			cells: single(func(m moment, k float64) float64 {
				return total(m.at) / rig.Members * k
			}),
		},
		{
			name: "passed", track: "nanos", text: "delta(wave.nanos) * %d", historic: true,
			cells: single(func(m moment, k float64) float64 {
				return float64(m.at-m.before) * k
			}),
		},
		{
			name: "grown", track: "load", text: "delta(wave.load) * %d", historic: true,
			cells: grown(rig.AllMembers, func(moment) float64 { return 1 }),
		},
		{
			name: "surge", track: "surge", text: "delta(wave.surge) * %d", historic: true,
			cells: grown(rig.BurstMembers, func(moment) float64 { return 1 }),
		},
		{
			name: "rate", track: "load", text: "rate(wave.load) * %d", historic: true, lasting: true,
			cells: grown(rig.AllMembers, func(m moment) float64 { return m.interval }),
		},
		{
			name: "total", track: "load", text: "sum(rate(wave.load)) * %d", historic: true, lasting: true, sums: true,
			cells: single(func(m moment, k float64) float64 {
				sum := 0.0
				for _, inst := range rig.AllMembers(m.at) {
					sum += float64(rig.Load(m.at, inst)-rig.Load(m.before, inst)) / m.interval
				}
				return sum * k
			}),
		},
		{
			name: "peak", track: sinceLastFetchTrack, whole: true, cells: single(peak),
			text: "max_sample(" + tickNumber + " - 8 * floor(" + tickNumber + " / 8)) * %d",
		},
		{name: "looked", track: sinceLastFetchTrack, text: "(max_sample(" + counting + ") - min_sample(" + counting +
			")) * %d", cells: single(spanned)},
		{
			name: "counted", track: sinceLastFetchTrack, text: "sum_sample(delta(wave.nanos)) * %d", historic: true,
			cells: single(func(m moment, k float64) float64 {
				return float64(m.at-m.before) * k
			}),
		},
		{
			name: "window", track: "window", cells: single(spanned),
			text: `(nth_percentile_sample(instant(wave.nanos), 100, "5s") - first_sample(instant(wave.nanos), "5s")) * %d`,
		},
		{
			// less than a minute, after which memory does not grow any more
			name: "long", track: "window", cells: single(spanned),
			text: `(max_sample(instant(wave.nanos), "SPAN", "1s") - min_sample(instant(wave.nanos), "5s")) * %d`,
		},
		{
			// One of the conditions is true at each tick, so that gaps do not matter. A latch has a value before its
			// first tick, when the track has none, but not with the last summand.
			name: "latch", track: "window",
			text: "(latch(" + evenSecond + " < 0.5, " + evenSecond + " >= 0.5) + " +
				`0 * last_sample(instant(wave.nanos), "5s")) * %d`,
			cells: single(func(m moment, k float64) float64 {
				if pairs := float64(m.at) / 2e9; pairs-math.Floor(pairs) >= 0.5 {
					return 0
				}
				return k
			}),
		},
		{name: "held", track: "held", text: `last_sample(wave.burst, "5s") * %d`, cells: each(rig.BurstMembers, rig.Member)},
	}
}

// evenSecond is below 0.5 in every other second.
const evenSecond = "instant(wave.nanos) / 2000000000 - floor(instant(wave.nanos) / 2000000000)"

// spanned returns the time from the first tick to the last one.
func spanned(m moment, k float64) float64 { return float64(m.at-m.first) * k }

// peak returns the greatest of the numbers of all ticks from the first to the last one, modulo 8.
func peak(m moment, k float64) float64 {
	last, most := tickOf(m.at), uint64(0)
	for tick := max(tickOf(m.first), last-7); tick <= last; tick++ {
		most = max(most, tick%8)
	}
	return float64(most) * k
}

func single(f func(m moment, k float64) float64) func(moment, float64) []cell {
	return func(m moment, k float64) []cell { return []cell{{pdu.NoInst, f(m, k)}} }
}

func each(insts func(uint64) []pdu.Inst, value func(uint64, pdu.Inst) uint64) func(moment, float64) []cell {
	return func(m moment, k float64) (all []cell) {
		for _, inst := range insts(m.at) {
			all = append(all, cell{inst, float64(value(m.at, inst)) * k})
		}
		return all
	}
}

// grown returns the growth of load of the instances that were also there before.
func grown(insts func(uint64) []pdu.Inst, divisor func(moment) float64) func(moment, float64) []cell {
	return func(m moment, k float64) (all []cell) {
		was := insts(m.before)
		for _, inst := range insts(m.at) {
			if slices.Contains(was, inst) {
				all = append(all, cell{inst, float64(rig.Load(m.at, inst)-rig.Load(m.before, inst)) / divisor(m) * k})
			}
		}
		return all
	}
}

func total(at uint64) float64 {
	var sum uint64
	for _, inst := range rig.AllMembers(at) {
		sum += rig.Member(at, inst)
	}
	return float64(sum)
}

// metric is a definition of the model.
type metric struct {
	name string // in full
	form *form
	k    int
}

// model has the definitions that do not change, and computes their values.
type model struct{ metrics []metric }

func newModel(definitions int) *model {
	all, m := forms(), &model{}
	for k := range definitions {
		f := &all[k%len(all)]
		m.metrics = append(m.metrics, metric{fmt.Sprintf("derived.%s.n%d", f.name, k+1), f, k + 1})
	}
	return m
}

// windows returns a list of windows since the client's last fetch: the metrics of their track, a peak and a sum.
func windows() []selection {
	list := []selection{{name: plainName}}
	t, m := trackOf(sinceLastFetchTrack), newModel(len(forms()))
	for _, r := range t.roles() {
		list = append(list, selection{name: t.metric(r), track: t, role: r})
	}
	for i := range m.metrics {
		if x := &m.metrics[i]; x.form.name == "peak" || x.form.name == "counted" {
			list = append(list, selection{name: x.name, metric: x})
		}
	}
	return list
}

// file returns the definition file of the model.
func (m *model) file() string {
	var b strings.Builder
	for _, t := range tracks() {
		for _, r := range t.roles() {
			fmt.Fprintf(&b, "%s = %s\n", strings.TrimPrefix(t.metric(r), "derived."), t.text(r))
		}
	}
	for _, x := range m.metrics {
		fmt.Fprintf(&b, "%s = %s\n", strings.TrimPrefix(x.name, "derived."), x.text())
	}
	return b.String()
}

// text returns the definition.
func (x *metric) text() string {
	return fmt.Sprintf(strings.ReplaceAll(x.form.text, "SPAN", fmt.Sprintf("%ds", 10+x.k%50)), x.k)
}

// problem returns what is wrong with the values of a metric; "": nothing.
func (x *metric) problem(at moment, t pdu.Type, values []pdu.Value) string {
	if x.form.historic && at.before == 0 {
		if x.form.sums && len(values) == 1 && values[0].Bits == 0 { // the sample before had no values
			return ""
		}
		return fmt.Sprintf("%d values, and the step of its track has none", len(values))
	}
	if x.form.historic && at.repeated && !x.form.lasting {
		return fmt.Sprintf("%d values, and the sample is that of the fetch before", len(values))
	}
	if x.form.whole && !at.whole {
		return ""
	}
	want := x.form.cells(at, float64(x.k))
	if len(want) != len(values) {
		return fmt.Sprintf("%d values, want %d", len(values), len(want))
	}
	for i := range values {
		v := &values[i]
		j := slices.IndexFunc(want, func(c cell) bool { return c.inst == v.Inst })
		if j < 0 {
			return fmt.Sprintf("instance %d is not there at that time", v.Inst)
		}
		if got := v.TypeOr(t).Float64(v.Bits); !equal(got, want[j].value, x.form.float) {
			return fmt.Sprintf("instance %d: %v, want %v", v.Inst, got, want[j].value)
		}
	}
	return ""
}

// equal compares, except for rounding.
func equal(a, b float64, float bool) bool {
	slack := 1e-9
	if float {
		slack = 1e-6
	}
	return math.Abs(a-b) <= slack*max(1, math.Abs(a), math.Abs(b))
}

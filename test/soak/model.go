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
	whole    bool    // of windows: no tick from first to at is a gap; of those with before, since then

	// Names and labels of instances are those of a time from known until answered.
	known, answered uint64
	names           uint64 // a time whose names they may be

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
	text     string                           // with %d for the number
	track    string                           // that has the same operands
	float    bool                             // its values are FLOAT, exact to 24 bits
	historic bool                             // it needs a sample before
	lasting  bool                             // likewise; its values stay while there is no newer sample
	sums     bool                             // it is a sum: 0 of no values, once there were two samples
	whole    bool                             // its value is known if no tick is a gap
	named    bool                             // its value depends on the names of instances
	cells    func(m moment, k float64) []cell // NaN: any value

	unsure func(m moment) bool // values may be missing; nil: never
	fault  string              // a definition that does as a fault of earlier versions; "": none
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
		{
			name: "reset", track: "histogram", whole: true, cells: counted(false), unsure: gaps,
			text:  `share_bucket(sum_sample(0 * delta(wave.nanos) + delta(wave.histogram), "10s"), 0.5) * %d`,
			fault: eachForItself(`sum_sample(delta(wave.histogram), "10s")`),
		},
		{
			name: "paced", track: "histogram", whole: true, cells: counted(true), unsure: gaps,
			text:  `share_bucket(avg_sample(0 * rate(wave.nanos) + rate(wave.histogram), "10s"), 0.5) * %d`,
			fault: eachForItself(`avg_sample(rate(wave.histogram), "10s")`),
		},
		{
			name: "unready", track: "unready", text: "nth_percentile_bucket(wave.unready, 50) * %d", unsure: refused,
			cells: single(func(m moment, k float64) float64 {
				rank, low, below := float64(rig.Unready(m.at, 3))/2, 0.0, 0.0
				for inst, high := range []float64{0.5, 1, 2} {
					count := float64(rig.Unready(m.at, pdu.Inst(inst)))
					if rank <= count {
						return (low + (high-low)*(rank-below)/(count-below)) * k
					}
					low, below = high, count
				}
				return low * k
			}),
			fault: "nth_percentile_bucket(sum(wave.unready) by (/(.*)/), 50)", // the bounds are the names
		},
		{
			name: "named", track: "named", named: true, text: "(0 * instant(wave.nanos) + wave.swapped[s1]) * %d",
			cells: func(m moment, k float64) []cell {
				inst := rig.SwapNumber(m.names, 1)
				return []cell{{inst, float64(rig.Swapped(m.at, inst)) * k}}
			},
			unsure: renamed, fault: "0 * instant(wave.nanos) + wave.unswapped[m1]",
		},
		{
			name: "highest", track: "swapped", named: true, text: "max_sample(" + swappedAtTick + `, "30s") * %d`,
			cells:  swapped(func(now, was uint64) uint64 { return max(now, was) }),
			unsure: renamed, fault: `max_sample(wave.unswapped, "30s")`,
		},
		{
			name: "alarm", track: "swapped", named: true, text: "(latch(" + swappedAtTick + " > 750, " + swappedAtTick +
				" < 150) + 0 * last_sample(" + swappedAtTick + `, "5s")) * %d`, unsure: renamed,
			cells: swapped(func(now, was uint64) uint64 {
				if now > 750 || was > 750 && now >= 150 {
					return 1
				}
				return 0
			}),
			fault: "latch(wave.unswapped > 750, wave.unswapped < 150)",
		},
		{
			name: "risen", track: "nanos", text: "increase(wave.nanos) * %d", historic: true,
			cells: single(func(m moment, k float64) float64 {
				return float64(m.at-m.before) * k
			}),
		},
	}
}

// swappedAtTick has the operands of the track. Other functions may have another newest tick: that of the track may be a
// gap, and theirs not.
const swappedAtTick = "(0 * instant(wave.nanos) + wave.swapped)"

// counted returns the share of the first bucket of histogram. The histogram has no value at the first tick of a life.
// evenly is for means of rates, which depend on when ticks were late: only those of one life are known.
func counted(evenly bool) func(moment, float64) []cell {
	return func(m moment, k float64) []cell {
		var first, all float64
		lives := map[uint64]bool{}
		for tick := rig.TickOf(m.before) + 1; tick <= rig.TickOf(m.at); tick++ {
			if tick%rig.BucketLife != 0 {
				lives[tick/rig.BucketLife] = true
				first, all = first+float64(rig.BucketGrowth(tick, 0)), all+float64(rig.BucketGrowth(tick, 3))
			}
		}
		switch {
		case len(lives) == 0:
			return nil
		case evenly && len(lives) > 1:
			return []cell{{pdu.NoInst, math.NaN()}}
		}
		return []cell{{pdu.NoInst, first / all * k}}
	}
}

// eachForItself is the share of the first bucket, if a bucket counts without the others.
func eachForItself(x string) string {
	return "sum(matchinst(/m0/, " + x + ")) / sum(matchinst(/m3/, " + x + "))"
}

// swapped returns a result for each instance of swapped, of its value and that of its number before, which is the same
// if its name has been known since.
func swapped(result func(now, was uint64) uint64) func(moment, float64) []cell {
	return func(m moment, k float64) (all []cell) {
		for _, inst := range rig.AllMembers(m.at) {
			now := rig.Swapped(m.at, inst)
			was := now
			if rig.Swaps(m.names) < rig.Swaps(m.at) {
				was = rig.Swapped(m.at-uint64(rig.SwapTime), inst)
			}
			all = append(all, cell{inst, float64(result(now, was)) * k})
		}
		return all
	}
}

// gaps reports whether a tick of the window may be one.
func gaps(m moment) bool { return !m.whole || len(counted(false)(m, 1)) == 0 }

// refused reports whether labels may be unknown because the agent has refused them.
func refused(m moment) bool { return rig.Refuses(m.known, m.answered) }

// renamed reports whether names may be those before an exchange, or a sample older than the names.
func renamed(m moment) bool { return rig.Swaps(m.known) != rig.Swaps(m.answered) }

// evenSecond is below 0.5 in every other second.
const evenSecond = "instant(wave.nanos) / 2000000000 - floor(instant(wave.nanos) / 2000000000)"

// spanned returns the time from the first tick to the last one.
func spanned(m moment, k float64) float64 { return float64(m.at-m.first) * k }

// peak returns the greatest of the numbers of all ticks from the first to the last one, modulo 8.
func peak(m moment, k float64) float64 {
	last, most := rig.TickOf(m.at), uint64(0)
	for tick := max(rig.TickOf(m.first), last-7); tick <= last; tick++ {
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
	if !x.form.named {
		return x.difference(at, t, values)
	}
	problem := ""
	for _, at.names = range []uint64{at.known, at.answered, at.at} {
		if problem = x.difference(at, t, values); problem == "" {
			break
		}
	}
	return problem
}

// difference returns the difference between the values of a metric and those that it must have; "": none.
func (x *metric) difference(at moment, t pdu.Type, values []pdu.Value) string {
	want := x.form.cells(at, float64(x.k))
	if unsure := x.form.unsure != nil && x.form.unsure(at); len(want) < len(values) || len(want) > len(values) && !unsure {
		return fmt.Sprintf("%d values, want %d", len(values), len(want))
	}
	for i := range values {
		v := &values[i]
		j := slices.IndexFunc(want, func(c cell) bool { return c.inst == v.Inst })
		if j < 0 {
			return fmt.Sprintf("instance %d is not there at that time", v.Inst)
		}
		if math.IsNaN(want[j].value) {
			continue
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

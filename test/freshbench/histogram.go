package freshbench

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// histogram is derived.control.sample.age.* at one moment, or the difference of two: how many samples
// were at most as old as each bound and older than the one before.
type histogram struct {
	bounds []time.Duration // ascending; the last one is forever
	counts []uint64
}

const forever = time.Duration(math.MaxInt64)

// parseBound reads the name of a bucket: milliseconds, or "inf".
func parseBound(name string) (time.Duration, error) {
	if name == "inf" {
		return forever, nil
	}
	ms, err := strconv.ParseFloat(name, 64)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("bucket %q: want milliseconds", name)
	}
	return time.Duration(math.Round(ms * 1e6)), nil
}

// since is what came after an earlier moment.
func (h histogram) since(before histogram) histogram {
	counts := slices.Clone(h.counts)
	for i := range before.counts {
		counts[i] -= before.counts[i]
	}
	return histogram{h.bounds, counts}
}

func (h histogram) plus(other histogram) histogram {
	counts := slices.Clone(h.counts)
	for i := range other.counts {
		counts[i] += other.counts[i]
	}
	return histogram{h.bounds, counts}
}

func (h histogram) total() uint64 {
	n := uint64(0)
	for _, c := range h.counts {
		n += c
	}
	return n
}

// quantile is the bound that at least the fraction q of all is within; 0 if there are none.
func (h histogram) quantile(q float64) time.Duration {
	need := uint64(math.Ceil(q * float64(h.total())))
	n := uint64(0)
	for i, c := range h.counts {
		n += c
		if c > 0 && n >= need {
			return h.bounds[i]
		}
	}
	return 0
}

// durations are what is known one by one. They are sorted by newDurations.
type durations []time.Duration

func newDurations(all []time.Duration) durations {
	return slices.Sorted(slices.Values(all))
}

// quantile is the duration that at least the fraction q of all is within; 0 if there are none.
func (d durations) quantile(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	return d[max(0, int(math.Ceil(q*float64(len(d))))-1)]
}

// distribution is either of the two.
type distribution interface{ quantile(q float64) time.Duration }

// limit is a quantile and what it may be at most.
type limit struct {
	q    float64
	most time.Duration
}

// name is "p99", or "max".
func (l limit) name() string {
	if l.q == 1 {
		return "max"
	}
	return "p" + strconv.FormatFloat(l.q*100, 'f', -1, 64)
}

// judge writes down quantiles and limits and whether all are kept.
func judge(d distribution, limits []limit) (measured, target string, ok bool) {
	sign := ""
	if _, buckets := d.(histogram); buckets {
		sign = "≤ " // all that is known
	}
	var m, t []string
	ok = true
	for _, l := range limits {
		at := d.quantile(l.q)
		m = append(m, l.name()+" "+sign+milliseconds(at))
		if l.most > 0 {
			t = append(t, l.name()+" ≤ "+milliseconds(l.most))
			ok = ok && at <= l.most
		}
	}
	return strings.Join(m, ", "), strings.Join(t, ", "), ok
}

// milliseconds writes a duration with three digits.
func milliseconds(d time.Duration) string {
	if d == forever {
		return "forever"
	}
	ms := float64(d) / 1e6
	switch {
	case ms >= 100:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	default:
		return strconv.FormatFloat(ms, 'g', 3, 64) + " ms"
	}
}

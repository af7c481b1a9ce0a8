package rig

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Quantile returns the least value of a list that at least the fraction q, from 0 to 1, does not exceed; 0 of an empty
// list.
func Quantile[T cmp.Ordered](list []T, q float64) (at T) {
	if len(list) == 0 {
		return at
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// Median returns the least value of a list that at least half of it does not exceed.
func Median[T cmp.Ordered](list []T) T { return Quantile(list, 0.5) }

// Histogram counts durations by classes: those of at most a bound, and more than the bound before.
type Histogram struct {
	Bounds []time.Duration // ascending; the last one is Forever
	Counts []uint64
}

// Forever is the bound of the last class.
const Forever = time.Duration(math.MaxInt64)

// parseBound reads the name of a class: milliseconds, or "inf".
func parseBound(name string) (time.Duration, error) {
	if name == "inf" {
		return Forever, nil
	}
	ms, err := strconv.ParseFloat(name, 64)
	if err != nil || ms <= 0 {
		return 0, fmt.Errorf("class %q: want milliseconds", name)
	}
	return time.Duration(math.Round(ms * 1e6)), nil
}

// Since returns the durations since an earlier moment.
func (h Histogram) Since(before Histogram) Histogram {
	counts := slices.Clone(h.Counts)
	for i := range before.Counts {
		counts[i] -= before.Counts[i]
	}
	return Histogram{h.Bounds, counts}
}

// Total returns the number of all durations.
func (h Histogram) Total() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Quantile returns the least bound that at least the fraction q of all does not exceed; 0 if there are none.
func (h Histogram) Quantile(q float64) time.Duration {
	need, n := uint64(math.Ceil(q*float64(h.Total()))), uint64(0)
	for i, c := range h.Counts {
		n += c
		if c > 0 && n >= need {
			return h.Bounds[i]
		}
	}
	return 0
}

// Durations are single durations, not classes.
type Durations []time.Duration

// Quantile returns [Quantile] of the list.
func (d Durations) Quantile(q float64) time.Duration { return Quantile(d, q) }

// Limit is a quantile and its target; 0: none, the row only informs.
type Limit struct {
	Q    float64
	Most time.Duration
}

// name returns "p99", or "max".
func (l Limit) name() string {
	if l.Q == 1 {
		return "max"
	}
	return "p" + strconv.FormatFloat(l.Q*100, 'f', -1, 64)
}

// Times returns a row of quantiles of durations, with their limits.
func Times(what string, d interface{ Quantile(q float64) time.Duration }, limits ...Limit) Row {
	var measured, target []string
	r := Row{What: what, OK: true, Timed: true}
	for _, l := range limits {
		at := d.Quantile(l.Q)
		measured = append(measured, l.name()+" "+Milliseconds(at))
		if l.Most > 0 {
			target = append(target, l.name()+" ≤ "+Milliseconds(l.Most))
			r.OK = r.OK && at <= l.Most
		}
	}
	r.Measured, r.Target = strings.Join(measured, ", "), strings.Join(target, ", ")
	return r
}

// Milliseconds returns a duration in ms, with three digits.
func Milliseconds(d time.Duration) string {
	if d == Forever {
		return "forever"
	}
	return Digits(float64(d)/1e6) + " ms"
}

// Digits returns a number with three digits.
func Digits(x float64) string {
	if math.Abs(x) >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

package mmv

import (
	"math"
	"strconv"
	"time"

	"pmdaderived/derived/agent"
)

// A window covers the time from recentParts-1 to recentParts steps ago until now.
const (
	recentParts = 6
	recentStep  = 10 * time.Second
)

// window remembers what a histogram was at the last few moments, to tell what has been added since.
type window struct {
	past [recentParts]agent.Buckets
	next int // the oldest in past
	when time.Time
}

// recent returns what was added to the histogram in about the last minute.
func (w *window) recent(now time.Time, total *agent.Buckets) (added agent.Buckets) {
	oldest := &w.past[w.next]
	for i := range total {
		added[i] = total[i] - oldest[i]
	}
	if now.Sub(w.when) >= recentStep {
		w.past[w.next] = *total
		w.next = (w.next + 1) % recentParts
		w.when = now
	}
	return added
}

// quantiles are durations in milliseconds.
type quantiles struct {
	median, p90, p99 float64
}

// quantilesOf computes the quantiles of a histogram: the bounds of the buckets that they are in, and
// never more than the longest duration there has been.
func quantilesOf(b *agent.Buckets, bounds []float64, longest time.Duration) quantiles {
	var n uint64
	for _, count := range b {
		n += count
	}
	at := func(part float64) float64 {
		rank := uint64(math.Ceil(part * float64(n)))
		var below uint64
		for i, count := range b {
			below += count
			if below >= rank {
				return min(bounds[i], inMillisec(longest))
			}
		}
		return inMillisec(longest)
	}
	if n == 0 {
		return quantiles{}
	}
	return quantiles{median: at(.5), p90: at(.9), p99: at(.99)}
}

// bucketBounds returns the upper bounds of the buckets of these names, in milliseconds.
func bucketBounds(names []string) []float64 {
	bounds := make([]float64, len(names))
	for i, name := range names {
		bound, err := strconv.ParseFloat(name, 64) // "inf" is infinity
		if err != nil {
			bound = math.Inf(1)
		}
		bounds[i] = bound
	}
	return bounds
}

package mmv

import (
	"math"
	"time"

	"pmdaderived/derived/agent/control"
)

// What is recent began between recentParts-1 and recentParts steps ago.
const (
	recentParts = 6
	recentStep  = 10 * time.Second
)

// quantile is one that is shown, with its name and what stands for it in texts.
type quantile struct {
	part       float64
	name, text string
}

func quantiles() [3]quantile {
	return [...]quantile{{.5, "median", "half"}, {.9, "p90", "90 %"}, {.99, "p99", "99 %"}}
}

// recent is the distribution of what was added to histograms in about the last minute.
type recent struct {
	all     []*control.Histogram
	longest func() time.Duration

	past [recentParts]control.Buckets // what they were
	next int                          // the oldest in past
	when time.Time

	quantiles [3]time.Duration
}

// update computes the quantiles: the bounds of the buckets that they are in, and never more than the longest duration
// there has been; 0 if there was nothing.
func (r *recent) update(now time.Time) {
	var total, added control.Buckets
	for _, h := range r.all {
		h.AddTo(&total)
	}
	sum := uint64(0)
	for i, n := range r.past[r.next] {
		added[i] = total[i] - n
		sum += added[i]
	}
	if now.Sub(r.when) >= recentStep {
		r.past[r.next], r.when = total, now
		r.next = (r.next + 1) % recentParts
	}
	for i, q := range quantiles() {
		r.quantiles[i] = 0
		rank, below := uint64(math.Ceil(q.part*float64(sum))), uint64(0)
		for bucket, n := range added {
			if below += n; n > 0 && below >= rank {
				r.quantiles[i] = min(control.Bound(bucket), r.longest())
				break
			}
		}
	}
}

package operand

import (
	"slices"
	"time"

	"pmdaderived/internal/agent/freshness"
)

// Recent is the samples that there are of operands that are sampled again and again. It belongs to who samples them.
type Recent struct {
	Latest *Sample   // nil: none, or it is too old to be served
	Taken  time.Time // when the last one was, however old; zero: there was none
	Keep   bool      // the next one is to be kept
	Values int       // of the last one
	Older  int       // how many older samples are needed
	Kept   Kept      // for first fetches
}

// Push adds a new sample.
func (r *Recent) Push(s *Sample) {
	r.Taken, r.Latest = s.Taken, s
	if r.Keep {
		r.Retain()
	}
}

// Retain keeps the latest sample for first fetches. As many are kept as it takes for one of them to be an interval
// older than the newest, for each step of the history, and one more, because no two are exactly as far apart as they
// should be.
func (r *Recent) Retain() {
	r.Keep = false
	r.Kept.Add(r.Latest, freshness.PerInterval*r.Older+2)
}

// Fresh reports whether the newest sample is new enough.
func (r *Recent) Fresh(now time.Time, n freshness.Need) bool {
	return r.Latest != nil && n.NewEnough(r.Latest.Taken, r.Latest.Arrived, now)
}

// Forget lets go of samples that are too old to be served. Each keeps the values of all metrics that were fetched with
// it.
func (r *Recent) Forget(now time.Time, interval time.Duration) {
	if r.Latest != nil && freshness.Expired(now.Sub(r.Latest.Taken), 0, interval) {
		r.Latest = nil
	}
	r.Kept = slices.DeleteFunc(r.Kept, func(s *Sample) bool {
		return freshness.Expired(now.Sub(s.Taken), r.Older, interval)
	})
}

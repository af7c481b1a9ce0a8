package operand

import "time"

const (
	// OldEnough is the age beyond which no sample is served, however seldom its context fetches.
	OldEnough = 90 * time.Second

	// PerInterval is how often is sampled in the time that a first rate or delta is to cover at least.
	PerInterval = 2

	// warmEnough is how old the previous value of a context's first fetch may be, if intervals are not longer.
	warmEnough = time.Minute

	// burstShare is which part of the time that a sample took the pauses between the requests of one client
	// may take that are all about the same sample.
	burstShare = 10
)

// Reach is how far the previous value of a first fetch may be from it: intervals are covered up to half as often again,
// and an agent that is backing off may take longer.
func Reach(interval time.Duration) time.Duration { return max(warmEnough, 2*interval) }

// Need is how new a sample has to be.
type Need struct {
	Gap   time.Duration // it is new enough if it is younger than that
	After time.Time     // it is not if it was taken before
	Burst bool          // it is also if its answer is as young: one who asks for names asks several times in a row
}

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
	r.Kept.Add(r.Latest, PerInterval*r.Older+2)
}

// Fresh reports whether the newest sample is new enough.
func (r *Recent) Fresh(now time.Time, n Need) bool {
	latest := r.Latest
	if latest == nil || latest.Taken.Before(n.After) {
		return false
	}
	took := latest.Arrived.Sub(latest.Taken)
	return now.Sub(latest.Taken) < n.Gap || n.Burst && now.Sub(latest.Arrived) < max(n.Gap, took/burstShare)
}

// Forget lets go of samples that are too old to be served. Each keeps the values of all metrics that were fetched with
// it.
func (r *Recent) Forget(now time.Time, interval time.Duration) {
	oldest := now.Add(-OldEnough)
	if r.Latest != nil && r.Latest.Taken.Before(oldest) {
		r.Latest = nil
	}
	r.Kept.Forget(oldest.Add(-time.Duration(r.Older) * Reach(interval)))
}

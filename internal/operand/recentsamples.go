package operand

import (
	"slices"
	"time"

	"pmdaderived/internal/freshness"
)

// RecentSamples are the newest samples of operands that are fetched together. They belong to package upstream, under
// its lock.
type RecentSamples struct {
	Latest       *Sample         // nil: there is none, or it is too old to be served
	Taken        time.Time       // time of the last sample, however old; zero: there was none
	RetainNext   bool            // the next sample is to be retained
	LatestValues int             // number of values of the last sample
	OlderNeeded  int             // number of older samples that metrics need
	Retained     RetainedSamples // for first fetches
}

// StoreLatest stores a new sample.
func (r *RecentSamples) StoreLatest(s *Sample) {
	r.Taken, r.Latest = s.Taken, s
	if r.RetainNext {
		r.RetainLatest()
	}
}

// RetainLatest retains the latest sample for first fetches. Enough samples stay for one of them to be an interval
// older than the newest, for each step of the history, and one more, since the distances between samples vary.
func (r *RecentSamples) RetainLatest() {
	r.RetainNext = false
	r.Retained.Add(r.Latest, freshness.PerInterval*r.OlderNeeded+2)
}

// IsFresh reports whether the latest sample is new enough.
func (r *RecentSamples) IsFresh(now time.Time, n freshness.Need) bool {
	return r.Latest != nil && n.NewEnough(r.Latest.Taken, r.Latest.Arrived, now)
}

// DropExpired drops samples that are too old to be served. Each sample holds the values of all metrics that were
// fetched with it.
func (r *RecentSamples) DropExpired(now time.Time, interval time.Duration) {
	if r.Latest != nil && freshness.Expired(now.Sub(r.Latest.Taken), 0, interval) {
		r.Latest = nil
	}
	r.Retained = slices.DeleteFunc(r.Retained, func(s *Sample) bool {
		return freshness.Expired(now.Sub(s.Taken), r.OlderNeeded, interval)
	})
}

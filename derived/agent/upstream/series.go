package upstream

import (
	"time"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/slow"
	"pmdaderived/pdu"
)

// Series is the latest samples for all metrics that have the same operands: when several are fetched
// together they are computed from the same time. The Upstream's lock guards all that changes.
type Series struct {
	// What each fetch looks at comes first: that is little memory.
	descs       []pdu.Desc      // of the operands; immutable
	latest      *operand.Sample // nil: none, or it is too old to be served
	taken       time.Time       // the last one
	outstanding int32           // fetches on their way that will bring a new one
	waiting     bool            // wanted when no connection was free
	keep        bool            // the next one is to be kept
	values      int             // of the last one that was taken
	older       int             // how many older samples are needed
	excess      *excess         // nil: few have any

	domains []int          // of the operands; immutable
	agents  []slow.Account // of the operands; immutable

	kept   operand.Kept    // for first fetches
	valued *operand.Sample // the latest in which each operand had values, however old; nil: none
	judged int             // how many doubts that has been judged by
}

// excess is what a series was too much for.
type excess struct {
	tooLong    time.Time // when the answer for its operands alone was too long
	excused    time.Time // since when it is not asked for, because of that
	complained bool      // that is logged
	closed     time.Time // when pmcd closed a connection over a fetch for it alone
}

// tooMuch is the excess of a series that has some from now on.
func (s *Series) tooMuch() *excess {
	if s.excess == nil {
		s.excess = &excess{}
	}
	return s.excess
}

// NewSeries makes a series of operands, which nobody may change.
func NewSeries(descs []pdu.Desc) *Series {
	domains := operand.AgentsOf(descs)
	return &Series{descs: descs, domains: domains, agents: slow.Accounts(domains)}
}

// Operands implements [operand.Source].
func (s *Series) Operands() []pdu.Desc { return s.descs }

// Agents implements [slow.Asker].
func (s *Series) Agents() []slow.Account { return s.agents }

// Width implements [slow.Asker].
func (s *Series) Width() int { return len(s.descs) }

// Domains are those of the operands, each once.
func (s *Series) Domains() []int { return s.domains }

// Constant reports whether there is nothing to sample.
func (s *Series) Constant() bool { return len(s.descs) == 0 }

// Newest appends to dst the latest sample of each series, nil for one that has none.
func (u *Upstream) Newest(dst []*operand.Sample, series []*Series) []*operand.Sample {
	u.mu.Lock()
	defer u.unlock()
	for _, s := range series {
		dst = append(dst, s.latest)
	}
	return dst
}

// State is the latest sample of a series, nil if there is none, and whether it is not asked for now because an agent is slow.
func (u *Upstream) State(s *Series, now time.Time) (latest *operand.Sample, resting bool) {
	u.mu.Lock()
	defer u.unlock()
	return s.latest, u.slow.Resting(now, s.agents...)
}

// Kept appends to dst the samples of a series that are kept for first fetches, newest first.
func (u *Upstream) Kept(dst []*operand.Sample, s *Series) []*operand.Sample {
	u.mu.Lock()
	defer u.unlock()
	return append(dst, s.kept...)
}

// Taken is when the last sample of a series was taken, which may be too old to be served; zero: there was none.
func (u *Upstream) Taken(s *Series) time.Time {
	u.mu.Lock()
	defer u.unlock()
	return s.taken
}

// Store makes a sample the latest one of series.
func (u *Upstream) Store(sample *operand.Sample, series ...*Series) {
	u.mu.Lock()
	defer u.unlock()
	for _, s := range series {
		s.push(sample)
	}
}

// Keep says whether the next sample of series is to be kept for first fetches.
func (u *Upstream) Keep(keep bool, series ...*Series) {
	u.mu.Lock()
	defer u.unlock()
	for _, s := range series {
		s.keep = keep
	}
}

// push adds a new sample.
func (s *Series) push(sample *operand.Sample) {
	s.taken, s.latest = sample.Taken, sample
	if s.keep {
		s.retain()
	}
}

// perInterval is how often the keep-warm samples in the time that a first rate or delta is to cover at least.
const perInterval = 2

// retain keeps the latest sample for first fetches. As many are kept as it takes for one of them to be an interval
// older than the newest, for each step of the history, and one more, because no two are exactly as far apart as they should be.
func (s *Series) retain() {
	s.keep = false
	s.kept.Add(s.latest, perInterval*s.older+2)
}

// fresh reports whether the newest sample is new enough.
func (s *Series) fresh(now time.Time, n Need) bool {
	latest := s.latest
	if latest == nil || latest.Taken.Before(n.After) {
		return false
	}
	took := latest.Arrived.Sub(latest.Taken)
	return now.Sub(latest.Taken) < n.Gap || n.Burst && now.Sub(latest.Arrived) < max(n.Gap, took/burstShare)
}

// burstShare is which part of the time that a sample took the pauses between the requests of one client
// may take that are all about the same sample.
const burstShare = 10

// Size implements [operand.Source]: how many values a sample will have.
func (s *Series) Size() int {
	if s.taken.IsZero() {
		return len(s.descs)
	}
	return s.values
}

// OldEnough is the age beyond which no sample is served, however seldom its context fetches.
const OldEnough = 90 * time.Second

// Reach is how far the previous value of a first fetch may be from it: intervals are covered up to half as often again, and
// an agent that is backing off may take longer.
func Reach(interval time.Duration) time.Duration { return max(warmEnough, 2*interval) }

// warmEnough is how old the previous value of a context's first fetch may be, if intervals are not longer.
const warmEnough = time.Minute

// forgetSamples lets go of samples that are too old to be served, now and then. Each of these keeps the values of all
// metrics that were fetched with it.
func (u *Upstream) forgetSamples(now time.Time) {
	if now.Sub(u.cleared) < ForgetGap {
		return
	}
	u.cleared = now
	oldest := now.Add(-OldEnough)
	for _, s := range u.series {
		if s.latest != nil && s.latest.Taken.Before(oldest) {
			s.latest = nil
		}
		s.kept.Forget(oldest.Add(-time.Duration(s.older) * Reach(u.options.Interval)))
	}
}

// ForgetGap is how often what is too old is forgotten.
const ForgetGap = 30 * time.Second

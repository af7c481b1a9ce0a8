package upstream

import (
	"maps"
	"time"

	"pmdaderived/internal/agent/queue"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
)

// Series has the samples of one list of operands, for all metrics that are computed from these. Metrics with the same
// operands have the same series, and so values of the same time. The lock guards all fields that change.
type Series struct {
	// Fields that each fetch reads come first, so that they share cache lines.
	descs []pdu.Desc // of the operands; immutable
	queue.Member
	ambiguous bool // the last sample was not stored: see storeAnswer
	operand.RecentSamples
	oversize *oversize // nil: no answer for it alone was too long
	ticks    bool      // Sampled gets an element with the next sample

	domains []int         // of the operands; immutable
	budgets []slow.Budget // of the operands; immutable
}

// oversize is the state of a series whose answer alone was too long.
type oversize struct {
	lastTooLong time.Time // when the answer was too long, and not soon after another one
	since       time.Time // when the series became oversize; zero: it never was
	logged      bool      // the log has it
}

// oversizeState returns the oversize of a series, which it makes if there is none.
func (s *Series) oversizeState() *oversize {
	if s.oversize == nil {
		s.oversize = &oversize{}
	}
	return s.oversize
}

// NewSeries makes a series of operands, which must not change any more.
func NewSeries(descs []pdu.Desc) *Series {
	domains := operand.AgentsOf(descs)
	return &Series{descs: descs, domains: domains, budgets: slow.Budgets(domains)}
}

// Operands implements [operand.Source].
func (s *Series) Operands() []pdu.Desc { return s.descs }

// Budgets implements [slow.Asker].
func (s *Series) Budgets() []slow.Budget { return s.budgets }

// Width implements [slow.Asker].
func (s *Series) Width() int { return len(s.descs) }

// Constant reports whether the series has no operands, so that there is nothing to sample.
func (s *Series) Constant() bool { return len(s.descs) == 0 }

// Newest appends to dst the latest sample of each series, nil for one that has none.
func (u *Upstream) Newest(dst []*operand.Sample, series []*Series) []*operand.Sample {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range series {
		dst = append(dst, s.Latest)
	}
	return dst
}

// State returns the latest sample of a series, nil if there is none, and whether one of its agents rests.
func (u *Upstream) State(s *Series, now time.Time) (latest *operand.Sample, resting bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return s.Latest, u.slow.Resting(now, s.budgets...)
}

// Retained appends to dst the samples of a series that are retained for first fetches, newest first.
func (u *Upstream) Retained(dst []*operand.Sample, s *Series) []*operand.Sample {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append(dst, s.Retained...)
}

// LastSampled returns when the last sample of a series was taken, which may be too old to be served; zero: never.
func (u *Upstream) LastSampled(s *Series) time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	return s.Taken
}

// Store makes a sample the latest one of series.
func (u *Upstream) Store(sample *operand.Sample, series ...*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range series {
		s.StoreLatest(sample)
	}
}

// RetainNext sets whether the next sample of series is retained for first fetches.
func (u *Upstream) RetainNext(keep bool, series ...*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range series {
		s.RetainNext = keep
	}
}

// Size implements [operand.Source]: the number of values of the last sample, or a guess.
func (s *Series) Size() int {
	if s.Taken.IsZero() {
		return len(s.descs)
	}
	return s.LatestValues
}

// forgetSamples drops samples that have expired, and their times, at most once in freshness.ForgetInterval.
func (u *Upstream) forgetSamples(now time.Time) {
	if now.Sub(u.lastForget) < freshness.ForgetInterval {
		return
	}
	u.lastForget = now
	for _, s := range u.series {
		s.DropExpired(now, u.options.Interval)
	}
	maps.DeleteFunc(u.sampledDomains, func(_ pdu.InDom, at time.Time) bool { return freshness.Expired(now.Sub(at), 0, 0) })
}

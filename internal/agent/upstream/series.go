package upstream

import (
	"time"

	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/queue"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/pdu"
)

// Series is the latest samples for all metrics that have the same operands: when several are fetched
// together they are computed from the same time. The Upstream's lock guards all that changes.
type Series struct {
	// What each fetch looks at comes first: that is little memory.
	descs []pdu.Desc // of the operands; immutable
	queue.Member
	ambiguous bool // the last sample was left out: agents of others in the fetch took long, and nobody knows when these answered
	operand.Recent
	oversize *oversize // nil: few have any
	ticks    bool      // Sampled is to tell of the next sample

	domains []int         // of the operands; immutable
	agents  []slow.Budget // of the operands; immutable
}

// oversize is what a series was too much for.
type oversize struct {
	lastTooLong time.Time // when the answer for its operands alone was too long
	since       time.Time // since when it is not asked for, because of that
	logged      bool      // that is logged
}

// oversizeState is the excess of a series that has some from now on.
func (s *Series) oversizeState() *oversize {
	if s.oversize == nil {
		s.oversize = &oversize{}
	}
	return s.oversize
}

// NewSeries makes a series of operands, which nobody may change.
func NewSeries(descs []pdu.Desc) *Series {
	domains := operand.AgentsOf(descs)
	return &Series{descs: descs, domains: domains, agents: slow.Budgets(domains)}
}

// Operands implements [operand.Source].
func (s *Series) Operands() []pdu.Desc { return s.descs }

// Agents implements [slow.Asker].
func (s *Series) Agents() []slow.Budget { return s.agents }

// Width implements [slow.Asker].
func (s *Series) Width() int { return len(s.descs) }

// Constant reports whether there is nothing to sample.
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

// State is the latest sample of a series, nil if there is none, and whether it is not asked for now because an agent is slow.
func (u *Upstream) State(s *Series, now time.Time) (latest *operand.Sample, resting bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return s.Latest, u.slow.Resting(now, s.agents...)
}

// Retained appends to dst the samples of a series that are kept for first fetches, newest first.
func (u *Upstream) Retained(dst []*operand.Sample, s *Series) []*operand.Sample {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append(dst, s.Kept...)
}

// LastSampled is when the last sample of a series was taken, which may be too old to be served; zero: there was none.
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
		s.Push(sample)
	}
}

// RetainNext says whether the next sample of series is to be kept for first fetches.
func (u *Upstream) RetainNext(keep bool, series ...*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range series {
		s.Keep = keep
	}
}

// Size implements [operand.Source]: how many values a sample will have.
func (s *Series) Size() int {
	if s.Taken.IsZero() {
		return len(s.descs)
	}
	return s.Values
}

// forgetSamples lets go of samples that are too old to be served, now and then.
func (u *Upstream) forgetSamples(now time.Time) {
	if now.Sub(u.lastForget) < ForgetGap {
		return
	}
	u.lastForget = now
	for _, s := range u.series {
		s.Forget(now, u.options.Interval)
	}
}

// ForgetGap is how often what is too old is forgotten.
const ForgetGap = 30 * time.Second

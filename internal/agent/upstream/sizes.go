package upstream

import (
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/pool"
	"pmdaderived/pdu"
)

const (
	// MaxPart is how many operands one upstream fetch has at most: pmcd serves nobody else while
	// it works on one. A pmcd that takes fewer (-M), or PDUs shorter than such a fetch (-L), cannot be used.
	MaxPart = 4000

	// partRetry is for how long fetches are shorter, and a series is not asked for, whose answer is too long.
	partRetry = 10 * time.Minute

	// tooLongAgain is how soon after each other two answers for one series are too long before it is not asked for any more.
	tooLongAgain = time.Minute
)

// part is how many operands a fetch has at most. It is less for a while once an answer was too long.
type part struct {
	now    int
	shrunk time.Time // when that was last made less
}

// at is how many they are now.
func (p *part) at(now time.Time) int {
	if p.now < MaxPart && now.Sub(p.shrunk) > partRetry {
		p.now = MaxPart
	}
	return p.now
}

// halve makes fetches half as long as one was.
func (p *part) halve(operands int, now time.Time) {
	p.now, p.shrunk = min(p.now, max(1, operands/2)), now
}

// tooLong has the fetches half as long that follow one whose answer was too long, down to those of a single series, which is
// not asked for any more when that happens twice: a header that claims too much may be a lie.
func (u *Upstream) tooLong(asked *fetch, a pool.Answer) {
	fields := logrus.Fields{"bytes": a.Oversize.Length, "limit": a.Oversize.Limit, "metrics": len(asked.IDs)}
	switch {
	case len(asked.Sources) > 1:
		if u.part.now == MaxPart {
			u.mu.Remark(logrus.WarnLevel, fields, "answer from pmcd is too long, asking for fewer metrics at once")
		}
		u.part.halve(len(asked.IDs), a.Arrived)
		u.queue.Requeue(asked.Sources...)
	case len(asked.Sources) == 1:
		u.tooLongAlone(asked.Sources[0], fields, a.Arrived)
	}
}

// tooLongAlone notes that the answer for one series is too long. The second time in a row it is not asked for any more,
// and what was too long has been found: the others need not be asked for in small parts.
func (u *Upstream) tooLongAlone(s *Series, fields logrus.Fields, now time.Time) {
	e := s.tooMuch()
	if now.Sub(e.tooLong) > tooLongAgain {
		e.tooLong = now
		u.queue.Requeue(s)
		return
	}
	e.excused = now
	if !e.complained {
		e.complained = true
		fields["pmid"] = s.descs[0].PMID
		u.mu.Remark(logrus.WarnLevel, fields, "answer for the operands of a metric is too long, the metric has no values")
	}
	u.part.now = MaxPart
	u.excused(s, now)
}

// excused gives a series that is not asked for, because its answer is too long, a sample without values, and reports
// whether it is one.
func (u *Upstream) excused(s *Series, now time.Time) bool {
	if s.excess == nil || now.Sub(s.excess.excused) >= partRetry {
		return false
	}
	s.Push(u.maker.ErrorSample(s.descs, pdu.ErrTooBig, now))
	s.Values = 0
	return true
}

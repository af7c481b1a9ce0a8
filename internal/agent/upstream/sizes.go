package upstream

import (
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/pool"
	"pmdaderived/pdu"
)

const (
	// MaxOperands is how many operands one upstream fetch has at most: pmcd serves nobody else while
	// it works on one. A pmcd that takes fewer (-M), or PDUs shorter than such a fetch (-L), cannot be used.
	MaxOperands = 4000

	// oversizeTime is for how long fetches are shorter, and a series is not asked for, whose answer is too long.
	oversizeTime = 10 * time.Minute

	// repeatTime is how soon after each other two answers for one series are too long before it is not asked for any more.
	repeatTime = time.Minute
)

// fetchSize is how many operands a fetch has at most. It is less for a while once an answer was too long.
type fetchSize struct {
	operands int
	shrunk   time.Time // when that was last made less
}

// sizeAt is how many they are now.
func (p *fetchSize) sizeAt(now time.Time) int {
	if p.operands < MaxOperands && now.Sub(p.shrunk) > oversizeTime {
		p.operands = MaxOperands
	}
	return p.operands
}

// halve makes fetches half as long as one was.
func (p *fetchSize) halve(operands int, now time.Time) {
	p.operands, p.shrunk = min(p.operands, max(1, operands/2)), now
}

// shrinkFetches has the fetches half as long that follow one whose answer was too long, down to those of a single series, which is
// not asked for any more when that happens twice: a header that claims too much may be a lie.
func (u *Upstream) shrinkFetches(asked *fetch, a pool.Answer) {
	fields := logrus.Fields{"bytes": a.Oversize.Length, "limit": a.Oversize.Limit, "metrics": len(asked.IDs)}
	switch {
	case len(asked.Sources) > 1:
		if u.fetchSize.operands == MaxOperands {
			u.mu.Remark(logrus.WarnLevel, fields, "answer from pmcd is too long, asking for fewer metrics at once")
		}
		u.fetchSize.halve(len(asked.IDs), a.Arrived)
		u.queue.Requeue(asked.Sources...)
	case len(asked.Sources) == 1:
		u.recordOversize(asked.Sources[0], fields, a.Arrived)
	}
}

// recordOversize notes that the answer for one series is too long. The second time in a row it is not asked for any more,
// and what was too long has been found: the others need not be asked for in small parts.
func (u *Upstream) recordOversize(s *Series, fields logrus.Fields, now time.Time) {
	e := s.oversizeState()
	if now.Sub(e.lastTooLong) > repeatTime {
		e.lastTooLong = now
		u.queue.Requeue(s)
		return
	}
	e.since = now
	if !e.logged {
		e.logged = true
		fields["pmid"] = s.descs[0].PMID
		u.mu.Remark(logrus.WarnLevel, fields, "answer for the operands of a metric is too long, the metric has no values")
	}
	u.fetchSize.operands = MaxOperands
	u.pushOversize(s, now)
}

// pushOversize gives a series that is not asked for, because its answer is too long, a sample without values, and reports
// whether it is one.
func (u *Upstream) pushOversize(s *Series, now time.Time) bool {
	if s.oversize == nil || now.Sub(s.oversize.since) >= oversizeTime {
		return false
	}
	s.Push(u.maker.ErrorSample(s.descs, pdu.ErrTooBig, now))
	s.Values = 0
	return true
}

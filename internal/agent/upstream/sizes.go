package upstream

import (
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/pool"
	"pmdaderived/pdu"
)

const (
	// MaxOperands is the largest number of operands of one fetch: pmcd serves nobody else while it works on a fetch. A
	// pmcd that takes fewer (-M), or PDUs shorter than such a fetch (-L), cannot be used.
	MaxOperands = 4000

	// oversizeTime is the time for which fetches are shorter after an answer that was too long, and for which a series
	// is not fetched whose answer alone was too long.
	oversizeTime = 10 * time.Minute

	// repeatTime is the time within which two answers for a series alone have to be too long until it is oversize.
	repeatTime = time.Minute
)

// fetchSize is the largest number of operands of a fetch: MaxOperands, but for oversizeTime after an answer that was
// too long.
type fetchSize struct {
	operands int
	shrunk   time.Time // when operands became less
}

// sizeAt returns the number at a time.
func (p *fetchSize) sizeAt(now time.Time) int {
	if p.operands < MaxOperands && now.Sub(p.shrunk) > oversizeTime {
		p.operands = MaxOperands
	}
	return p.operands
}

// halve makes the fetches half as large that follow one with so many operands.
func (p *fetchSize) halve(operands int, now time.Time) {
	p.operands, p.shrunk = min(p.operands, max(1, operands/2)), now
}

// shrinkFetches makes the next fetches half as large as one whose answer was too long, down to those of a single
// series. A series whose answer alone was too long is fetched once more, since a header may lie about the length.
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

// recordOversize records that the answer for one series alone is too long. The second time within repeatTime the series
// is oversize. It was the cause, then, so the other series are fetched in large fetches again.
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
		u.mu.Remark(logrus.WarnLevel, fields,
			"answer for the operands of a metric is too long, the metric has no values")
	}
	u.fetchSize.operands = MaxOperands
	u.pushOversize(s, now)
}

// pushOversize reports whether a series is oversize, and gives it a sample with an error instead of values if so.
func (u *Upstream) pushOversize(s *Series, now time.Time) bool {
	if s.oversize == nil || now.Sub(s.oversize.since) >= oversizeTime {
		return false
	}
	s.StoreLatest(u.maker.ErrorSample(s.descs, pdu.ErrTooBig, now))
	s.LatestValues = 0
	return true
}

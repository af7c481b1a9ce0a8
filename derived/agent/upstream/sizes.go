package upstream

import (
	"errors"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
)

const (
	// MaxPart is how many operands one upstream fetch has at most: pmcd serves nobody else while
	// it works on one.
	MaxPart = 4000

	// partRetry is for how long a series is not asked for whose answer alone is too long.
	partRetry = operand.PartRetry

	// closedTwice is within what time pmcd closes another connection if it was not by chance: longer fetches are
	// sent again in between.
	closedTwice = 2 * partRetry
)

// Most is how many operands of one series pmcd takes at most, as far as is known.
func (u *Upstream) Most() int {
	u.mu.Lock()
	defer u.unlock()
	return u.size.Alone
}

// tooMany has shorter fetches sent than one that pmcd has not taken. certain: it may not have had another reason.
func (u *Upstream) tooMany(asked fetch, certain bool, now time.Time) {
	n := len(asked.IDs)
	switch {
	case len(asked.Sources) != 1:
		u.size.Halve(n, now)
		fields := logrus.Fields{"metrics": u.size.Now}
		if !certain {
			u.remark(logrus.DebugLevel, fields, "pmcd may limit the size of requests, sending shorter ones")
			return
		}
		u.size.Together = u.size.Now
		u.remark(logrus.WarnLevel, fields, "pmcd limits the size of requests, sending shorter ones")
	case certain && n <= u.size.Alone:
		u.size.Alone = n - 1
		u.remark(logrus.WarnLevel, logrus.Fields{"metrics": n}, "pmcd allows fewer metrics in a request than a definition needs")
		u.events.Narrowed = true
		signal(u.ready)
	}
}

// closedOver notes that pmcd has closed a connection over a long fetch. It may have ended just then, with all its
// connections; it has not if that happens on a later one, too, and it has answered no fetch as long since. What was
// under way is not sent again: all connections are made again.
func (u *Upstream) closedOver(c *connection, now time.Time) {
	closed := &u.size.Closed
	if len(c.asked.Sources) == 1 {
		closed = &c.asked.Sources[0].tooMuch().closed
	}
	certain := c.made.After(*closed) && now.Sub(*closed) <= closedTwice && len(c.asked.IDs) > u.size.Proven
	*closed = now
	u.tooMany(c.asked, certain, now)
}

// tooLong gives a connection up whose answer is longer than we take, and reports whether that is what err says: nobody
// knows where the next answer would begin. The fetches that follow are half as long, down to those of a single series, which is
// not asked for any more when that happens twice: a header that claims too much may be a lie. The other connections are
// not concerned.
func (u *Upstream) tooLong(c *connection, err error) bool {
	frame, ok := errors.AsType[*pdu.FrameError](err)
	if !ok || !c.busy || int64(frame.Length) <= int64(frame.Limit) ||
		frame.Kind != pdu.KindResult && frame.Kind != pdu.KindHighResResult {
		return false
	}
	asked, now := c.asked, u.now()
	fields := logrus.Fields{"bytes": frame.Length, "limit": frame.Limit, "metrics": len(asked.IDs)}
	u.figures.UpstreamErrors.Add(1)
	u.end(c)
	switch {
	case len(asked.Sources) > 1:
		if u.size.Now == u.size.Together {
			u.remark(logrus.WarnLevel, fields, "answer from pmcd is too long, asking for fewer metrics at once")
		}
		u.size.Halve(len(asked.IDs), now)
		u.queue.Requeue(asked.Sources...)
	case len(asked.Sources) == 1:
		u.tooLongAlone(asked.Sources[0], fields, now)
	}
	u.queue.Hold = len(u.conns) == 1
	if len(u.conns) == 0 {
		u.lose(err)
	} else {
		u.todo.refill = true
		signal(u.wake)
	}
	return true
}

// tooLongAlone notes that the answer for one series is too long. The second time in a row it is not asked for any more,
// and what was too long has been found: the others need not be asked for in small parts.
func (u *Upstream) tooLongAlone(s *Series, fields logrus.Fields, now time.Time) {
	e := s.tooMuch()
	if now.Sub(e.tooLong) > fetchTimeout {
		e.tooLong = now
		u.queue.Requeue(s)
		return
	}
	e.excused = now
	if !e.complained {
		e.complained = true
		fields["pmid"] = s.descs[0].PMID
		u.remark(logrus.WarnLevel, fields, "answer for the operands of a metric is too long, the metric has no values")
	}
	u.size.Now = u.size.Together
	u.excused(s, now)
}

// excused gives a series that is not asked for a sample without values, and reports whether it is one: its answer is too
// long, or pmcd takes no request for so many operands. Until the reload has seen that, it would end each session.
func (u *Upstream) excused(s *Series, now time.Time) bool {
	tooMany := u.size.Alone < MaxPart && len(s.descs) > u.size.Alone
	if !tooMany && (s.excess == nil || now.Sub(s.excess.excused) >= partRetry) {
		return false
	}
	s.Push(u.maker.Without(s.descs, pdu.ErrTooBig, now))
	s.Values = 0
	return true
}

package pool

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/agents"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/wait"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// fetchTimeout is how long a fetch may stay unanswered before its connection is given up. pmcd
// waits 5 s for each agent that hangs, so this is long.
const fetchTimeout = time.Minute

// Request is a fetch. Its sender gets it back with the answer.
type Request interface {
	// PMIDs are the metrics to fetch.
	PMIDs() []pdu.PMID

	// AddBudgets adds the accounts that the time of pmcd is charged to: none if nobody is.
	AddBudgets(r *slow.Request)
}

// Answer is the outcome of a request. Without Columns pmcd has refused it, or its connection has ended.
type Answer struct {
	Columns  *pmapi.Columns  // valid until the next request is sent
	Oversize *pdu.FrameError // the answer was longer than Limit, and so its connection has ended; nil: it was not

	Arrived       time.Time     // when the answer was taken
	Began         time.Time     // when pmcd began with the request, at the earliest
	PMCDTime      time.Duration // the time of pmcd that it took
	AgentTime     time.Duration // the part of Busy that agents can have taken
	BlockedBefore time.Duration // the time of pmcd that all long requests before took
}

// connection is one for fetches, and what is on its way over it. The lock of the pool guards all of it.
type connection struct {
	conn *pmapi.Conn
	slot int // in pmcd's table of clients; unknownSlot: not known

	request  Request // on its way; nil: none
	sent     time.Time
	draining bool // to be ended as soon as it is free
	closed   bool // closed, and not among those of the pool any more
	seen     agents.SeenChanges
}

// free reports whether a request can be sent on a connection.
func (c *connection) free() bool { return c.request == nil && !c.draining }

// Held reports that Send sends nothing, although there is a connection; with the lock.
func (p *Pool) Held() bool { return p.spareLast }

// Send sends a request on each free connection, as long as next returns one; with the lock. The last connection is for agents in
// quarantine alone, unless there is no other: next is told for which agents the request may be.
func (p *Pool) Send(now time.Time, next func(now time.Time, forAll, forSlow bool) (Request, bool)) {
	if p.spareLast {
		return
	}
	for i := 0; i < len(p.conns); i++ {
		c := p.conns[i]
		if !c.free() {
			continue
		}
		last := i == len(p.conns)-1
		r, ok := next(now, !last || i == 0, last)
		if !ok {
			continue
		}
		p.startFetch(c, r, now)
		if c.closed {
			i-- // it is not among the connections any more
		}
	}
}

// SendAnywhere sends a request if any connection is free, and reports whether the request is out; with the lock.
func (p *Pool) SendAnywhere(r Request, now time.Time) bool {
	for _, c := range p.conns {
		if c.free() {
			p.startFetch(c, r, now)
			return !c.closed
		}
	}
	return false
}

// startFetch sends a request on a connection.
func (p *Pool) startFetch(c *connection, r Request, now time.Time) {
	c.request, c.sent = r, now
	p.figures.UpstreamFetches.Add(1)
	p.figures.UpstreamMetrics.Add(uint64(len(r.PMIDs())))
	if err := c.conn.StartFetch(r.PMIDs()); err != nil {
		p.failConnection(c, err)
	}
}

// readAnswers empties a connection's socket, waiting for nothing else: what pmcd writes and nobody reads stops
// pmcd for everybody.
func (p *Pool) readAnswers(ctx context.Context, c *connection) {
	for {
		err := c.conn.WaitReadable(ctx)
		p.mu.Lock()
		switch {
		case c.closed:
		case err == nil:
			p.takeAnswers(c)
		case ctx.Err() == nil:
			p.failConnection(c, err)
		}
		ended := c.closed || err != nil
		p.mu.Unlock()
		if ended {
			return
		}
	}
}

// reply is what pmcd says to the request of a connection.
type reply struct {
	conn *connection
	at   time.Time // by pmcd's clock; zero, and so before all others: it refuses
	res  *pmapi.Columns
	err  error // pmcd refuses, but the connection is good
}

// before compares when pmcd has given answers.
func (a reply) before(b reply) int { return a.at.Compare(b.at) }

// takeAnswers takes all answers that are there, in the order in which pmcd has given them. It looks at readable, too, which nothing need be under way on; nil: no such connection.
func (p *Pool) takeAnswers(readable *connection) {
	p.replies = p.replies[:0]
	for i := 0; i < len(p.conns); i++ {
		c := p.conns[i]
		if c.request == nil && c != readable {
			continue
		}
		res, done, err := c.conn.PollColumns()
		switch {
		case !done:
		case err != nil && c.conn.Err() != nil:
			p.failConnection(c, err)
			i-- // it is not among the connections any more
		case err != nil:
			p.replies = append(p.replies, reply{conn: c, err: err})
		default:
			p.replies = append(p.replies, reply{conn: c, at: res.Time, res: res})
		}
	}
	if len(p.replies) == 0 && !p.resend {
		return
	}
	p.resend = false
	slices.SortFunc(p.replies, reply.before)
	now := p.now()
	for _, a := range p.replies {
		p.handleReply(a, now)
	}
	clear(p.replies)
	p.options.Free(now)
}

// handleReply ends what a connection had under way.
func (p *Pool) handleReply(a reply, now time.Time) {
	c := a.conn
	outcome := Answer{Columns: a.res, Arrived: now}
	if a.err == nil {
		p.figures.UpstreamTime.Record(now.Sub(c.sent), 1)
		outcome.BlockedBefore = p.slow.Blocked
		p.chargeAgents(c, &outcome)
		p.recordChanges(c, a.res.Changes)
	} else {
		p.recordRefusal(c.request, a.err)
	}
	p.freeConnection(c, outcome)
	if c.draining {
		p.closeConnection(c, Answer{})
	}
}

// recordRefusal looks after a fetch that pmcd refuses.
func (p *Pool) recordRefusal(r Request, err error) {
	p.figures.UpstreamErrors.Add(1)
	if text := err.Error(); text != p.lastRefusal {
		p.lastRefusal = text
		what := "pmcd has refused a fetch"
		if errors.Is(err, pdu.ErrTooBig) {
			what = "pmcd has refused a fetch of so many metrics, its option -M must be at least 4000"
		}
		p.mu.Remark(logrus.WarnLevel, logrus.Fields{logrus.ErrorKey: err, "metrics": len(r.PMIDs())}, what)
	}
}

// recordChanges looks after the changes that a connection's answer tells and that no other has told before: pmcd tells each of
// its clients once, with its next answer. Nor are those recordChanges that are our own.
func (p *Pool) recordChanges(c *connection, change pdu.Change) {
	news, hidden := c.seen.Unseen(change)
	p.events.Hidden = p.events.Hidden || hidden // somebody else's behind ours
	for _, other := range p.conns {
		if other != c {
			other.seen.AddSeen(news)
		}
	}
	if news&(pdu.ChangeNames|pdu.ChangeAddAgent|pdu.ChangeDropAgent|pdu.ChangeRestartAgent) != 0 {
		p.events.Names = true
		wait.Signal(p.options.Ready)
	}
}

// freeConnection makes a connection free, and passes on the outcome of its request, if there is one.
func (p *Pool) freeConnection(c *connection, outcome Answer) {
	r := c.request
	if r == nil {
		return
	}
	c.request = nil
	p.options.Answered(r, outcome)
}

// failConnection gives a connection up because of an error, and all others with it. It is closed at once: nobody would read what
// pmcd still writes.
func (p *Pool) failConnection(c *connection, err error) {
	if p.failOversize(c, err) {
		return
	}
	p.closeConnection(c, Answer{})
	p.figures.UpstreamErrors.Add(1)
	p.loseSession(err)
}

// failOversize gives a connection up whose answer is longer than we take, and reports whether that is what err says: nobody
// knows where the next answer would begin. The other connections are not concerned.
func (p *Pool) failOversize(c *connection, err error) bool {
	frame, ok := errors.AsType[*pdu.FrameError](err)
	if !ok || c.request == nil || int64(frame.Length) <= int64(frame.Limit) ||
		frame.Kind != pdu.KindResult && frame.Kind != pdu.KindHighResResult {
		return false
	}
	p.figures.UpstreamErrors.Add(1)
	p.closeConnection(c, Answer{Oversize: frame, Arrived: p.now()})
	p.spareLast, p.resend = len(p.conns) == 1, true
	if len(p.conns) == 0 {
		p.loseSession(err)
	} else {
		p.todo.refill = true
		wait.Signal(p.wake)
	}
	return true
}

// closeConnection closes a connection and takes it away. The outcome is that of its request, if there is one.
func (p *Pool) closeConnection(c *connection, outcome Answer) {
	p.freeConnection(c, outcome)
	c.closed = true
	p.conns = slices.DeleteFunc(p.conns, func(x *connection) bool { return x == c })
	for _, other := range p.conns {
		other.seen.ForgetSeen()
	}
	_ = c.conn.Close() // there is nothing left to be done about it
}

// errOverdue says that pmcd has not answered a fetch for fetchTimeout.
var errOverdue = errors.New("no answer from pmcd")

// CloseOverdue gives up connections whose answer is long overdue; with the lock.
func (p *Pool) CloseOverdue(now time.Time) {
	for _, c := range slices.Clone(p.conns) {
		if c.request != nil && now.Sub(c.sent) > fetchTimeout {
			p.failConnection(c, errOverdue)
		}
	}
}

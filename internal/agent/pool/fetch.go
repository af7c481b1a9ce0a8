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

// fetchTimeout is the time after which a connection is closed whose request has no answer. It is long, because pmcd
// waits for 5 s for each agent that hangs.
const fetchTimeout = time.Minute

// Request is a fetch. Answered gets it back with its outcome.
type Request interface {
	// PMIDs returns the metrics to fetch.
	PMIDs() []pdu.PMID

	// AddBudgets adds the budgets that are charged for r.AgentTime, none if nobody is charged.
	AddBudgets(r *slow.Request)
}

// Answer is the outcome of a request. Without Columns pmcd has refused it, or its connection has ended.
type Answer struct {
	Columns  *pmapi.Columns  // valid until the next request is sent on the connection
	Oversize *pdu.FrameError // the answer was longer than Options.Limit, so its connection was closed; nil: it was not

	Arrived    time.Time     // when the answer was taken
	Began      time.Time     // when pmcd began with the request, at the earliest
	PMCDTime   time.Duration // the time that the request has taken from pmcd
	AgentTime  time.Duration // the part of PMCDTime that agents can have taken
	BlockedSum time.Duration // slow.BlockedTimes.Blocked before the request
}

// connection is a connection for fetches, with at most one request on its way. The lock of the pool guards it.
type connection struct {
	conn *pmapi.Conn
	slot int // in pmcd's table of clients; unknownSlot: not known

	request  Request // on its way; nil: none
	sent     time.Time
	draining bool // to be closed as soon as it is free
	closed   bool // and not among Pool.conns any more
	seen     agents.SeenChanges
	owing    bool // pmcd has yet to report there a change of agents that we know, and nothing was sent since
}

// free reports whether a request can be sent on a connection.
func (c *connection) free() bool { return c.request == nil && !c.draining }

// Held reports whether Send sends nothing, although there is a connection; with the lock.
func (p *Pool) Held() bool { return p.spareLast }

// Send sends a request on each free connection for which next returns one; with the lock. next is told whether the
// request may be for all agents, and whether for those in quarantine: the last connection is for these alone, unless it
// is the only one. A connection that would otherwise report much later that agents have restarted is asked at once: until
// then nobody knows whether a report is about another restart.
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
		switch {
		case ok:
		case c.owing:
			r = p.options.Settle()
		default:
			continue
		}
		p.startFetch(c, r, now)
		if c.closed {
			i-- // it is not among the connections any more
		}
	}
}

// SendAnywhere sends a request on any free connection, and reports whether it was sent; with the lock.
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
	c.request, c.sent, c.owing = r, now, false
	p.figures.UpstreamFetches.Add(1)
	p.figures.UpstreamMetrics.Add(uint64(len(r.PMIDs())))
	if err := c.conn.StartFetch(r.PMIDs()); err != nil {
		p.failConnection(c, err)
	}
}

// readAnswers takes answers from a connection until it is closed, and waits for nothing else: pmcd stops for everybody
// if nobody reads what it writes.
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

// reply is the reply of pmcd to the request of a connection.
type reply struct {
	conn *connection
	at   time.Time // by pmcd's clock; zero for a refusal, which so comes before all others
	res  *pmapi.Columns
	err  error // a refusal; the connection is good
}

// before compares the times of replies.
func (a reply) before(b reply) int { return a.at.Compare(b.at) }

// takeAnswers takes all answers that have arrived, in the order in which pmcd has sent them, and then sends what waits.
// It also reads from the connection readable, if it is not nil, without a request on its way: pmcd may have closed it.
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

// handleReply charges an answer, and passes it on.
func (p *Pool) handleReply(a reply, now time.Time) {
	c := a.conn
	outcome := Answer{Columns: a.res, Arrived: now}
	if a.err == nil {
		outcome.BlockedSum = p.slow.Blocked
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

// recordRefusal counts a request that pmcd refuses. It logs a refusal that is not the same as the last one.
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

// ofAgents are changes that say that agents have come, gone or restarted.
const ofAgents = pdu.ChangeAddAgent | pdu.ChangeDropAgent | pdu.ChangeRestartAgent

// recordChanges records changes that come with an answer as events. pmcd sends each change once to each of its clients,
// with the next answer, so the other connections will bring it again. Changes that we have announced are no events.
func (p *Pool) recordChanges(c *connection, change pdu.Change) {
	unseen, hidden := c.seen.Unseen(change)
	c.owing = c.owing && change&ofAgents == 0
	p.events.Hidden = p.events.Hidden || hidden // a change of others may hide behind ours
	for _, other := range p.conns {
		if other != c {
			other.seen.AddSeen(unseen)
			other.owing = other.owing || unseen&ofAgents != 0
		}
	}
	if unseen&(pdu.ChangeNames|ofAgents) != 0 {
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

// failConnection closes a connection after an error, and ends the session. The connection is closed at once, because
// nobody would read what pmcd still writes.
func (p *Pool) failConnection(c *connection, err error) {
	if p.failOversize(c, err) {
		return
	}
	p.closeConnection(c, Answer{})
	p.figures.UpstreamErrors.Add(1)
	p.loseSession(err)
}

// failOversize closes a connection whose answer is longer than Options.Limit, since nobody knows where the next answer
// begins, and reports whether err is that. The session goes on with the other connections.
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

// closeConnection closes a connection and removes it from the pool. The outcome is that of its request, if there is
// one.
func (p *Pool) closeConnection(c *connection, outcome Answer) {
	p.freeConnection(c, outcome)
	c.closed = true
	p.conns = slices.DeleteFunc(p.conns, func(x *connection) bool { return x == c })
	for _, other := range p.conns {
		other.seen.ForgetSeen()
	}
	_ = c.conn.Close() // there is nothing left to be done about it
}

// errOverdue is the error of a connection whose request has had no answer for fetchTimeout.
var errOverdue = errors.New("no answer from pmcd")

// CloseOverdue closes connections whose answer is overdue, which ends the session; with the lock.
func (p *Pool) CloseOverdue(now time.Time) {
	for _, c := range slices.Clone(p.conns) {
		if c.request != nil && now.Sub(c.sent) > fetchTimeout {
			p.failConnection(c, errOverdue)
		}
	}
}

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

	// AddAccounts adds the accounts that the time of pmcd is charged to: none if nobody is.
	AddAccounts(r *slow.Request)
}

// Answer is the outcome of a request. Without Columns pmcd has refused it, or its connection has ended.
type Answer struct {
	Columns *pmapi.Columns  // valid until the next request is sent
	TooLong *pdu.FrameError // the answer was longer than Limit, and so its connection has ended; nil: it was not

	Arrived time.Time     // when the answer was taken
	Began   time.Time     // when pmcd began with the request, at the earliest
	Busy    time.Duration // the time of pmcd that it took
	Took    time.Duration // the part of Busy that agents can have taken
	Before  time.Duration // the time of pmcd that all long requests before took
}

// connection is one for fetches, and what is on its way over it. The lock of the pool guards all of it.
type connection struct {
	conn *pmapi.Conn
	slot int // in pmcd's table of clients; unknownSlot: not known

	request Request // on its way; nil: none
	sent    time.Time
	leaving bool // to be ended as soon as it is free
	dead    bool // closed, and not among those of the pool any more
	told    agents.SeenChanges
}

// free reports whether a request can be sent on a connection.
func (c *connection) free() bool { return c.request == nil && !c.leaving }

// Held reports that Send sends nothing, although there is a connection; with the lock.
func (p *Pool) Held() bool { return p.spare }

// Send sends a request on each free connection, as long as next returns one; with the lock. The last connection is for agents in
// quarantine alone, unless there is no other: next is told for which agents the request may be.
func (p *Pool) Send(now time.Time, next func(now time.Time, forAll, forSlow bool) (Request, bool)) {
	if p.spare {
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
		p.start(c, r, now)
		if c.dead {
			i-- // it is not among the connections any more
		}
	}
}

// SendAnywhere sends a request if any connection is free, and reports whether the request is out; with the lock.
func (p *Pool) SendAnywhere(r Request, now time.Time) bool {
	for _, c := range p.conns {
		if c.free() {
			p.start(c, r, now)
			return !c.dead
		}
	}
	return false
}

// start sends a request on a connection.
func (p *Pool) start(c *connection, r Request, now time.Time) {
	c.request, c.sent = r, now
	p.figures.UpstreamFetches.Add(1)
	p.figures.UpstreamMetrics.Add(uint64(len(r.PMIDs())))
	if err := c.conn.StartFetch(r.PMIDs()); err != nil {
		p.fail(c, err)
	}
}

// read empties a connection's socket, waiting for nothing else: what pmcd writes and nobody reads stops
// pmcd for everybody.
func (p *Pool) read(ctx context.Context, c *connection) {
	for {
		err := c.conn.WaitReadable(ctx)
		p.mu.Lock()
		switch {
		case c.dead:
		case err == nil:
			p.collect(c)
		case ctx.Err() == nil:
			p.fail(c, err)
		}
		ended := c.dead || err != nil
		p.mu.Unlock()
		if ended {
			return
		}
	}
}

// answer is what pmcd says to the request of a connection.
type answer struct {
	conn *connection
	at   time.Time // by pmcd's clock; zero, and so before all others: it refuses
	res  *pmapi.Columns
	err  error // pmcd refuses, but the connection is good
}

// before compares when pmcd has given answers.
func (a answer) before(b answer) int { return a.at.Compare(b.at) }

// collect takes all answers that are there, in the order in which pmcd has given them. It looks at readable, too, which nothing need be under way on; nil: no such connection.
func (p *Pool) collect(readable *connection) {
	p.answers = p.answers[:0]
	for i := 0; i < len(p.conns); i++ {
		c := p.conns[i]
		if c.request == nil && c != readable {
			continue
		}
		res, done, err := c.conn.PollColumns()
		switch {
		case !done:
		case err != nil && c.conn.Err() != nil:
			p.fail(c, err)
			i-- // it is not among the connections any more
		case err != nil:
			p.answers = append(p.answers, answer{conn: c, err: err})
		default:
			p.answers = append(p.answers, answer{conn: c, at: res.Time, res: res})
		}
	}
	if len(p.answers) == 0 && !p.resend {
		return
	}
	p.resend = false
	slices.SortFunc(p.answers, answer.before)
	now := p.now()
	for _, a := range p.answers {
		p.takeAnswer(a, now)
	}
	clear(p.answers)
	p.options.Free(now)
}

// takeAnswer ends what a connection had under way.
func (p *Pool) takeAnswer(a answer, now time.Time) {
	c := a.conn
	outcome := Answer{Columns: a.res, Arrived: now}
	if a.err == nil {
		p.figures.UpstreamTime.Record(now.Sub(c.sent), 1)
		outcome.Before = p.slow.Total
		p.charge(c, &outcome)
		p.news(c, a.res.Changes)
	} else {
		p.refused(c.request, a.err)
	}
	p.release(c, outcome)
	if c.leaving {
		p.end(c, Answer{})
	}
}

// refused looks after a fetch that pmcd refuses.
func (p *Pool) refused(r Request, err error) {
	p.figures.UpstreamErrors.Add(1)
	if text := err.Error(); text != p.refusal {
		p.refusal = text
		what := "pmcd has refused a fetch"
		if errors.Is(err, pdu.ErrTooBig) {
			what = "pmcd has refused a fetch of so many metrics, its option -M must be at least 4000"
		}
		p.mu.Remark(logrus.WarnLevel, logrus.Fields{logrus.ErrorKey: err, "metrics": len(r.PMIDs())}, what)
	}
}

// news looks after the changes that a connection's answer tells and that no other has told before: pmcd tells each of
// its clients once, with its next answer. Nor are those news that are our own.
func (p *Pool) news(c *connection, change pdu.Change) {
	news, hidden := c.told.Unseen(change)
	p.events.Hidden = p.events.Hidden || hidden // somebody else's behind ours
	for _, other := range p.conns {
		if other != c {
			other.told.AddSeen(news)
		}
	}
	if news&(pdu.ChangeNames|pdu.ChangeAddAgent|pdu.ChangeDropAgent|pdu.ChangeRestartAgent) != 0 {
		p.events.Names = true
		wait.Signal(p.options.Ready)
	}
}

// release makes a connection free, and passes on the outcome of its request, if there is one.
func (p *Pool) release(c *connection, outcome Answer) {
	r := c.request
	if r == nil {
		return
	}
	c.request = nil
	p.options.Answered(r, outcome)
}

// fail gives a connection up because of an error, and all others with it. It is closed at once: nobody would read what
// pmcd still writes.
func (p *Pool) fail(c *connection, err error) {
	if p.tooLong(c, err) {
		return
	}
	p.end(c, Answer{})
	p.figures.UpstreamErrors.Add(1)
	p.lose(err)
}

// tooLong gives a connection up whose answer is longer than we take, and reports whether that is what err says: nobody
// knows where the next answer would begin. The other connections are not concerned.
func (p *Pool) tooLong(c *connection, err error) bool {
	frame, ok := errors.AsType[*pdu.FrameError](err)
	if !ok || c.request == nil || int64(frame.Length) <= int64(frame.Limit) ||
		frame.Kind != pdu.KindResult && frame.Kind != pdu.KindHighResResult {
		return false
	}
	p.figures.UpstreamErrors.Add(1)
	p.end(c, Answer{TooLong: frame, Arrived: p.now()})
	p.spare, p.resend = len(p.conns) == 1, true
	if len(p.conns) == 0 {
		p.lose(err)
	} else {
		p.todo.refill = true
		wait.Signal(p.wake)
	}
	return true
}

// end closes a connection and takes it away. The outcome is that of its request, if there is one.
func (p *Pool) end(c *connection, outcome Answer) {
	p.release(c, outcome)
	c.dead = true
	p.conns = slices.DeleteFunc(p.conns, func(x *connection) bool { return x == c })
	for _, other := range p.conns {
		other.told.ForgetSeen()
	}
	_ = c.conn.Close() // there is nothing left to be done about it
}

// errOverdue says that pmcd has not answered a fetch for fetchTimeout.
var errOverdue = errors.New("no answer from pmcd")

// GiveUpOverdue gives up connections whose answer is long overdue; with the lock.
func (p *Pool) GiveUpOverdue(now time.Time) {
	for _, c := range slices.Clone(p.conns) {
		if c.request != nil && now.Sub(c.sent) > fetchTimeout {
			p.fail(c, errOverdue)
		}
	}
}

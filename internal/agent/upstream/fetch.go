package upstream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/agents"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/wait"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// fetchTimeout is how long a fetch may stay unanswered before its connection is given up. pmcd
// waits 5 s for each agent that hangs, so this is long.
const fetchTimeout = time.Minute

// connection is one for fetches, and what is on its way over it. The Upstream's lock guards all of it.
type connection struct {
	conn *pmapi.Conn
	slot int // in pmcd's table of clients; unknownSlot: not known
	made time.Time

	busy    bool
	leaving bool // to be ended as soon as it is not busy
	dead    bool // closed, and not among the Upstream's any more
	asked   fetch
	sent    time.Time
	told    agents.SeenChanges
}

// start sends the fetch of a connection.
func (u *Upstream) start(c *connection, now time.Time) {
	c.busy, c.sent = true, now
	u.figures.UpstreamFetches.Add(1)
	u.figures.UpstreamMetrics.Add(uint64(len(c.asked.IDs)))
	if err := c.conn.StartFetch(c.asked.IDs); err != nil {
		u.fail(c, err)
	}
}

// read empties a connection's socket, waiting for nothing else: what pmcd writes and nobody reads stops
// pmcd for everybody.
func (u *Upstream) read(ctx context.Context, c *connection) {
	for {
		err := c.conn.WaitReadable(ctx)
		u.mu.Lock()
		switch {
		case c.dead:
		case err == nil:
			u.collect(c)
		case ctx.Err() == nil:
			u.fail(c, err)
		}
		ended := c.dead || err != nil
		u.unlock()
		if ended {
			return
		}
	}
}

// answer is what pmcd says to the fetch of a connection.
type answer struct {
	conn *connection
	at   time.Time // by pmcd's clock; zero, and so before all others: it refuses
	res  *pmapi.Columns
	err  error // pmcd refuses, but the connection is good
}

// before compares when pmcd has given answers.
func (a answer) before(b answer) int { return a.at.Compare(b.at) }

// collect takes all answers that are there, in the order in which pmcd has given them, and makes them
// samples. It looks at readable, too, which nothing need be under way on; nil: no such connection.
func (u *Upstream) collect(readable *connection) {
	u.answers = u.answers[:0]
	for i := 0; i < len(u.conns); i++ {
		c := u.conns[i]
		if !c.busy && c != readable {
			continue
		}
		res, done, err := c.conn.PollColumns()
		switch {
		case !done:
		case err != nil && c.conn.Err() != nil:
			u.fail(c, err)
			i-- // it is not among the connections any more
		case err != nil:
			u.answers = append(u.answers, answer{conn: c, err: err})
		default:
			u.answers = append(u.answers, answer{conn: c, at: res.Time, res: res})
		}
	}
	if len(u.answers) == 0 && !u.queue.Requeued() {
		return
	}
	slices.SortFunc(u.answers, answer.before)
	now := u.now()
	for _, a := range u.answers {
		u.settle(a, now)
	}
	clear(u.answers)
	u.send(now)
}

// settle ends what a connection had under way.
func (u *Upstream) settle(a answer, now time.Time) {
	c, asked := a.conn, a.conn.asked
	if a.err == nil {
		u.store(c, a.res, now)
	}
	u.drop(c)
	if a.err != nil {
		u.refused(asked, a.err)
	}
	if len(u.unsure) > 0 {
		u.queue.Requeue(u.unsure...)
		u.unsure = u.unsure[:0]
	}
	if c.leaving {
		u.end(c)
	}
}

// refused looks after a fetch that pmcd refuses.
func (u *Upstream) refused(asked fetch, err error) {
	u.figures.UpstreamErrors.Add(1)
	if text := err.Error(); text != u.refusal {
		u.refusal = text
		what := "pmcd has refused a fetch"
		if errors.Is(err, pdu.ErrTooBig) {
			what = "pmcd has refused a fetch of so many metrics, its option -M must be at least 4000"
		}
		u.remark(logrus.WarnLevel, logrus.Fields{logrus.ErrorKey: err, "metrics": len(asked.IDs)}, what)
	}
}

// store makes a connection's answer a sample.
func (u *Upstream) store(c *connection, res *pmapi.Columns, now time.Time) {
	u.figures.UpstreamTime.Record(now.Sub(c.sent), 1)
	before := u.slow.Total
	began, busy := u.charge(c, res, now)
	u.asked.CountFetch(c.asked.Agents, busy)
	u.news(c, res.Changes)
	if len(c.asked.Sources) > 0 {
		made := u.sample(res, began, now, c.asked.List)
		made.Before = before
		for metric, code := range made.Failed {
			if d := metric.Domain(); u.asked.CountError(metric, code) {
				u.remark(logrus.InfoLevel, logrus.Fields{"domain": d, "agent": u.agents[d], "pmid": metric, logrus.ErrorKey: code},
					"operand has no values")
			}
		}
		c.asked.Count(made, func(s *Series, values int) {
			if s.unsure = busy >= slow.Long && s.Older > 0 && len(s.domains) < len(c.asked.Agents) && !s.unsure; s.unsure {
				u.unsure = append(u.unsure, s)
				return
			}
			s.Push(made)
			s.Values = values
			if s.ticks {
				s.ticks = false
				wait.Signal(u.sampled)
			}
		})
	}
}

// sample makes a sample of an answer and tells what is noticed.
func (u *Upstream) sample(res *pmapi.Columns, taken, arrived time.Time, asked *operand.List) *operand.Sample {
	made, noticed := u.maker.Make(res, taken, arrived, asked)
	for _, d := range noticed.Changed {
		u.changed[d] = struct{}{}
		wait.Signal(u.ready)
	}
	for _, set := range noticed.Excess {
		if _, logged := u.excess[set.PMID]; !logged {
			u.excess[set.PMID] = struct{}{}
			u.remark(logrus.WarnLevel, logrus.Fields{"pmid": set.PMID, "instances": len(set.Insts), "limit": operand.MaxInstances},
				"operand has too many instances, definitions that use it have no values")
		}
	}
	return made
}

// news looks after the changes that a connection's answer tells and that no other has told before: pmcd tells each of
// its clients once, with its next answer. Nor are those news that are our own.
func (u *Upstream) news(c *connection, change pdu.Change) {
	news, hidden := c.told.Unseen(change)
	u.events.Hidden = u.events.Hidden || hidden // somebody else's behind ours
	for _, other := range u.conns {
		if other != c {
			other.told.AddSeen(news)
		}
	}
	if news&(pdu.ChangeNames|pdu.ChangeAddAgent|pdu.ChangeDropAgent|pdu.ChangeRestartAgent) != 0 {
		u.events.Names = true
		wait.Signal(u.ready)
	}
}

// drop forgets what a connection had under way.
func (u *Upstream) drop(c *connection) {
	u.queue.Ended(c.asked)
	c.asked, c.busy = fetch{}, false
}

// fail gives a connection up because of an error, and all others with it. It is closed at once: nobody would read what
// pmcd still writes.
func (u *Upstream) fail(c *connection, err error) {
	if u.tooLong(c, err) {
		return
	}
	u.end(c)
	u.figures.UpstreamErrors.Add(1)
	u.lose(err)
}

// end closes a connection and takes it away.
func (u *Upstream) end(c *connection) {
	u.drop(c)
	c.dead = true
	u.conns = slices.DeleteFunc(u.conns, func(x *connection) bool { return x == c })
	for _, other := range u.conns {
		other.told.ForgetSeen()
	}
	_ = c.conn.Close() // there is nothing left to be done about it
}

// errOverdue says that pmcd has not answered a fetch for fetchTimeout.
var errOverdue = errors.New("no answer from pmcd")

// giveUpOverdue gives up connections whose answer is long overdue.
func (u *Upstream) giveUpOverdue(now time.Time) {
	for _, c := range slices.Clone(u.conns) {
		if c.busy && now.Sub(c.sent) > fetchTimeout {
			u.fail(c, errOverdue)
		}
	}
}

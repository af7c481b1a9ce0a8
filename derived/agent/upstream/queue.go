package upstream

import (
	"math"
	"slices"
	"time"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/slow"
)

const (
	// maxPartValues is how many values one upstream fetch has at most, as far as those of one metric need not be parted. No
	// more than that are on their way over all connections together: pmcd serves them one after the other before anybody else.
	maxPartValues = 10000

	// fewValues need not wait for that: they are what somebody asks for who is about to fetch.
	fewValues = 1000

	// MinGap is the age below which a sample is as good as a new one.
	MinGap = 2 * time.Millisecond
)

// batch is what one fetch is for.
type batch = operand.Batch[*Series]

// queue is the series that are wanted while every connection is busy.
type queue struct {
	few      []*Series // with few values
	many     []*Series // with more values
	apart    []*Series // with operands of slow agents
	under    int       // values on their way that were not few
	batches  operand.Batches[*Series]
	requeued bool // series wait that were on a connection
	hold     bool // nothing is asked for: the last connection is spared until there are others
}

// Want asks for a new sample of each series that has none that is new enough and none on its way. What
// cannot be sent now, because all connections are busy, goes out when one is free.
func (u *Upstream) Want(now time.Time, n operand.Need, series ...*Series) {
	u.mu.Lock()
	defer u.unlock()
	u.ask(now, n, series...)
}

// Fresh reports whether a series has a sample that is new enough.
func (u *Upstream) Fresh(now time.Time, n operand.Need, s *Series) bool {
	u.mu.Lock()
	defer u.unlock()
	return s.Fresh(now, n)
}

// Awaiting reports whether a sample of any series is still on its way.
func (u *Upstream) Awaiting(series []*Series) bool {
	u.mu.Lock()
	defer u.unlock()
	return slices.ContainsFunc(series, func(s *Series) bool { return s.waiting || s.outstanding > 0 })
}

// ask is Want for who has the lock.
func (u *Upstream) ask(now time.Time, n operand.Need, series ...*Series) {
	if len(u.conns) == 0 {
		return
	}
	q := &u.queue
	added, values, before := false, 0, len(q.many)
	for _, s := range series {
		if s == nil || s.waiting || s.outstanding > 0 || s.Constant() || s.Fresh(now, n) ||
			u.slow.Resting(now, s.agents...) || u.excused(s, now) {
			continue
		}
		if u.enqueue(s) {
			values += s.Size()
		}
		added = true
	}
	if values <= fewValues {
		q.few = append(q.few, q.many[before:]...)
		q.many = slices.Delete(q.many, before, len(q.many))
	}
	if added {
		u.send(now)
	}
}

// enqueue puts a series where those wait that are fetched with it. It reports whether that is not apart.
func (u *Upstream) enqueue(s *Series) bool {
	s.waiting = true
	if u.slow.Suspected(s.agents...) {
		u.queue.apart = append(u.queue.apart, s)
		return false
	}
	u.queue.many = append(u.queue.many, s)
	return true
}

// requeue has series asked for again that were on a connection.
func (u *Upstream) requeue(series ...*Series) {
	for _, s := range series {
		if !s.waiting && s.outstanding == 0 {
			u.enqueue(s)
		}
	}
	u.queue.requeued = true
}

// forget drops all that waits.
func (q *queue) forget() {
	for _, s := range slices.Concat(q.few, q.many, q.apart) {
		s.waiting = false
	}
	*q = queue{batches: q.batches}
}

// leave drops series that wait apart.
func (q *queue) leave(which func(*Series) bool) {
	q.apart = slices.DeleteFunc(q.apart, func(s *Series) bool {
		drop := which(s)
		s.waiting = !drop
		return drop
	})
}

// send puts what is waiting on free connections. The last one is for slow agents alone, unless there is no
// other.
func (u *Upstream) send(now time.Time) {
	q := &u.queue
	if q.hold {
		return
	}
	q.leave(func(s *Series) bool { return u.slow.Resting(now, s.agents...) }) // it has turned out to be slow meanwhile
	full := false
	for i := 0; i < len(u.conns); i++ {
		c := u.conns[i]
		if c.busy || c.leaving {
			continue
		}
		last := i == len(u.conns)-1
		switch forAll := !last || i == 0; {
		case last && len(q.apart) > 0:
			u.loadApart(c)
		case len(q.few) > 0 && forAll:
			u.put(c, u.fill(q.few), nil)
			q.few = slices.Delete(q.few, 0, len(c.asked.Sources))
		case len(q.many) > 0 && forAll && !full:
			if full = !u.loadMany(c); full {
				continue
			}
		default:
			continue
		}
		u.start(c, now)
		if c.dead {
			i-- // it is not among the connections any more
		}
	}
}

// loadMany puts series with many values onto a free connection, unless too many values are on their way.
func (u *Upstream) loadMany(c *connection) bool {
	asked := u.fill(u.queue.many)
	values := asked.Size()
	if u.queue.under > 0 && u.queue.under+values > maxPartValues {
		return false
	}
	u.put(c, asked, nil)
	u.queue.many = slices.Delete(u.queue.many, 0, len(asked.Sources))
	c.values = values
	u.queue.under += values
	return true
}

// fill returns what of the waiting series one fetch may be for.
func (u *Upstream) fill(waiting []*Series) *batch {
	return u.queue.batches.Fill(waiting, u.size.Part(u.now()), maxPartValues)
}

// loadApart puts series in quarantine onto a free connection, or what shows which of their agents are slow.
func (u *Upstream) loadApart(c *connection) {
	q := &u.queue
	taken, charged, probe := slow.Choose(u.slow.Agents, q.apart, u.size.Part(u.now()))
	asked := q.batches.Fill(taken, math.MaxInt, math.MaxInt)
	if probe {
		c.probes = taken[0].agents
		asked = &batch{List: asked.Of(charged[0].Domain)}
	}
	u.put(c, asked, charged)
	q.apart = slices.DeleteFunc(q.apart, func(s *Series) bool { return !s.waiting })
	u.slow.Begin(charged)
}

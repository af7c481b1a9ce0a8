package upstream

import (
	"slices"
	"time"

	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/pool"
	"pmdaderived/internal/agent/queue"
)

// MinGap is the age below which a sample is as good as a new one.
const MinGap = 2 * time.Millisecond

// fetch is one for operands, and what is known of it.
type fetch = queue.Fetch[*Series]

// Want asks for a new sample of each series that has none that is new enough and none on its way. What
// cannot be sent now, because all connections are busy, goes out when one is free.
func (u *Upstream) Want(now time.Time, n operand.Need, series ...*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.enqueueStale(now, n, series...)
}

// Tick is Want, and has Sampled tell when a sample of any of the series has come.
func (u *Upstream) Tick(now time.Time, n operand.Need, series ...*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range series {
		s.ticks = true
	}
	u.enqueueStale(now, n, series...)
}

// Sampled has something when a sample has come that Tick has asked for.
func (u *Upstream) Sampled() <-chan struct{} { return u.tickSampled }

// Fresh reports whether a series has a sample that is new enough.
func (u *Upstream) Fresh(now time.Time, n operand.Need, s *Series) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return s.Fresh(now, n)
}

// Awaiting reports whether a sample of any series is still on its way.
func (u *Upstream) Awaiting(series []*Series) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(series, func(s *Series) bool { return !s.Idle() })
}

// enqueueStale is Want for who has the lock.
func (u *Upstream) enqueueStale(now time.Time, n operand.Need, series ...*Series) {
	if !u.sender.Connected() {
		return
	}
	if u.queue.Add(series, func(s *Series) bool {
		return s != nil && s.Idle() && !s.Constant() && !s.Fresh(now, n) && !u.slow.Resting(now, s.agents...) && !u.pushOversize(s, now)
	}) {
		u.send(now)
	}
}

// send puts what is waiting on free connections.
func (u *Upstream) send(now time.Time) {
	if u.sender.Held() {
		return
	}
	u.queue.DropQuarantined(func(s *Series) bool { return u.slow.Resting(now, s.agents...) }) // it has turned out to be slow meanwhile
	u.sender.Send(now, u.next)
}

// nextFetch is the next one for the pool to send.
func (u *Upstream) nextFetch(now time.Time, forAll, forSlow bool) (pool.Request, bool) {
	return u.queue.Next(forAll, forSlow, u.fetchSize.sizeAt(now))
}

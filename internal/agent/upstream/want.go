package upstream

import (
	"slices"
	"time"

	"pmdaderived/internal/agent/pool"
	"pmdaderived/internal/agent/queue"
	"pmdaderived/internal/freshness"
)

// fetch is a request to the pool: a fetch for series, or a probe.
type fetch = queue.Fetch[*Series]

// Want requests a new sample of each series without one that is new enough, unless one is on its way. If all
// connections are busy, the series wait in the queue.
func (u *Upstream) Want(now time.Time, n freshness.Need, series ...*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.enqueueStale(now, n, series...)
}

// Tick is Want for functions over time: Sampled gets an element when a series has its next sample.
func (u *Upstream) Tick(now time.Time, n freshness.Need, series ...*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range series {
		s.ticks = true
	}
	u.enqueueStale(now, n, series...)
}

// Sampled gets an element when a sample has come after Tick.
func (u *Upstream) Sampled() <-chan struct{} { return u.tickSampled }

// Fresh reports whether a series has a sample that is new enough.
func (u *Upstream) Fresh(now time.Time, n freshness.Need, s *Series) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return s.IsFresh(now, n)
}

// Awaiting reports whether any series waits in the queue or has a fetch on its way.
func (u *Upstream) Awaiting(series []*Series) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(series, func(s *Series) bool { return !s.Idle() })
}

// enqueueStale is Want with the lock.
func (u *Upstream) enqueueStale(now time.Time, n freshness.Need, series ...*Series) {
	if !u.sender.Connected() {
		return
	}
	if u.queue.Add(series, func(s *Series) bool {
		return s != nil && s.Idle() && !s.Constant() && !s.IsFresh(now, n) &&
			!u.slow.Resting(now, s.budgets...) && !u.pushOversize(s, now)
	}) {
		u.send(now)
	}
}

// send sends fetches for waiting series on free connections.
func (u *Upstream) send(now time.Time) {
	if u.sender.Held() {
		return
	}
	// Agents may have become slow while their series waited.
	u.queue.DropQuarantined(func(s *Series) bool { return u.slow.Resting(now, s.budgets...) })
	u.sender.Send(now, u.next)
}

// nextFetch takes the series of the next fetch from the queue, and returns the fetch for the pool to send. The
// connection may be for all agents, for those in quarantine, or for both: see queue.Next.
func (u *Upstream) nextFetch(now time.Time, forAll, forSlow bool) (pool.Request, bool) {
	return u.queue.Next(forAll, forSlow, u.fetchSize.sizeAt(now))
}

package agent

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// A client that has looked metrics up and not fetched them aheadPause later is a pmlogger: it
	// pauses for 20 ms before its first fetch (docs/pmcd.md b.4), for which there is to be a
	// new sample. maxAhead bounds for how many metrics.
	aheadPause = 15 * time.Millisecond
	maxAhead   = 1 << 16

	// undecided is for how long there are new samples for one that takes longer, as pmchart does on a busy host.
	undecided = 10 * time.Second

	// A client that looks up again what it looked up among the last again names is content with a sample
	// that is againGap old.
	again    = 16
	againGap = 10 * time.Millisecond

	// maxPlans bounds how many contexts are foretold at once.
	maxPlans = 4096

	// warmAgain is how soon after its first sample a feed that is kept warm has another one.
	warmAgain = 100 * time.Millisecond

	// slack is how much later than planned a sample may be asked for, and moreSlack how much earlier the scheduler
	// may look: to set its timer may take a system call, to wake it for nothing some twenty times as much.
	slack     = lead / 4
	moreSlack = lead
)

// schedule follows the plans of all contexts and keeps metrics with a history warm.
type schedule struct {
	want  func(now time.Time, n need, feeds ...*feed)    // as sampler.want
	save  func(now time.Time, fewer int, feeds ...*feed) // as sampler.keep
	check func(now time.Time)                            // looks after what only time shows
	now   func() time.Time
	warm  time.Duration // how often to sample for first fetches; 0: never
	timer *time.Timer   // for next

	mu     sync.Mutex
	plans  plans     // guarded by mu, as below
	next   time.Time // when run looks again
	latest time.Time // when it looks again if no plan is due; zero: it does not run yet
	keep   []*feed   // to be kept warm
	tick   time.Time // when to sample these next
	again  time.Time // when to sample those of them that have been sampled only once for that; zero: all have been
	due    []*feed   // scratch space of run
	stood  standstill
}

func newSchedule(s *sampler, check func(now time.Time), now func() time.Time, warm time.Duration) *schedule {
	return &schedule{want: s.want, save: s.keep, check: check, now: now, warm: warm, timer: time.NewTimer(idleCheck)}
}

// interrupted notes that pmcd served nobody for some time.
func (s *schedule) interrupted(by standstill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stood = by
}

// fetched notes a fetch in a plan and moves the scheduler's timer if need be.
func (s *schedule) fetched(p *plan, now time.Time, feeds []*feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.stood = s.stood
	p.fetched(now, feeds)
	s.place(p)
}

// ahead notes in a plan of its own that a client has looked a metric up. If it did so before, ahead returns what
// the client looked up last, which nobody may change.
func (s *schedule) ahead(p *plan, now time.Time, f *feed) (before []*feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := p.feeds[max(0, len(p.feeds)-again):]; slices.Contains(last, f) {
		before = last
	}
	if n := len(p.feeds); n < maxAhead && (n == 0 || p.feeds[n-1] != f) {
		p.feeds = append(p.feeds, f)
	}
	p.last, p.at = now, now.Add(aheadPause)
	s.place(p)
	return before
}

// place puts a plan where its time belongs, and moves the time at which run looks again if that is another one now.
func (s *schedule) place(p *plan) {
	switch {
	case p.at.IsZero():
		s.remove(p)
	case p.index >= 0:
		heap.Fix(&s.plans, p.index)
	case len(s.plans) < maxPlans:
		heap.Push(&s.plans, p)
	}
	next := s.latest
	if len(s.plans) > 0 && s.plans[0].at.Before(next) {
		next = s.plans[0].at
	}
	if moved := next.Sub(s.next); moved < -slack || moved > moreSlack {
		s.next = next
		s.timer.Reset(next.Sub(s.now()))
	}
}

// end forgets a plan.
func (s *schedule) end(p *plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(p)
}

func (s *schedule) remove(p *plan) {
	if p.index >= 0 {
		heap.Remove(&s.plans, p.index)
	}
}

// keepWarm sets the feeds that are sampled at every interval, whoever asks. Those that never were are sampled now and
// again soon after: contexts that have fetched them from an agent before us, or another, find a value at once.
func (s *schedule) keepWarm(feeds []*feed) {
	if s.warm == 0 {
		return
	}
	now := s.now()
	s.mu.Lock()
	s.keep, s.again = feeds, now.Add(warmAgain)
	if s.again.Before(s.next) {
		s.next = s.again
		s.timer.Reset(warmAgain)
	}
	s.mu.Unlock()
	s.save(now, 1, feeds...)
}

// run samples when a plan is due and, every warm interval, what is to be kept warm, until ctx ends.
func (s *schedule) run(ctx context.Context) {
	defer s.timer.Stop()
	for {
		now := s.now()
		s.retain(now)
		s.check(now)
		s.follow(now)
		select {
		case <-ctx.Done():
			return
		case <-s.timer.C:
		}
	}
}

// retain samples what is to be kept warm if it is time for that.
func (s *schedule) retain(now time.Time) {
	s.mu.Lock()
	keep, fewer := s.keep, 0 // than which a feed must have kept to be sampled
	switch {
	case s.warm == 0:
	case !now.Before(s.tick):
		s.tick, fewer = now.Add(s.warm), math.MaxInt
	case !s.again.IsZero() && !now.Before(s.again):
		s.again, fewer = time.Time{}, 2
	}
	s.mu.Unlock()
	if fewer > 0 {
		s.save(now, fewer, keep...)
	}
}

// follow samples for the plans that are due and sets the time at which run looks again.
func (s *schedule) follow(now time.Time) {
	s.mu.Lock()
	due := s.due[:0]
	for len(s.plans) > 0 && !s.plans[0].at.After(now.Add(lead/2)) { // one fetch for those due together
		p := s.plans[0]
		due = append(due, p.feeds...)
		p.sampled(now)
		if p.at.IsZero() {
			heap.Pop(&s.plans)
		} else {
			heap.Fix(&s.plans, 0)
		}
	}
	s.latest = now.Add(idleCheck)
	if s.warm > 0 && s.tick.Before(s.latest) {
		s.latest = s.tick
	}
	if !s.again.IsZero() && s.again.Before(s.latest) {
		s.latest = s.again
	}
	s.next, s.due = s.latest, due
	if len(s.plans) > 0 && s.plans[0].at.Before(s.next) {
		s.next = s.plans[0].at
	}
	s.timer.Reset(s.next.Sub(now))
	s.mu.Unlock()
	s.want(now, need{gap: minGap}, due...)
	clear(due)
}

// idleCheck is how often the scheduler calls check when nothing is due.
const idleCheck = 30 * time.Second

// plans is a heap by time.
type plans []*plan

func (h plans) Len() int           { return len(h) }
func (h plans) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h plans) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *plans) Push(x any) {
	p := x.(*plan)
	p.index = len(*h)
	*h = append(*h, p)
}

// Pop implements heap.Interface.
func (h *plans) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	p.index = -1
	return p
}

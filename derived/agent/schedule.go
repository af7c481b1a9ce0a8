package agent

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// A client that has looked metrics up and not fetched them aheadPause later is a pmlogger: it
	// pauses for 20 ms before its first fetch (pmcd-behaviour.md b.4), for which there is to be a
	// new sample. maxAhead bounds for how many metrics.
	aheadPause = 15 * time.Millisecond
	maxAhead   = 1 << 16

	// A client that looks up again what it looked up among the last again names is content with a sample
	// that is againGap old.
	again    = 16
	againGap = 10 * time.Millisecond

	// maxPlans bounds how many contexts are foretold at once.
	maxPlans = 4096

	// slack is how much later than planned a sample may be asked for. Waking the scheduler costs more than
	// a small fetch.
	slack = lead / 4
)

// schedule follows the plans of all contexts and keeps metrics with a history warm.
type schedule struct {
	want  func(now time.Time, n need, feeds ...*feed) // as sampler.want
	check func(now time.Time)                         // as sampler.check
	now   func() time.Time
	warm  time.Duration // how often; 0: never
	wake  chan struct{}

	mu    sync.Mutex
	plans plans     // guarded by mu, as below
	next  time.Time // when run looks again, unless it is woken
	keep  []*feed   // to be kept warm
	due   []*feed   // scratch space of run
}

func newSchedule(s *sampler, now func() time.Time, warm time.Duration) *schedule {
	return &schedule{want: s.want, check: s.check, now: now, warm: warm, wake: make(chan struct{}, 1)}
}

// fetched notes a fetch in a plan and wakes the scheduler if that is due first now. It returns when a sample
// will be ready for the next fetch before that comes, zero if that is not known.
func (s *schedule) fetched(p *plan, now time.Time, feeds []*feed) (expected time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.fetched(now, feeds)
	s.place(p)
	if p.right < trusted || p.quick() {
		return time.Time{}
	}
	return p.expected
}

// ahead notes in a plan of its own that a client has looked a metric up, and reports whether it did so before.
func (s *schedule) ahead(p *plan, now time.Time, f *feed) (before bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = slices.Contains(p.feeds[max(0, len(p.feeds)-again):], f)
	if n := len(p.feeds); n < maxAhead && (n == 0 || p.feeds[n-1] != f) {
		p.feeds = append(p.feeds, f)
	}
	p.at = now.Add(aheadPause)
	s.place(p)
	return before
}

// place puts a plan where its time belongs and wakes the scheduler if that is due first now.
func (s *schedule) place(p *plan) {
	switch {
	case p.at.IsZero():
		s.remove(p)
	case p.index >= 0:
		heap.Fix(&s.plans, p.index)
	case len(s.plans) < maxPlans:
		heap.Push(&s.plans, p)
	}
	if p.index == 0 && p.at.Before(s.next.Add(-slack)) {
		s.next = p.at
		signal(s.wake)
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

// keepWarm sets the feeds that are sampled at every interval, whoever asks.
func (s *schedule) keepWarm(feeds []*feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = feeds
}

// run samples when a plan is due and, every warm interval, what is to be kept warm, until ctx ends.
func (s *schedule) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	nextWarm := s.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		now := s.now()
		if s.warm > 0 && !now.Before(nextWarm) {
			nextWarm = now.Add(s.warm)
			s.mu.Lock()
			keep := s.keep
			s.mu.Unlock()
			// A sample that somebody has just asked for is as good, up to a tenth of the interval.
			s.want(now, need{gap: s.warm / 10}, keep...)
		}
		s.check(now)
		timer.Reset(s.follow(now, nextWarm))
	}
}

// follow samples for the plans that are due and returns how long nothing is.
func (s *schedule) follow(now, nextWarm time.Time) time.Duration {
	s.mu.Lock()
	due, again := s.due[:0], time.Time{}
	for len(s.plans) > 0 && !s.plans[0].at.After(now.Add(lead/2)) { // one fetch for those due together
		p := s.plans[0]
		due = append(due, p.feeds...)
		if p.once {
			p.feeds = p.feeds[:0] // what is looked up next is another matter
		}
		p.sampled(now)
		if after := p.afterNext(); !after.IsZero() && (again.IsZero() || after.Before(again)) {
			again = after
		}
		if p.at.IsZero() {
			heap.Pop(&s.plans)
		} else {
			heap.Fix(&s.plans, 0)
		}
	}
	next := idleCheck
	if len(s.plans) > 0 {
		next = min(next, s.plans[0].at.Sub(now))
	}
	if !again.IsZero() { // by then there will be a plan for it, which need not wake anybody
		next = min(next, again.Sub(now))
	}
	if s.warm > 0 {
		next = min(next, nextWarm.Sub(now))
	}
	next = max(next, 0)
	s.next, s.due = now.Add(next), due
	s.mu.Unlock()
	s.want(now, need{gap: minGap}, due...)
	clear(due)
	return next
}

// idleCheck is how often the scheduler looks after the lanes when nothing is due.
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

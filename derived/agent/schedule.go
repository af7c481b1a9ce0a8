package agent

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// lead is how long before an expected fetch its sample is asked for. A shorter one misses
	// more fetches than it makes samples younger (pmcd-behaviour.md c).
	lead = 5 * time.Millisecond

	// maxLead is the longest lead for a client whose fetches come at unsteady times.
	maxLead = 25 * time.Millisecond

	// remembered is how many intervals of a context the next one is foretold from.
	remembered = 8

	// A context that did not fetch when it was expected, or that nothing can be expected of, is
	// sampled for until restless after its last fetch: four times in its last interval, but
	// not closer than leastPace nor further apart than mostPace.
	leastPace = 100 * time.Millisecond
	mostPace  = time.Second
	restless  = time.Minute

	// A client that has looked metrics up and not fetched them aheadPause later is a pmlogger: it
	// pauses for 20 ms before its first fetch (pmcd-behaviour.md b.4), for which there is to be a
	// new sample. maxAhead bounds for how many metrics.
	aheadPause = 15 * time.Millisecond
	maxAhead   = 1 << 16

	// maxPlans bounds how many contexts are foretold at once.
	maxPlans = 4096
)

// ladder is when a context may fetch for the second time: the usual intervals. After the last one
// it goes on at that pace until ladderEnd.
//
//nolint:gochecknoglobals // a table
var ladder = [...]time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
}

const ladderEnd = time.Hour

// plan is when one client will fetch its metrics again. It is made by the request loop at each
// fetch and followed by the scheduler.
type plan struct {
	feeds     []*feed
	last      time.Time                 // of the last fetch
	intervals []time.Duration           // the last ones, oldest first
	expected  time.Time                 // of the next fetch; zero: not foretold
	early     [remembered]time.Duration // how much too early the last fetches came
	fetches   int
	rung      int       // of the ladder, while there is no interval
	at        time.Time // when to sample next; zero: not at all
	index     int       // in the heap, -1: not in it
	once      bool      // only one sample: for a client that has not fetched yet
}

// typical is the median of the intervals, 0 when there is none yet.
func (p *plan) typical() time.Duration {
	if len(p.intervals) == 0 {
		return 0
	}
	var sorted [remembered]time.Duration
	n := copy(sorted[:], p.intervals)
	slices.Sort(sorted[:n])
	return sorted[n/2]
}

// steady reports whether the next interval can be foretold: most are about the typical one.
func (p *plan) steady() bool {
	t := p.typical()
	n := 0
	for _, i := range p.intervals {
		if (i - t).Abs() <= t/8+lead {
			n++
		}
	}
	return 2*n > len(p.intervals)
}

// kind is what the fetch that is there now is to the context.
func (p *plan) kind() fetchKind {
	switch {
	case p.fetches == 0:
		return firstFetch
	case p.fetches == 1:
		return secondFetch
	case p.expected.IsZero():
		return irregularFetch
	}
	return regularFetch
}

// pace is how often to sample for a context that cannot be foretold.
func (p *plan) pace() time.Duration {
	return min(max(p.intervals[len(p.intervals)-1]/4, leastPace), mostPace)
}

// fetched notes a fetch and sets the time of the next sample.
func (p *plan) fetched(now time.Time, feeds []*feed) {
	p.feeds = feeds
	if !p.last.IsZero() {
		if len(p.intervals) == remembered {
			p.intervals = append(p.intervals[:0], p.intervals[1:]...)
		}
		p.intervals = append(p.intervals, now.Sub(p.last))
	}
	p.noteEarly(now)
	p.last, p.rung, p.expected = now, 0, time.Time{}
	switch {
	case len(p.intervals) == 0:
		p.climb()
	case p.steady():
		p.expected = now.Add(p.typical())
		p.at = p.expected.Add(-p.lead())
	default:
		p.at = now.Add(p.pace())
	}
}

// noteEarly remembers how much too early a fetch came, unless its context has another interval now.
func (p *plan) noteEarly(now time.Time) {
	early := max(0, p.expected.Sub(now)) // 0 if nothing was expected
	if early > p.typical()/8+lead {
		early = 0
	}
	p.early[p.fetches%remembered] = early
	p.fetches++
}

// lead is how long before the expected fetch the sample is asked for: longer than usual for a client
// that came too early lately, since a late fetch of one that keeps to a grid is followed by an early one.
func (p *plan) lead() time.Duration {
	return lead + min(slices.Max(p.early[:]), maxLead-lead, p.typical()/4)
}

// climb sets the time of the next guess for a context that has fetched once.
func (p *plan) climb() {
	after := ladder[len(ladder)-1] * time.Duration(p.rung-len(ladder)+2)
	if p.rung < len(ladder) {
		after = ladder[p.rung]
	}
	p.rung++
	p.at = time.Time{}
	if after <= ladderEnd {
		p.at = p.last.Add(after - lead)
	}
}

// sampled is called when the sample of the time has been asked for.
func (p *plan) sampled(now time.Time) {
	switch {
	case p.once:
		p.at = time.Time{}
		return
	case len(p.intervals) == 0:
		p.climb()
		return
	case p.steady():
		p.at = now.Add(mostPace)
	default:
		p.at = now.Add(p.pace())
	}
	if p.at.After(p.last.Add(restless)) {
		p.at = time.Time{} // until the fetch comes
	}
}

// schedule follows the plans of all contexts and keeps metrics with a history warm.
type schedule struct {
	want  func(now time.Time, gap time.Duration, feeds ...*feed) // as sampler.want
	check func(now time.Time)                                    // as sampler.check
	now   func() time.Time
	warm  time.Duration // how often; 0: never
	wake  chan struct{}

	mu    sync.Mutex
	plans plans   // guarded by mu, as below
	keep  []*feed // to be kept warm
}

func newSchedule(s *sampler, now func() time.Time, warm time.Duration) *schedule {
	return &schedule{want: s.want, check: s.check, now: now, warm: warm, wake: make(chan struct{}, 1)}
}

// fetched notes a fetch in a plan and wakes the scheduler if that is due first now.
func (s *schedule) fetched(p *plan, now time.Time, feeds []*feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.fetched(now, feeds)
	s.place(p)
}

// ahead notes in a plan of its own that a client has looked a metric up.
func (s *schedule) ahead(p *plan, now time.Time, f *feed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(p.feeds) < maxAhead {
		p.feeds = append(p.feeds, f)
	}
	p.at = now.Add(aheadPause)
	s.place(p)
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
	if p.index == 0 {
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
			s.want(now, s.warm/10, keep...)
		}
		s.check(now)
		timer.Reset(s.follow(now, nextWarm))
	}
}

// follow samples for the plans that are due and returns how long nothing is.
func (s *schedule) follow(now, nextWarm time.Time) time.Duration {
	var due []*feed
	s.mu.Lock()
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
	next := idleCheck
	if len(s.plans) > 0 {
		next = min(next, s.plans[0].at.Sub(now))
	}
	s.mu.Unlock()
	if s.warm > 0 {
		next = min(next, nextWarm.Sub(now))
	}
	s.want(now, minGap, due...)
	return max(next, 0)
}

// idleCheck is how often the scheduler looks after the lanes when nothing is due.
const idleCheck = 10 * time.Second

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

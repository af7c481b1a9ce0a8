package agent

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// want is what a schedule has asked for.
type want struct {
	at    time.Duration // since the start
	gap   time.Duration
	feeds []*feed
}

// kept is when samples were to be kept of feeds that have fewer of them.
type kept struct {
	at    time.Duration // since the start
	fewer int
}

// scheduling is a schedule whose wishes are noted. It lives in a synctest bubble.
type scheduling struct {
	*schedule
	start time.Time

	looks atomic.Int64 // after the lanes

	mu    sync.Mutex
	wants []want // guarded by mu, as saved
	saved []kept
}

// inBubble runs a test with a schedule that runs, on a clock that jumps.
func inBubble(t *testing.T, warm time.Duration, test func(t *testing.T, s *scheduling)) {
	synctest.Test(t, func(t *testing.T) {
		s := &scheduling{start: time.Now(), schedule: &schedule{now: time.Now, warm: warm, timer: time.NewTimer(idleCheck)}}
		s.check = func(time.Time) { s.looks.Add(1) }
		s.want = func(now time.Time, n need, feeds ...*feed) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(feeds) > 0 {
				s.wants = append(s.wants, want{now.Sub(s.start), n.gap, slices.Clone(feeds)})
			}
		}
		s.save = func(now time.Time, fewer int, feeds ...*feed) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(feeds) > 0 {
				s.saved = append(s.saved, kept{now.Sub(s.start), fewer})
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		go s.run(ctx)
		test(t, s)
		cancel()
		synctest.Wait()
	})
}

// fetch notes a fetch of a context now.
func (s *scheduling) fetch(p *plan, feeds ...*feed) {
	s.fetched(p, time.Now(), feeds)
	synctest.Wait()
}

// pass lets time go by.
func (s *scheduling) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wanted returns what was wanted since the last call.
func (s *scheduling) wanted() []want {
	s.mu.Lock()
	defer s.mu.Unlock()
	wants := s.wants
	s.wants = nil
	return wants
}

// kept returns when samples were to be kept since the last call.
func (s *scheduling) kept() []kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	saved := s.saved
	s.saved = nil
	return saved
}

// taken returns when something was wanted since the last call.
func (s *scheduling) taken() (at []time.Duration) {
	for _, w := range s.wanted() {
		at = append(at, w.at)
	}
	return at
}

// planned is the number of plans that are followed.
func (s *scheduling) planned() int {
	s.schedule.mu.Lock()
	defer s.schedule.mu.Unlock()
	return len(s.plans)
}

// A sample is asked for shortly before the fetch that will need it.
func TestPrediction(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		p, f := newPlan(), feedOf(loadID)
		for range 2 + trusted {
			s.fetch(p, f)
			s.pass(time.Second)
		}
		s.taken()
		for i := range 5 {
			s.fetch(p, f)
			s.pass(time.Second)
			at := time.Duration(3+trusted+i)*time.Second - lead
			assert.Equal(t, []time.Duration{at}, s.taken())
		}
		s.pass(30 * time.Second)
		s.taken()
		assert.Equal(t, 1, s.planned())
		s.pass(time.Hour)
		assert.LessOrEqual(t, len(s.taken()), int(restless/mostPace))
		assert.Zero(t, s.planned(), "a context that does not come back is not sampled for")
	})
}

// Fetches that come when they are expected wake the scheduler only to sample for them; those of a client
// that hardly pauses never do.
func TestFetchesDoNotWakeTheScheduler(t *testing.T) {
	for _, row := range []struct {
		name     string
		interval time.Duration
		samples  int // in a hundred fetches
	}{
		{"twice a second", time.Second / 2, 100},
		{"every 20 ms", 20 * time.Millisecond, 100},
		{"at once", 40 * time.Microsecond, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, 0, func(t *testing.T, s *scheduling) {
				p, f := newPlan(), feedOf(loadID)
				for range 3 * remembered {
					s.fetch(p, f)
					s.pass(row.interval)
				}
				s.taken()
				looks := s.looks.Load()
				for range 100 {
					s.fetch(p, f)
					s.pass(row.interval)
				}
				assert.Len(t, s.taken(), row.samples)
				assert.LessOrEqual(t, int(s.looks.Load()-looks), row.samples+1)
			})
		})
	}
}

// Before there is an interval the usual ones are tried.
func TestLadder(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		s.fetch(newPlan(), feedOf(loadID))
		s.pass(3 * time.Hour)
		got := s.taken()
		last := time.Duration(0)
		for _, at := range got {
			if last < restless-mostPace {
				assert.LessOrEqual(t, at-last, mostPace, "after %v", last)
			}
			last = at
		}
		want := slices.Clone(ladder[:])
		for d := 2 * time.Minute; d <= ladderEnd; d += time.Minute {
			want = append(want, d)
		}
		for _, d := range want {
			assert.Contains(t, got, d-firstLead)
			assert.Contains(t, got, d-lead)
		}
		assert.Len(t, slices.DeleteFunc(got, func(at time.Duration) bool { return at < restless }), 2*59)
		assert.Zero(t, s.planned())
	})
}

// pmval fetches again at once when it has got no value: that says nothing of when it fetches next.
func TestFetchAgainAtOnce(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		p, f := newPlan(), feedOf(loadID)
		s.fetch(p, f)
		s.pass(time.Millisecond)
		s.fetch(p, f)
		for range 5 {
			s.taken()
			s.pass(time.Second / 2)
			at := s.taken()
			require.NotEmpty(t, at)
			assert.LessOrEqual(t, time.Since(s.start)-at[len(at)-1], lead+moreSlack, "a new sample")
			s.fetch(p, f)
		}
	})
}

// Contexts that cannot be foretold find a sample that is young for them, as long as they are active.
func TestIrregularContext(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		p, f := newPlan(), feedOf(loadID)
		for _, d := range []time.Duration{700 * ms, 3 * time.Second, 1200 * ms, 9 * time.Second, 400 * ms} {
			s.fetch(p, f)
			s.pass(d)
		}
		s.taken()
		s.fetch(p, f)
		start := time.Since(s.start)
		s.pass(2 * time.Minute)
		got := s.taken()
		assert.Equal(t, start+100*ms, got[0], "a fourth of 400 ms")
		for i := range got[1:] {
			since := max(400*ms, got[i]-start)
			assert.Equal(t, min(since/4, mostPace), got[i+1]-got[i], "a fourth of %v", since)
		}
		assert.LessOrEqual(t, got[len(got)-1], start+restless)
		assert.Greater(t, got[len(got)-1], start+restless-time.Second)
	})
}

// A client that looks metrics up and does not fetch them at once is sampled for 15 ms after the last look-up, all
// metrics together, and for some seconds from then on.
func TestPauseBeforeTheFirstFetch(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		a, b := &feed{}, &feed{}
		p := &plan{index: -1, once: true}
		s.ahead(p, time.Now(), a)
		s.pass(5 * time.Millisecond)
		s.ahead(p, time.Now(), b)
		s.pass(time.Minute)
		wants := s.wanted()
		if assert.NotEmpty(t, wants) {
			assert.InDelta(t, 20*time.Millisecond, wants[0].at, float64(lead/2))
		}
		for i, w := range wants { // a fetch that comes late finds a sample, too
			assert.Equal(t, []*feed{a, b}, w.feeds)
			assert.Equal(t, wants[0].at+time.Duration(i)*mostPace, w.at)
		}
		assert.InDelta(t, undecided, wants[len(wants)-1].at, float64(mostPace))

		fetching := &plan{index: -1, once: true}
		s.ahead(fetching, time.Now(), a)
		s.pass(5 * time.Millisecond)
		s.end(fetching) // it has fetched
		s.pass(time.Minute)
		assert.Empty(t, s.wanted())
	})
}

// Contexts that are due together share what is asked for.
func TestCoincidingPlans(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		a, b, c := newPlan(), newPlan(), newPlan()
		fa, fb, fc := feedOf(loadID), feedOf(countID), feedOf(nameID)
		for range 4 {
			s.fetch(a, fa)
			s.pass(lead / 4)
			s.fetch(b, fb)
			s.pass(lead)
			s.fetch(c, fc)
			s.pass(time.Second - lead - lead/4)
		}
		s.fetch(a, fa)
		s.pass(lead / 4)
		s.fetch(b, fb)
		s.pass(lead)
		s.fetch(c, fc)
		s.wanted()
		s.pass(time.Second - lead)
		got := s.wanted()
		if assert.Len(t, got, 2) {
			assert.Equal(t, []*feed{fa, fb}, got[0].feeds)
			assert.Equal(t, []*feed{fc}, got[1].feeds)
			assert.Equal(t, minGap, got[0].gap)
		}
	})
}

func TestEndedPlanIsForgotten(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		a, b := newPlan(), newPlan()
		f := feedOf(loadID)
		for range 3 {
			s.fetch(a, f)
			s.fetch(b, f)
			s.pass(time.Second)
		}
		s.end(a)
		s.end(a) // once more does no harm
		s.end(b)
		s.taken()
		s.pass(time.Hour)
		assert.Empty(t, s.taken())
		assert.Equal(t, -1, a.index)
	})
}

func TestPlansAreBounded(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		for range maxPlans + 10 {
			s.fetched(newPlan(), time.Now(), nil)
		}
		assert.Equal(t, maxPlans, s.planned())
	})
}

func TestKeepWarm(t *testing.T) {
	inBubble(t, 10*time.Second, func(t *testing.T, s *scheduling) {
		s.pass(time.Second)
		f := feedOf(loadID)
		s.keepWarm([]*feed{f})
		p := newPlan()
		s.ahead(p, time.Now(), f) // so it looks when it is not time for that, too
		s.pass(35 * time.Second)
		assert.Equal(t, []kept{
			{time.Second, 1},
			{time.Second + warmAgain, 2},
			{10 * time.Second, math.MaxInt},
			{20 * time.Second, math.MaxInt},
			{30 * time.Second, math.MaxInt},
		}, s.kept())
		s.end(p)
		s.taken()
		s.keepWarm([]*feed{f})
		s.pass(warmAgain)
		assert.Equal(t, []kept{{36 * time.Second, 1}, {36*time.Second + warmAgain, 2}}, s.kept(), "of those that were never sampled")
		s.keepWarm(nil)
		s.pass(time.Minute)
		assert.Empty(t, s.taken())
	})
}

// Idle means idle.
func TestNothingIsSampledForNobody(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		s.keepWarm([]*feed{feedOf(loadID)})
		s.pass(24 * time.Hour)
		assert.Empty(t, s.taken())
		assert.Empty(t, s.kept())
	})
}

// The lanes are looked after even when nobody fetches.
func TestOverdueLanesAreFoundWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks int
		s := &schedule{
			now: time.Now, timer: time.NewTimer(idleCheck), check: func(time.Time) { checks++ },
			want: func(time.Time, need, ...*feed) {}, save: func(time.Time, int, ...*feed) {},
		}
		ctx, cancel := context.WithCancel(t.Context())
		go s.run(ctx)
		time.Sleep(10*idleCheck + 1)
		synctest.Wait()
		assert.Equal(t, 11, checks)
		cancel()
	})
}

// What was looked up before, and was not fetched, is nobody's business any more.
func TestLookAheadForgets(t *testing.T) {
	inBubble(t, 0, func(t *testing.T, s *scheduling) {
		a, b := &feed{}, &feed{}
		p := &plan{index: -1, once: true}
		for range 3 {
			s.ahead(p, time.Now(), a)
		}
		s.pass(time.Minute)
		s.ahead(p, time.Now(), b)
		s.pass(time.Minute)
		wants := s.wanted()
		for _, w := range wants {
			if w.at < time.Minute {
				assert.Equal(t, []*feed{a}, w.feeds)
			} else {
				assert.Equal(t, []*feed{b}, w.feeds)
			}
		}
		assert.Less(t, wants[0].at, time.Minute)
		assert.Greater(t, wants[len(wants)-1].at, time.Minute)
	})
}

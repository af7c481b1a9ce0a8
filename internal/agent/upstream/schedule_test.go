package upstream

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
)

// asked is what a schedule has asked for at one time.
type asked struct {
	at     time.Duration // since the start
	series []*Series
}

// scheduling is an Upstream whose connection is always busy, so that what the schedule asks for waits where the test
// finds it, and whose timer is the test.
type scheduling struct {
	*Upstream
	start, clock time.Time
	wants        []asked
	looks        int // of the schedule
}

// busy is connections none of which is ever free.
type busy struct{ sender }

func (busy) Connected() bool        { return true }
func (busy) Held() bool             { return true }
func (busy) CloseOverdue(time.Time) {}

func newScheduling(interval time.Duration) *scheduling {
	s := &scheduling{start: time.Unix(1_000_000, 0)}
	s.clock = s.start
	s.Upstream, _ = bare(func() time.Time { return s.clock }, func(o *Options) { o.Interval = interval })
	s.sender = busy{}
	s.RunDue(s.clock)
	return s
}

// fetch notes a fetch of a context now.
func (s *scheduling) fetch(h *predict.Predictor, p *Planned, series ...*Series) {
	s.Plan(p, h.RecordFetch(s.clock, predict.TimeRange{}), series)
}

// pass lets time go by.
func (s *scheduling) pass(d time.Duration) {
	s.come()
	end := s.clock.Add(d)
	for next := s.schedule.nextRun; !next.After(end); next = s.schedule.nextRun {
		if next.After(s.clock) {
			s.clock = next
		}
		s.RunDue(s.clock)
		s.looks++
		s.come()
	}
	s.clock = end
}

// come makes what was asked for a sample.
func (s *scheduling) come() {
	waiting := s.queue.Waiting()
	if len(waiting) == 0 {
		return
	}
	s.wants = append(s.wants, asked{s.clock.Sub(s.start), waiting})
	s.queue.Clear()
	for _, one := range waiting {
		one.StoreLatest(operand.Empty(s.clock, nil))
	}
}

// times returns when something was asked for since the last call.
func (s *scheduling) times() (at []time.Duration) {
	for _, w := range s.wants {
		at = append(at, w.at)
	}
	s.wants = nil
	return at
}

// Fetches that come when they are expected wake the schedule only to sample for them; those of a client
// that hardly pauses never do.
func TestFetchesDoNotWakeTheSchedule(t *testing.T) {
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
			s := newScheduling(0)
			var h predict.Predictor
			var p Planned
			f := seriesOf(loadID)
			for range 24 {
				s.fetch(&h, &p, f)
				s.pass(row.interval)
			}
			s.times()
			s.looks = 0
			for range 100 {
				s.fetch(&h, &p, f)
				s.pass(row.interval)
			}
			assert.Len(t, s.times(), row.samples)
			assert.LessOrEqual(t, s.looks, row.samples+1)
		})
	}
}

// Contexts that are due together share what is asked for.
func TestCoincidingPlans(t *testing.T) {
	s := newScheduling(0)
	const lead = freshness.Lead
	var a, b, c predict.Predictor
	var pa, pb, pc Planned
	fa, fb, fc := seriesOf(loadID), seriesOf(countID), seriesOf(binID)
	for range 5 {
		s.fetch(&a, &pa, fa)
		s.pass(lead / 4)
		s.fetch(&b, &pb, fb)
		s.pass(lead)
		s.fetch(&c, &pc, fc)
		s.wants = nil
		s.pass(time.Second - lead - lead/4)
	}
	s.pass(lead + lead/4)
	if assert.Len(t, s.wants, 2) {
		assert.Equal(t, []*Series{fa, fb}, s.wants[0].series)
		assert.Equal(t, []*Series{fc}, s.wants[1].series)
	}
	s.Unplan(&pa)
	s.Unplan(&pb)
	s.Unplan(&pc)
	s.times()
	s.pass(time.Minute)
	assert.Empty(t, s.times(), "nobody fetches any more")
}

// Series with a history are sampled twice in an interval, whoever asks.
func TestKeepWarm(t *testing.T) {
	s := newScheduling(20 * time.Second)
	s.pass(time.Second)
	deep, flat := seriesOf(loadID), seriesOf(countID)
	s.SetSeries([]*Series{deep, flat}, []int{1, 0})
	var p Planned
	s.Plan(&p, predict.AfterLookup(s.clock), []*Series{flat}) // so it looks when it is not time for that, too
	s.pass(20 * time.Millisecond)
	s.Unplan(&p)
	s.wants = nil
	assert.Len(t, deep.Retained, 1, "at once")
	s.pass(35*time.Second - 20*time.Millisecond)
	assert.Equal(t, []time.Duration{time.Second + freshness.SecondSample, 10 * time.Second, 20 * time.Second, 30 * time.Second}, s.times())
	assert.Len(t, deep.Retained, freshness.PerInterval+2)
	assert.Empty(t, flat.Retained)

	fresh := seriesOf(binID)
	s.SetSeries([]*Series{deep, fresh}, []int{1, 1})
	s.pass(freshness.SecondSample)
	for _, w := range s.wants {
		assert.Equal(t, []*Series{fresh}, w.series, "what was never sampled for that")
	}
	assert.Equal(t, []time.Duration{36 * time.Second, 36*time.Second + freshness.SecondSample}, s.times())
	s.SetSeries([]*Series{deep}, []int{0})
	s.pass(time.Minute)
	assert.Empty(t, s.times())
	assert.Empty(t, deep.Retained)
}

// Idle means idle, but connections are looked after even when nobody fetches.
func TestNothingIsSampledForNobody(t *testing.T) {
	s := newScheduling(0)
	s.SetSeries([]*Series{seriesOf(loadID)}, []int{1})
	s.looks = 0
	s.pass(10*idleCheck + 1)
	assert.Equal(t, 10, s.looks)
	assert.Empty(t, s.times())
}

// Between the times at which a schedule looks it waits, even if it has to look sooner than it knew when it began to.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, _ := bare(time.Now, func(o *Options) { o.Interval = time.Hour })
		u.sender = busy{}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { u.runSchedule(ctx) })
		waiting := func() []*Series {
			synctest.Wait()
			u.mu.Lock()
			defer u.mu.Unlock()
			return u.queue.Waiting()
		}
		assert.Empty(t, waiting())
		deep, planned := seriesOf(countID), seriesOf(loadID)
		u.SetSeries([]*Series{deep, planned}, []int{1, 0})
		forget := func() {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.queue.Clear()
			deep.StoreLatest(operand.Empty(u.now(), nil))
		}
		forget()
		time.Sleep(freshness.SecondSample - time.Nanosecond)
		assert.Empty(t, waiting())
		time.Sleep(time.Nanosecond)
		assert.Equal(t, []*Series{deep}, waiting(), "the second sample")

		forget()
		u.Plan(&Planned{}, predict.AfterLookup(u.now()), []*Series{planned})
		time.Sleep(time.Second)
		assert.Equal(t, []*Series{planned}, waiting(), "what is planned")
		cancel()
		running.Wait()
	})
}

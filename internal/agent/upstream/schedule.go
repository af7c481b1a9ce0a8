package upstream

import (
	"context"
	"math"
	"time"

	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/freshness"
)

const (
	// moreSlack is how much earlier than necessary the schedule may run, and predict.TimerSlack how much later: setting
	// the timer may wake a thread, and so does a run that finds nothing due.
	moreSlack = freshness.Lead

	// idleCheck is the longest time between two checks for time-outs and old samples.
	idleCheck = 30 * time.Second
)

// Planned is the plan to sample series for one client or context. The zero value plans nothing.
type Planned = predict.Timer[[]*Series]

// schedule says when to sample: for all plans, and to keep series with a history warm.
type schedule struct {
	planned      predict.Timers[[]*Series]
	nextRun      time.Time // when RunDue runs next
	latestRun    time.Time // when it runs next if no plan is due; zero: it does not run yet
	warmInterval time.Duration
	warmSeries   []*Series // sampled twice in each interval, so that first fetches find older samples
	nextWarm     time.Time // when warmSeries are sampled next; zero: never
	secondWarm   time.Time // when those with one retained sample get the second; zero: all have it
	due          []*Series // scratch space of RunDue
}

// Plan replaces a plan: series, which must not change any more, are sampled as the schedule says.
func (u *Upstream) Plan(p *Planned, plan predict.Schedule, series []*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := &u.schedule
	s.planned.Set(p, plan, series)
	next := earliest(s.latestRun, s.planned.Next())
	if moved := next.Sub(s.nextRun); moved < -predict.TimerSlack || moved > moreSlack {
		s.nextRun = next
		u.timer.Reset(next.Sub(u.now()))
	}
}

// Unplan removes a plan.
func (u *Upstream) Unplan(p *Planned) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.schedule.planned.Remove(p)
}

// keepWarm sets the series that are kept warm, and samples those that were not.
func (u *Upstream) keepWarm(series []*Series) {
	s := &u.schedule
	if s.warmInterval == 0 {
		return
	}
	now := u.now()
	s.warmSeries, s.secondWarm = series, now.Add(freshness.SecondSample)
	if s.secondWarm.Before(s.nextRun) {
		s.nextRun = s.secondWarm
		u.timer.Reset(freshness.SecondSample)
	}
	u.retainSamples(now, 1)
}

// retainSamples retains a sample of each warm series that has fewer retained ones than a number: the latest one if it
// is new enough, otherwise the next one, which it requests. If an agent rests, that is the next one that anybody
// requests.
func (u *Upstream) retainSamples(now time.Time, fewer int) {
	wanted := make([]*Series, 0, len(u.schedule.warmSeries))
	n := freshness.Need{Gap: freshness.MinAge}
	for _, s := range u.schedule.warmSeries {
		switch {
		case len(s.Retained) >= fewer:
		case s.IsFresh(now, n):
			s.RetainLatest()
		default:
			s.RetainNext = true
			wanted = append(wanted, s)
		}
	}
	u.enqueueStale(now, n, wanted...)
}

// runSchedule calls RunDue whenever the timer fires, until ctx ends.
func (u *Upstream) runSchedule(ctx context.Context) {
	defer u.timer.Stop()
	for {
		u.RunDue(u.now())
		select {
		case <-ctx.Done():
			return
		case <-u.timer.C:
		}
	}
}

// RunDue requests the samples that are due, checks for time-outs and old samples, and sets the timer.
func (u *Upstream) RunDue(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := &u.schedule
	switch {
	case s.warmInterval == 0:
	case !now.Before(s.nextWarm):
		s.nextWarm = now.Add(s.warmInterval)
		u.retainSamples(now, math.MaxInt)
	case !s.secondWarm.IsZero() && !now.Before(s.secondWarm):
		s.secondWarm = time.Time{}
		u.retainSamples(now, 2)
	}
	u.forgetSamples(now)
	u.sender.CloseOverdue(now)
	due := s.due[:0]
	for at := s.planned.Next(); !at.IsZero() && !at.After(now.Add(freshness.Lead/2)); at = s.planned.Next() {
		due = append(due, s.planned.Advance(now)...) // series that are due together are fetched together
	}
	s.latestRun = earliest(now.Add(idleCheck), s.nextWarm, s.secondWarm)
	s.nextRun = earliest(s.latestRun, s.planned.Next())
	u.timer.Reset(s.nextRun.Sub(now))
	u.enqueueStale(now, freshness.Need{Gap: freshness.MinAge}, due...)
	clear(due)
	s.due = due
}

// earliest returns the first of some times. Zero ones do not count, but for the first argument.
func earliest(first time.Time, others ...time.Time) time.Time {
	for _, at := range others {
		if !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

package upstream

import (
	"context"
	"math"
	"time"

	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/predict"
)

const (
	// secondSample is how soon after its first sample a series that is kept warm has another one.
	secondSample = 100 * time.Millisecond

	// moreSlack is how much earlier than a sample is due the schedule may look, and predict.TimerSlack how much later: to set
	// its timer may wake a thread, to wake the schedule for nothing does.
	moreSlack = predict.Lead

	// idleCheck is how often is looked for what only time shows when nothing is due.
	idleCheck = 30 * time.Second
)

// Planned is what somebody is expected to fetch, and when to sample it. The zero value plans nothing.
type Planned = predict.Timer[[]*Series]

// schedule is when to sample: for all that is planned, and to keep series with a history warm.
type schedule struct {
	planned      predict.Timers[[]*Series]
	nextRun      time.Time // when follow looks again
	latestRun    time.Time // when it looks again if nothing that is planned is due; zero: it does not run yet
	warmInterval time.Duration
	warmSeries   []*Series // to be kept warm
	nextWarm     time.Time // when to sample these next; zero: never
	secondWarm   time.Time // when to sample those of them that have been sampled only once for that; zero: all have been
	due          []*Series // scratch space of follow
}

// Plan says when to sample some series, which nobody may change, in place of what was planned before.
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

// Unplan forgets what was planned.
func (u *Upstream) Unplan(p *Planned) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.schedule.planned.Remove(p)
}

// keepWarm sets the series that are sampled twice in every interval, whoever asks.
func (u *Upstream) keepWarm(series []*Series) {
	s := &u.schedule
	if s.warmInterval == 0 {
		return
	}
	now := u.now()
	s.warmSeries, s.secondWarm = series, now.Add(secondSample)
	if s.secondWarm.Before(s.nextRun) {
		s.nextRun = s.secondWarm
		u.timer.Reset(secondSample)
	}
	u.retainSamples(now, 1)
}

// retainSamples asks for a new sample, to be kept, of each series to be kept warm that has fewer than some kept ones. That of an
// agent that backs off is the next one, whoever asks for it.
func (u *Upstream) retainSamples(now time.Time, fewer int) {
	wanted := make([]*Series, 0, len(u.schedule.warmSeries))
	n := operand.Need{Gap: MinGap}
	for _, s := range u.schedule.warmSeries {
		switch {
		case len(s.Kept) >= fewer:
		case s.Fresh(now, n):
			s.Retain()
		default:
			s.Keep = true
			wanted = append(wanted, s)
		}
	}
	u.enqueueStale(now, n, wanted...)
}

// runSchedule samples when something is planned and what is to be kept warm, and looks after what only time shows, until ctx
// ends.
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

// RunDue, which Run calls, does what is due and sets the time at which follow looks again.
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
	for at := s.planned.Next(); !at.IsZero() && !at.After(now.Add(predict.Lead/2)); at = s.planned.Next() {
		due = append(due, s.planned.Advance(now)...) // one fetch for those due together
	}
	s.latestRun = earliest(now.Add(idleCheck), s.nextWarm, s.secondWarm)
	s.nextRun = earliest(s.latestRun, s.planned.Next())
	u.timer.Reset(s.nextRun.Sub(now))
	u.enqueueStale(now, operand.Need{Gap: MinGap}, due...)
	clear(due)
	s.due = due
}

// earliest is the first of some times, of which those that are zero do not count.
func earliest(first time.Time, others ...time.Time) time.Time {
	for _, at := range others {
		if !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

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
	planned predict.Timers[[]*Series]
	next    time.Time // when follow looks again
	latest  time.Time // when it looks again if nothing that is planned is due; zero: it does not run yet
	warm    time.Duration
	keep    []*Series // to be kept warm
	tick    time.Time // when to sample these next; zero: never
	second  time.Time // when to sample those of them that have been sampled only once for that; zero: all have been
	due     []*Series // scratch space of follow
}

// Plan says when to sample some series, which nobody may change, in place of what was planned before.
func (u *Upstream) Plan(p *Planned, plan predict.Schedule, series []*Series) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := &u.schedule
	s.planned.Set(p, plan, series)
	next := earliest(s.latest, s.planned.Next())
	if moved := next.Sub(s.next); moved < -predict.TimerSlack || moved > moreSlack {
		s.next = next
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
	if s.warm == 0 {
		return
	}
	now := u.now()
	s.keep, s.second = series, now.Add(secondSample)
	if s.second.Before(s.next) {
		s.next = s.second
		u.timer.Reset(secondSample)
	}
	u.retain(now, 1)
}

// retain asks for a new sample, to be kept, of each series to be kept warm that has fewer than some kept ones. That of an
// agent that backs off is the next one, whoever asks for it.
func (u *Upstream) retain(now time.Time, fewer int) {
	wanted := make([]*Series, 0, len(u.schedule.keep))
	n := operand.Need{Gap: MinGap}
	for _, s := range u.schedule.keep {
		switch {
		case len(s.Kept) >= fewer:
		case s.Fresh(now, n):
			s.Retain()
		default:
			s.Keep = true
			wanted = append(wanted, s)
		}
	}
	u.ask(now, n, wanted...)
}

// follow samples when something is planned and what is to be kept warm, and looks after what only time shows, until ctx
// ends.
func (u *Upstream) follow(ctx context.Context) {
	defer u.timer.Stop()
	for {
		u.Look(u.now())
		select {
		case <-ctx.Done():
			return
		case <-u.timer.C:
		}
	}
}

// Look, which Run calls, does what is due and sets the time at which follow looks again.
func (u *Upstream) Look(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := &u.schedule
	switch {
	case s.warm == 0:
	case !now.Before(s.tick):
		s.tick = now.Add(s.warm)
		u.retain(now, math.MaxInt)
	case !s.second.IsZero() && !now.Before(s.second):
		s.second = time.Time{}
		u.retain(now, 2)
	}
	u.forgetSamples(now)
	u.sender.CloseOverdue(now)
	due := s.due[:0]
	for at := s.planned.Next(); !at.IsZero() && !at.After(now.Add(predict.Lead/2)); at = s.planned.Next() {
		due = append(due, s.planned.Advance(now)...) // one fetch for those due together
	}
	s.latest = earliest(now.Add(idleCheck), s.tick, s.second)
	s.next = earliest(s.latest, s.planned.Next())
	u.timer.Reset(s.next.Sub(now))
	u.ask(now, operand.Need{Gap: MinGap}, due...)
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

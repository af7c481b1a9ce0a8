package slow

import (
	"math"
	"time"

	"pmdaderived/internal/agent/predict"
)

// Busy remembers when pmcd was busy with something long. pmcd does one thing at a time: while it works on a fetch of
// operands no request of its clients comes to us, so what it takes for the fetch lies between two of them. Many clients that
// look up many names keep it from a fetch for as long as a slow agent does.
type Busy struct {
	PMCD     predict.TimeRange // with a request of ours, the last time
	Total    time.Duration     // all those times together
	asked    time.Time         // when pmcd last asked us
	quiet    predict.TimeRange // the last one in which it did not ask for long, but for the present one
	stamped  time.Time         // by pmcd: the last answer to a fetch
	fetched  time.Time         // likewise, by our clock
	answered time.Time         // the last answer before that which is looked up now
	looking  time.Time         // since when something is looked up; zero: nothing is
	lookedUp time.Time         // the last answer to that

	start time.Time     // by our clock; that of pmcd is compared with it since then
	ahead time.Duration // by how much pmcd's clock is ahead of ours at most, when it last answered a fetch
}

// Fetched notes the answer to a fetch that was sent at a time, with pmcd's stamp, and returns when pmcd began with it, at the
// earliest, for how long it was busy with it, and how much of that its agents can have taken. pmcd stamps each answer when it is
// complete, so the time before the answer before was for that.
//
// The answer to what is looked up may have come before, and wait for its goroutine to note it. It has if the fetch was sent
// later, and when pmcd had answered all else that was sent before: then the time was for that.
func (b *Busy) Fetched(sent, stamp, now time.Time) (began time.Time, busy, took time.Duration) {
	behind := !b.looking.IsZero() && b.looking.Before(sent) && !b.answered.After(sent)
	if !behind {
		busy = max(0, min(now.Sub(sent), now.Sub(b.lookedUp)))
		if since := stamp.Sub(b.stamped); since >= 0 {
			busy = min(busy, since)
		}
		b.answered = now
	}
	if began = b.completed(sent, stamp, now).Add(-busy); began.Before(sent) {
		began = sent
	}
	b.stamped, b.fetched = stamp, now
	return began, busy, b.most(busy, sent, now)
}

// LookUp notes that something is to be looked up.
func (b *Busy) LookUp(now time.Time) { b.looking = now }

// LookedUp is Fetched for that, whose answer has no stamp.
func (b *Busy) LookedUp(now time.Time) (took time.Duration) {
	sent := b.looking
	took = min(now.Sub(sent), now.Sub(b.answered))
	b.lookedUp, b.looking = now, time.Time{}
	return b.most(took, sent, now)
}

// Stood is Total by now, with the time of what is being looked up: that may be answered, and the answer wait for its goroutine to
// note it while pmcd serves others already.
func (b *Busy) Stood(now time.Time) time.Duration {
	if took := min(now.Sub(b.looking), now.Sub(b.answered)); !b.looking.IsZero() && took >= Long {
		return b.Total + took
	}
	return b.Total
}

// Disconnected notes that nothing is on its way any more.
func (b *Busy) Disconnected() { b.looking = time.Time{} }

// drift is by how much pmcd's clock may run faster than ours: one part in drift.
const drift = 1000

// completed is when an answer was complete, by our clock, at the earliest. Each answer tells that its stamp is not later than
// when it is there nor earlier than when it was asked for; an answer that took little time tells most.
func (b *Busy) completed(sent, stamp, now time.Time) time.Time {
	if b.start.IsZero() {
		b.start, b.fetched, b.ahead = now, now, math.MaxInt64
	}
	clock := stamp.Sub(b.start)
	known := b.ahead + min(now.Sub(b.fetched)/drift, math.MaxInt64-b.ahead)
	if b.ahead = clock - sent.Sub(b.start); clock-now.Sub(b.start) <= known { // else it was set
		b.ahead = min(b.ahead, known)
	}
	return b.start.Add(clock - b.ahead)
}

// Requested notes that a request has come.
func (b *Busy) Requested(now time.Time) {
	if now.Sub(b.asked) >= Long {
		b.quiet = predict.TimeRange{From: b.asked, To: now}
	}
	b.asked = now
}

// most is what of the time of a request that was sent at a time and is answered now agents can have taken at most: of
// the last two long times without a request what lies in between, 0 if that is not long.
func (b *Busy) most(took time.Duration, sent, now time.Time) time.Duration {
	if took < Long {
		return took
	}
	b.PMCD = predict.TimeRange{From: now.Add(-took), To: now}
	b.Total += took
	most := max(b.quiet.Overlap(sent, now), predict.TimeRange{From: b.asked, To: now}.Overlap(sent, now))
	if most < Long {
		return 0
	}
	return min(took, most)
}

package slow

import (
	"math"
	"time"

	"pmdaderived/internal/agent/predict"
)

// BlockedTimes remembers when pmcd was busy with something long. pmcd does one thing at a time: while it works on a fetch of
// operands no request of its clients comes to us, so what it takes for the fetch lies between two of them. Many clients that
// look up many names keep it from a fetch for as long as a slow agent does.
type BlockedTimes struct {
	LastBlocked predict.TimeRange // with a request of ours, the last time
	Blocked     time.Duration     // all those times together
	lastRequest time.Time         // when pmcd last asked us
	lastPause   predict.TimeRange // the last one in which it did not ask for long, but for the present one
	lastStamp   time.Time         // by pmcd: the last answer to a fetch
	lastFetch   time.Time         // likewise, by our clock
	lastAnswer  time.Time         // the last answer before that which is looked up now
	lookupStart time.Time         // since when something is looked up; zero: nothing is
	lookupEnd   time.Time         // the last answer to that

	clockStart time.Time     // by our clock; that of pmcd is compared with it since then
	clockAhead time.Duration // by how much pmcd's clock is ahead of ours at most, when it last answered a fetch
}

// RecordFetch notes the answer to a fetch that was sent at a time, with pmcd's stamp, and returns when pmcd began with it, at the
// earliest, for how long it was busy with it, and how much of that its agents can have taken. pmcd stamps each answer when it is
// complete, so the time before the answer before was for that.
//
// The answer to what is looked up may have come before, and wait for its goroutine to note it. It has if the fetch was sent
// later, and when pmcd had answered all else that was sent before: then the time was for that.
func (b *BlockedTimes) RecordFetch(sent, stamp, now time.Time) (began time.Time, busy, took time.Duration) {
	behind := !b.lookupStart.IsZero() && b.lookupStart.Before(sent) && !b.lastAnswer.After(sent)
	if !behind {
		busy = max(0, min(now.Sub(sent), now.Sub(b.lookupEnd)))
		if since := stamp.Sub(b.lastStamp); since >= 0 {
			busy = min(busy, since)
		}
		b.lastAnswer = now
	}
	if began = b.completionTime(sent, stamp, now).Add(-busy); began.Before(sent) {
		began = sent
	}
	b.lastStamp, b.lastFetch = stamp, now
	return began, busy, b.agentTime(busy, sent, now)
}

// StartLookup notes that something is to be looked up.
func (b *BlockedTimes) StartLookup(now time.Time) { b.lookupStart = now }

// EndLookup is Fetched for that, whose answer has no stamp.
func (b *BlockedTimes) EndLookup(now time.Time) (took time.Duration) {
	sent := b.lookupStart
	took = min(now.Sub(sent), now.Sub(b.lastAnswer))
	b.lookupEnd, b.lookupStart = now, time.Time{}
	return b.agentTime(took, sent, now)
}

// BlockedBy is Total by now, with the time of what is being looked up: that may be answered, and the answer wait for its goroutine to
// note it while pmcd serves others already.
func (b *BlockedTimes) BlockedBy(now time.Time) time.Duration {
	if took := min(now.Sub(b.lookupStart), now.Sub(b.lastAnswer)); !b.lookupStart.IsZero() && took >= Long {
		return b.Blocked + took
	}
	return b.Blocked
}

// ForgetLookup notes that nothing is on its way any more.
func (b *BlockedTimes) ForgetLookup() { b.lookupStart = time.Time{} }

// maxDrift is by how much pmcd's clock may run faster than ours: one part in maxDrift.
const maxDrift = 1000

// completionTime is when an answer was complete, by our clock, at the earliest. Each answer tells that its stamp is not later than
// when it is there nor earlier than when it was asked for; an answer that took little time tells most.
func (b *BlockedTimes) completionTime(sent, stamp, now time.Time) time.Time {
	if b.clockStart.IsZero() {
		b.clockStart, b.lastFetch, b.clockAhead = now, now, math.MaxInt64
	}
	clock := stamp.Sub(b.clockStart)
	known := b.clockAhead + min(now.Sub(b.lastFetch)/maxDrift, math.MaxInt64-b.clockAhead)
	if b.clockAhead = clock - sent.Sub(b.clockStart); clock-now.Sub(b.clockStart) <= known { // else it was set
		b.clockAhead = min(b.clockAhead, known)
	}
	return b.clockStart.Add(clock - b.clockAhead)
}

// RecordRequest notes that a request has come.
func (b *BlockedTimes) RecordRequest(now time.Time) {
	if now.Sub(b.lastRequest) >= Long {
		b.lastPause = predict.TimeRange{From: b.lastRequest, To: now}
	}
	b.lastRequest = now
}

// agentTime is what of the time of a request that was sent at a time and is answered now agents can have taken at agentTime: of
// the last two long times without a request what lies in between, 0 if that is not long.
func (b *BlockedTimes) agentTime(took time.Duration, sent, now time.Time) time.Duration {
	if took < Long {
		return took
	}
	b.LastBlocked = predict.TimeRange{From: now.Add(-took), To: now}
	b.Blocked += took
	most := max(b.lastPause.Overlap(sent, now), predict.TimeRange{From: b.lastRequest, To: now}.Overlap(sent, now))
	if most < Long {
		return 0
	}
	return min(took, most)
}

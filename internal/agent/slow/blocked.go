package slow

import (
	"math"
	"time"

	"pmdaderived/internal/agent/predict"
)

// BlockedTimes computes for how long a request of ours has blocked pmcd, and how much of that its agents can have
// taken. pmcd does one thing at a time, so the time between two answers was for the second one, but for two
// corrections:
//
//   - While pmcd works on our fetch, no request of its clients comes to us. So agents have taken one pause between two
//     of these at most. The rest is for clients that look up many names (agentTime).
//   - pmcd may have answered what LookUp asks before, and the answer wait for its goroutine (RecordFetch).
type BlockedTimes struct {
	LastBlocked predict.TimeRange // the last long time in which pmcd worked on a request of ours
	Blocked     time.Duration     // all such times together

	lastRequest time.Time         // when pmcd last asked us something
	lastPause   predict.TimeRange // the last long time without a request of pmcd that has ended

	lastStamp   time.Time // of pmcd in the last answer to a fetch, by its clock
	lastFetch   time.Time // when the last answer to a fetch came, by our clock
	lastAnswer  time.Time // the last answer to a fetch; not while that to a lookup may have come before
	lookupStart time.Time // since when a lookup is on its way; zero: none is
	lookupEnd   time.Time // the last answer to a lookup

	clockStart time.Time     // by our clock; the clock of pmcd is compared with it since then
	clockAhead time.Duration // the most that pmcd's clock can have been ahead of ours at the last answer to a fetch
}

// RecordFetch records the answer to a fetch that was sent at a time, with the time stamp of pmcd. It returns when pmcd
// began with it, at the earliest, for how long pmcd was blocked by it, and how much of that its agents can have taken.
// pmcd stamps each answer when it is complete, so the time before the previous stamp was for the previous answer.
//
// The answer to a lookup may have come before, and wait for its goroutine. It has if the fetch was sent later than the
// lookup, and when pmcd had answered all else that was sent before: then the time was for the lookup.
func (b *BlockedTimes) RecordFetch(sent, stamp, now time.Time) (began time.Time, blocked, agentTime time.Duration) {
	behind := !b.lookupStart.IsZero() && b.lookupStart.Before(sent) && !b.lastAnswer.After(sent)
	if !behind {
		blocked = max(0, min(now.Sub(sent), now.Sub(b.lookupEnd)))
		if since := stamp.Sub(b.lastStamp); since >= 0 {
			blocked = min(blocked, since)
		}
		b.lastAnswer = now
	}
	if began = b.completionTime(sent, stamp, now).Add(-blocked); began.Before(sent) {
		began = sent
	}
	b.lastStamp, b.lastFetch = stamp, now
	return began, blocked, b.agentTime(blocked, sent, now)
}

// StartLookup records that a lookup is sent.
func (b *BlockedTimes) StartLookup(now time.Time) { b.lookupStart = now }

// EndLookup records the answer to the lookup, which has no stamp. It returns how much of its time agents can have
// taken.
func (b *BlockedTimes) EndLookup(now time.Time) (took time.Duration) {
	sent := b.lookupStart
	took = min(now.Sub(sent), now.Sub(b.lastAnswer))
	b.lookupEnd, b.lookupStart = now, time.Time{}
	return b.agentTime(took, sent, now)
}

// BlockedBy returns Blocked by now, with the time of a lookup that is on its way: its answer may have come, and wait
// for its goroutine while pmcd serves others already.
func (b *BlockedTimes) BlockedBy(now time.Time) time.Duration {
	if took := min(now.Sub(b.lookupStart), now.Sub(b.lastAnswer)); !b.lookupStart.IsZero() && took >= Long {
		return b.Blocked + took
	}
	return b.Blocked
}

// ForgetLookup records that no lookup is on its way any more: the session has ended.
func (b *BlockedTimes) ForgetLookup() { b.lookupStart = time.Time{} }

// maxDrift says by how much pmcd's clock may run faster than ours: one part in maxDrift.
const maxDrift = 1000

// completionTime returns when an answer was complete, by our clock, at the earliest. Each answer shows that its stamp
// is not later than its arrival, nor earlier than its request. So the clock of pmcd is ahead of ours by at most stamp -
// sent: the least of these differences is the best one, and the drift of the clocks is added to it. A clock that was
// set shows by a stamp later than that allows.
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

// RecordRequest records that a request of pmcd has come.
func (b *BlockedTimes) RecordRequest(now time.Time) {
	if now.Sub(b.lastRequest) >= Long {
		b.lastPause = predict.TimeRange{From: b.lastRequest, To: now}
	}
	b.lastRequest = now
}

// agentTime returns how much of the time of a request, sent at a time and answered now, agents can have taken. If the
// time is not long, it is all of it. Else it is the longer one of the last two pauses between requests of pmcd, as far
// as it lies between sent and now, and 0 if that is not long. It records that pmcd was blocked.
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

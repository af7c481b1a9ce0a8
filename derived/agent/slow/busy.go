package slow

import (
	"time"

	"pmdaderived/derived/agent/predict"
)

// Busy remembers when pmcd was busy with something long. pmcd does one thing at a time: while it works on a fetch of
// operands no request of its clients comes to us, so what it takes for the fetch lies between two of them. Many clients that
// look up many names keep it from a fetch for as long as a slow agent does.
type Busy struct {
	PMCD     predict.Interval // with a request of ours, the last time
	asked    time.Time        // when pmcd last asked us
	quiet    predict.Interval // the last one in which it did not ask for long, but for the present one
	stamped  time.Time        // by pmcd: the last answer to a fetch
	answered time.Time        // likewise, by our clock
	lookedUp time.Time        // the last answer to something else
}

// Fetched notes the answer to a fetch that was sent at a time, with pmcd's stamp, and returns for how long pmcd was busy with
// it, and how much of that its agents can have taken. pmcd stamps each answer when it is complete, so the time before the answer
// before was for that.
func (b *Busy) Fetched(sent, stamp, now time.Time) (busy, took time.Duration) {
	busy = min(now.Sub(sent), now.Sub(b.lookedUp))
	if since := stamp.Sub(b.stamped); since >= 0 {
		busy = min(busy, since)
	}
	b.stamped, b.answered = stamp, now
	return busy, b.most(busy, sent, now)
}

// LookedUp is Fetched for all other answers, which have no stamp.
func (b *Busy) LookedUp(sent, now time.Time) (took time.Duration) {
	took = min(now.Sub(sent), now.Sub(b.answered))
	b.lookedUp = now
	return b.most(took, sent, now)
}

// Requested notes that a request has come.
func (b *Busy) Requested(now time.Time) {
	if now.Sub(b.asked) >= Long {
		b.quiet = predict.Interval{From: b.asked, To: now}
	}
	b.asked = now
}

// most is what of the time of a request that was sent at a time and is answered now agents can have taken at most: of
// the last two long times without a request what lies in between, 0 if that is not long.
func (b *Busy) most(took time.Duration, sent, now time.Time) time.Duration {
	if took < Long {
		return took
	}
	b.PMCD = predict.Interval{From: now.Add(-took), To: now}
	most := max(b.quiet.Within(sent, now), predict.Interval{From: b.asked, To: now}.Within(sent, now))
	if most < Long {
		return 0
	}
	return min(took, most)
}

package slow

import (
	"time"

	"pmdaderived/derived/agent/predict"
)

// Busy remembers when pmcd was busy with something long. pmcd does one thing at a time: while it works on a fetch of
// operands no request of its clients comes to us, so what it takes for the fetch lies between two of them. Many clients that
// look up many names keep it from a fetch for as long as a slow agent does.
type Busy struct {
	PMCD  predict.Interval // with a fetch of ours, the last time
	asked time.Time        // when pmcd last asked us
	quiet predict.Interval // the last one in which it did not ask for long, but for the present one
}

// Requested notes that a request has come.
func (b *Busy) Requested(now time.Time) {
	if now.Sub(b.asked) >= Long {
		b.quiet = predict.Interval{From: b.asked, To: now}
	}
	b.asked = now
}

// Most is what pmcd can have taken at most for a fetch that was sent at a time and is answered now: of the last two long
// times without a request what lies in between, 0 if that is not long.
func (b *Busy) Most(sent, now time.Time) time.Duration {
	most := max(b.quiet.Within(sent, now), predict.Interval{From: b.asked, To: now}.Within(sent, now))
	if most < Long {
		return 0
	}
	return most
}

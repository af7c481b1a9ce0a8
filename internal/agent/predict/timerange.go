package predict

import "time"

// TimeRange is a time during which pmcd was blocked: it was busy with one request and served no other client.
type TimeRange struct{ From, To time.Time }

// Overlap returns how much of the range lies between two times. It is not positive if none does.
func (r TimeRange) Overlap(from, to time.Time) time.Duration {
	if r.From.After(from) {
		from = r.From
	}
	if r.To.Before(to) {
		to = r.To
	}
	return to.Sub(from)
}

// delayed reports whether pmcd has delayed a fetch that comes now, after one at last: pmcd was blocked for most of the
// time between them, until a moment ago.
func (r TimeRange) delayed(last, now time.Time) bool {
	return now.Sub(r.To) <= blockedGrace && 2*r.Overlap(last, now) > now.Sub(last)
}

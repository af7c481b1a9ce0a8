package predict

import (
	"slices"
	"time"

	"pmdaderived/internal/freshness"
)

const (
	// TimerSlack is a difference of time for which it is not worth to set a timer again.
	TimerSlack = freshness.Lead / 4

	// maxIntervals is the number of intervals that a forecast is made from.
	maxIntervals = 8

	// trustedIntervals is the number of intervals from which on there are no samples but the one for the expected
	// fetch.
	trustedIntervals = 3

	// A fetch that comes within blockedGrace after pmcd was blocked was delayed by that.
	blockedGrace = 20 * time.Millisecond
)

// Predictor forecasts the next fetch of one context from its last ones. The zero value has recorded no fetch.
type Predictor struct {
	last      time.Time                   // the last fetch
	intervals []time.Duration             // at most maxIntervals, oldest first
	median    time.Duration               // see Interval
	expected  time.Time                   // the next fetch; zero: there is no forecast
	earliness [maxIntervals]time.Duration // of the last fetches, by number: how much earlier than expected they came
	fetches   int
}

// Fetches returns the number of fetches that were recorded.
func (p *Predictor) Fetches() int { return p.fetches }

// Last returns the time of the last fetch, zero if there was none.
func (p *Predictor) Last() time.Time { return p.last }

// Interval returns the median of the intervals, 0 if there is none yet. If there are two, it is the last one: the first
// may have begun with a late fetch.
func (p *Predictor) Interval() time.Duration { return p.median }

// Quick reports whether the client fetches so often that a sample for its next fetch is to be requested with this one.
// Then no timer is needed, and no thread has to be woken.
func (p *Predictor) Quick() bool { return len(p.intervals) > 0 && p.median <= freshness.Lead }

// RecordFetch records a fetch, and returns the schedule of the samples until the next one. blocked is the last time in
// which pmcd served no client. The interval of a fetch that this delayed is not recorded.
func (p *Predictor) RecordFetch(now time.Time, blocked TimeRange) Schedule {
	delayed := !p.last.IsZero() && blocked.delayed(p.last, now)
	earliness := time.Duration(0)
	if !p.last.IsZero() && !delayed {
		earliness = p.earlyBy(now)
		p.addInterval(now.Sub(p.last))
	}
	p.earliness[p.fetches%maxIntervals] = earliness
	p.fetches++
	p.last, p.expected = now, time.Time{}
	s := Schedule{start: now}
	switch {
	case p.predictable():
		p.expected = now.Add(p.median)
		s.expected, s.onlyExpected = p.expected, !delayed && len(p.intervals) >= trustedIntervals
		if !p.Quick() {
			s.beforeExpected = p.expected.Add(-p.lead())
		}
	case len(p.intervals) > 0:
		s.lastInterval = p.intervals[len(p.intervals)-1]
	}
	s.setNext(now)
	return s
}

// predictable reports whether there is a forecast: most intervals are similar to the median. Two intervals are too few
// to compare: the last one is the forecast. So is a single one, unless it is very short: pmval fetches again at once if
// its first fetch brought no value.
func (p *Predictor) predictable() bool {
	if len(p.intervals) < 2 {
		return len(p.intervals) == 1 && !p.Quick()
	}
	n := 0
	for _, i := range p.intervals {
		if similar(i, p.median) {
			n++
		}
	}
	return 2*n > len(p.intervals) || len(p.intervals) == 2
}

// earlyBy returns how much earlier than expected a fetch has come. It is 0 if the fetch is late, or not the expected
// one.
func (p *Predictor) earlyBy(now time.Time) time.Duration {
	early := p.expected.Sub(now) // negative if nothing was expected
	if early < 0 || !similar(p.median-early, p.median) {
		return 0
	}
	return early
}

// addInterval adds an interval. If the last two are similar to each other but not to the median, the client has changed
// its interval: the older intervals are dropped.
func (p *Predictor) addInterval(interval time.Duration) {
	if n := len(p.intervals); n > 1 {
		last, median := p.intervals[n-1], p.median
		if similar(interval, last) && !similar(interval, median) && !similar(last, median) {
			p.intervals = append(p.intervals[:0], last)
			p.earliness = [maxIntervals]time.Duration{}
		}
	}
	p.appendInterval(interval)
}

// appendInterval appends an interval, in place of the oldest one, and computes the median.
func (p *Predictor) appendInterval(interval time.Duration) {
	if len(p.intervals) == maxIntervals {
		p.intervals = append(p.intervals[:0], p.intervals[1:]...)
	}
	p.intervals = append(p.intervals, interval)
	if len(p.intervals) == 2 {
		p.median = interval
		return
	}
	var sorted [maxIntervals]time.Duration
	n := copy(sorted[:], p.intervals)
	slices.Sort(sorted[:n])
	p.median = sorted[n/2]
}

// similar reports whether an interval is about as long as another.
func similar(i, of time.Duration) bool { return (i - of).Abs() <= of/8+freshness.Lead }

// lead returns the time between the next sample and the expected fetch. It is longer if one of the last fetches came
// early.
func (p *Predictor) lead() time.Duration {
	return freshness.Lead + min(slices.Max(p.earliness[:]), freshness.MaxLead-freshness.Lead, p.median/4)
}

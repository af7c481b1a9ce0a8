package predict

import (
	"slices"
	"time"
)

const (
	// Lead is how long before an expected fetch its sample is asked for. A shorter one misses
	// more fetches than it makes samples younger (docs/pmcd.md c).
	Lead = 5 * time.Millisecond

	// maxLead is the longest lead for a client whose fetches come at unsteady times.
	maxLead = 25 * time.Millisecond

	// Slack is what can hardly be told apart.
	TimerSlack = Lead / 4

	// remembered is how many intervals of a context the next one is foretold from.
	maxIntervals = 8

	// trusted is from how many intervals on a context is sampled for only when its next fetch is expected.
	trustedIntervals = 3

	// A fetch that comes within backlog after pmcd was busy with something long was held up by that.
	blockedGrace = 20 * time.Millisecond
)

// Rhythm is the fetches of one context, as far as they tell when it will fetch next. The zero value has none.
type Predictor struct {
	last      time.Time                   // of the last fetch
	intervals []time.Duration             // the last ones, oldest first
	median    time.Duration               // of these; see Interval
	expected  time.Time                   // the next fetch; zero: nothing is foretold
	earliness [maxIntervals]time.Duration // how much too early the last fetches came
	fetches   int
}

// Fetches is how many there were.
func (p *Predictor) Fetches() int { return p.fetches }

// Last is when the last one came; zero: there was none.
func (p *Predictor) Last() time.Time { return p.last }

// Expected is when the next one is expected; zero: at no known time.
func (p *Predictor) Expected() time.Time { return p.expected }

// Interval is the median of the intervals, 0 when there is none yet. Of two it is the last: the first may have
// begun with a fetch that was late.
func (p *Predictor) Interval() time.Duration { return p.median }

// Quick reports whether a client fetches so often that the time to sample for its next fetch is while this
// one is served. Nothing has to be waited for then, and nobody woken.
func (p *Predictor) Quick() bool { return len(p.intervals) > 0 && p.median <= Lead }

// Fetched notes a fetch and says when to sample until the next one. busy is when pmcd served nobody the last time: a fetch that
// was held up says nothing of the client's interval.
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

// steady reports whether the next fetch can be foretold: most intervals are about the typical one. Of two intervals nobody can tell: the
// last may be it. A second fetch at once may have been because the first brought no value, after which pmval asks again.
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

// tooEarly is how much earlier than expected a fetch has come; 0 if it is not the one that was expected.
func (p *Predictor) earlyBy(now time.Time) time.Duration {
	early := p.expected.Sub(now) // negative if nothing was expected
	if early < 0 || !similar(p.median-early, p.median) {
		return 0
	}
	return early
}

// learn takes another interval into account. Two that agree and differ from those before are new ones:
// the others are forgotten.
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

// alike reports whether an interval is about as long as another.
func similar(i, of time.Duration) bool { return (i - of).Abs() <= of/8+Lead }

// lead is how long before the expected fetch the sample is asked for: longer than usual for a client that came too early lately.
func (p *Predictor) lead() time.Duration {
	return Lead + min(slices.Max(p.earliness[:]), maxLead-Lead, p.median/4)
}

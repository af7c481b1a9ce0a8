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
	Slack = Lead / 4

	// remembered is how many intervals of a context the next one is foretold from.
	remembered = 8

	// trusted is from how many intervals on a context is sampled for only when its next fetch is expected.
	trusted = 3

	// A fetch that comes within backlog after pmcd was busy with something long was held up by that.
	backlog = 20 * time.Millisecond
)

// Rhythm is the fetches of one context, as far as they tell when it will fetch next. The zero value has none.
type Rhythm struct {
	last      time.Time                 // of the last fetch
	intervals []time.Duration           // the last ones, oldest first
	median    time.Duration             // of these; see Interval
	expected  time.Time                 // the next fetch; zero: nothing is foretold
	early     [remembered]time.Duration // how much too early the last fetches came
	fetches   int
}

// Fetches is how many there were.
func (r *Rhythm) Fetches() int { return r.fetches }

// Last is when the last one came; zero: there was none.
func (r *Rhythm) Last() time.Time { return r.last }

// Expected is when the next one is expected; zero: at no known time.
func (r *Rhythm) Expected() time.Time { return r.expected }

// Interval is the median of the intervals, 0 when there is none yet. Of two it is the last: the first may have
// begun with a fetch that was late.
func (r *Rhythm) Interval() time.Duration { return r.median }

// Quick reports whether a client fetches so often that the time to sample for its next fetch is while this
// one is served. Nothing has to be waited for then, and nobody woken.
func (r *Rhythm) Quick() bool { return len(r.intervals) > 0 && r.median <= Lead }

// Fetched notes a fetch and says when to sample until the next one. busy is when pmcd served nobody the last time: a fetch that
// was held up says nothing of the client's interval.
func (r *Rhythm) Fetched(now time.Time, busy Interval) Plan {
	held := !r.last.IsZero() && busy.explains(r.last, now)
	early := time.Duration(0)
	if !r.last.IsZero() && !held {
		early = r.tooEarly(now)
		r.learn(now.Sub(r.last))
	}
	r.early[r.fetches%remembered] = early
	r.fetches++
	r.last, r.expected = now, time.Time{}
	p := Plan{last: now}
	switch {
	case r.steady():
		r.expected = now.Add(r.median)
		p.expected, p.trusted = r.expected, !held && len(r.intervals) >= trusted
		if !r.Quick() {
			p.due = r.expected.Add(-r.lead())
		}
	case len(r.intervals) > 0:
		p.unsteady = r.intervals[len(r.intervals)-1]
	}
	p.next(now)
	return p
}

// steady reports whether the next fetch can be foretold: most intervals are about the typical one. Of two intervals nobody can tell: the
// last may be it. A second fetch at once may have been because the first brought no value, after which pmval asks again.
func (r *Rhythm) steady() bool {
	if len(r.intervals) < 2 {
		return len(r.intervals) == 1 && !r.Quick()
	}
	n := 0
	for _, i := range r.intervals {
		if alike(i, r.median) {
			n++
		}
	}
	return 2*n > len(r.intervals) || len(r.intervals) == 2
}

// tooEarly is how much earlier than expected a fetch has come; 0 if it is not the one that was expected.
func (r *Rhythm) tooEarly(now time.Time) time.Duration {
	early := r.expected.Sub(now) // negative if nothing was expected
	if early < 0 || !alike(r.median-early, r.median) {
		return 0
	}
	return early
}

// learn takes another interval into account. Two that agree and differ from those before are new ones:
// the others are forgotten.
func (r *Rhythm) learn(interval time.Duration) {
	if n := len(r.intervals); n > 1 {
		last, old := r.intervals[n-1], r.median
		if alike(interval, last) && !alike(interval, old) && !alike(last, old) {
			r.intervals = append(r.intervals[:0], last)
			r.early = [remembered]time.Duration{}
		}
	}
	r.remember(interval)
}

func (r *Rhythm) remember(interval time.Duration) {
	if len(r.intervals) == remembered {
		r.intervals = append(r.intervals[:0], r.intervals[1:]...)
	}
	r.intervals = append(r.intervals, interval)
	if len(r.intervals) == 2 {
		r.median = interval
		return
	}
	var sorted [remembered]time.Duration
	n := copy(sorted[:], r.intervals)
	slices.Sort(sorted[:n])
	r.median = sorted[n/2]
}

// alike reports whether an interval is about as long as another.
func alike(i, of time.Duration) bool { return (i - of).Abs() <= of/8+Lead }

// lead is how long before the expected fetch the sample is asked for: longer than usual for a client that came too early lately.
func (r *Rhythm) lead() time.Duration {
	return Lead + min(slices.Max(r.early[:]), maxLead-Lead, r.median/4)
}

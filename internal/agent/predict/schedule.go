package predict

import "time"

const (
	// A context that is not trusted is sampled for at other times, too, until restless after its last fetch: every
	// mostPace, or if nothing can be foretold of it four times in its last interval, if there is one, or in the time since its last fetch
	// if that is longer, but not closer than leastPace.
	minGap     = 50 * time.Millisecond
	maxGap     = 800 * time.Millisecond
	activeTime = time.Minute

	// patient is for how long a context that has fetched only once is sampled for, from restless on once in that time: it may be that of a
	// logger with a long interval.
	firstFetchTime = time.Hour

	// A client that has looked metrics up and not fetched them lookUpPause later is a pmlogger: it
	// pauses for 20 ms before its first fetch (docs/pmcd.md b.4), for which there is to be a
	// new sample.
	lookupDelay = 15 * time.Millisecond

	// Undecided is for how long there are new samples for one that takes longer, as pmchart does on a busy host.
	LookupTime = 10 * time.Second
)

// Plan is when to sample for a context until its next fetch.
type Schedule struct {
	Next time.Time // when to sample next; zero: not at all

	start          time.Time     // fetch or look-up
	expected       time.Time     // the next one; zero: nobody knows
	beforeExpected time.Time     // when to sample for the fetch that is expected; zero: for none
	onlyExpected   bool          // it is sampled for the fetch that is expected only
	lastInterval   time.Duration // the last interval, if there is one and nothing can be foretold; else 0
	afterLookup    bool          // for a client that has looked up and not fetched yet
}

// LookedUp is the plan for a client that has looked metrics up and not fetched yet.
func AfterLookup(now time.Time) Schedule {
	return Schedule{Next: now.Add(lookupDelay), start: now, afterLookup: true}
}

// Sampled is to be called when the sample that was to be taken at At has been asked for. It sets At anew.
func (s *Schedule) Advance(now time.Time) {
	if s.afterLookup {
		if s.Next = now.Add(maxGap); s.Next.After(s.start.Add(LookupTime)) {
			s.Next = time.Time{}
		}
		return
	}
	if !s.beforeExpected.IsZero() && !s.beforeExpected.After(s.Next) {
		s.beforeExpected = time.Time{}
	}
	if s.beforeExpected.IsZero() && now.After(s.expected) {
		s.onlyExpected = false // it did not come when it was expected
	}
	s.setNext(now)
}

// next sets the time of the next sample after a time.
func (s *Schedule) setNext(after time.Time) {
	s.Next = s.beforeExpected
	if s.onlyExpected {
		if !s.beforeExpected.IsZero() {
			return
		}
		after = s.expected // if the fetch does not come then, nobody knows when
	}
	sample, end := after.Add(s.gap(after)), s.start.Add(activeTime)
	if s.firstFetch() {
		end = s.start.Add(firstFetchTime)
	}
	if (s.Next.IsZero() || sample.Before(s.Next)) && !sample.After(end) {
		s.Next = sample
	}
}

// pace is how long after a time to sample again for a context that may fetch at any time.
func (s *Schedule) gap(after time.Time) time.Duration {
	if !s.expected.IsZero() {
		return maxGap
	}
	silence := max(s.lastInterval, after.Sub(s.start))
	if silence >= activeTime && s.firstFetch() {
		return activeTime
	}
	return min(max(silence/4, minGap), maxGap)
}

// once reports whether there is no interval yet.
func (s *Schedule) firstFetch() bool { return s.expected.IsZero() && s.lastInterval == 0 }

// Interval is a time during which pmcd served nobody, or at least not us: it was busy with something long.
type TimeRange struct{ From, To time.Time }

// Within is how much of it lies between two moments; not positive: nothing does.
func (r TimeRange) Overlap(from, to time.Time) time.Duration {
	if r.From.After(from) {
		from = r.From
	}
	if r.To.Before(to) {
		to = r.To
	}
	return to.Sub(from)
}

// explains reports whether a client that fetches now and last did so at a time would have come earlier: pmcd
// was busy for most of the time in between, until a moment ago.
func (r TimeRange) delayed(last, now time.Time) bool {
	return now.Sub(r.To) <= blockedGrace && 2*r.Overlap(last, now) > now.Sub(last)
}

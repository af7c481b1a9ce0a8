package predict

import (
	"time"

	"pmdaderived/internal/freshness"
)

// Schedule says when to sample for a context until its next fetch. There are two kinds of samples: one just before the
// expected fetch, if there is a forecast, and repeated ones, in case the fetch comes at another time.
type Schedule struct {
	Next time.Time // the next sample; zero: there is none

	start          time.Time     // the last fetch, or look-up
	expected       time.Time     // the next fetch; zero: there is no forecast
	beforeExpected time.Time     // the sample for the expected fetch; zero: it was taken, or there is none
	onlyExpected   bool          // no repeated samples before expected: the forecast is trusted
	lastInterval   time.Duration // without a forecast: the interval before start; 0: there is none
	afterLookup    bool          // the client has looked up and not fetched yet
}

// AfterLookup returns the schedule for a client that has looked up metrics and not fetched yet.
func AfterLookup(now time.Time) Schedule {
	return Schedule{Next: now.Add(freshness.LookupDelay), start: now, afterLookup: true}
}

// Advance sets Next to the sample after the one that has been requested now.
func (s *Schedule) Advance(now time.Time) {
	if s.afterLookup {
		if s.Next = now.Add(freshness.MaxGap); s.Next.After(s.start.Add(freshness.LookupTime)) {
			s.Next = time.Time{}
		}
		return
	}
	if !s.beforeExpected.IsZero() && !s.beforeExpected.After(s.Next) {
		s.beforeExpected = time.Time{}
	}
	if s.beforeExpected.IsZero() && now.After(s.expected) {
		s.onlyExpected = false // the fetch did not come when expected
	}
	if s.firstFetch() && now.Before(s.Next) {
		now = s.Next // it was taken together with others, a little before its time
	}
	s.setNext(now)
}

// setNext sets Next to the earlier one of the sample for the expected fetch and the next repeated one after a time.
func (s *Schedule) setNext(after time.Time) {
	s.Next = s.beforeExpected
	if s.onlyExpected {
		if !s.beforeExpected.IsZero() {
			return
		}
		after = s.expected // repeated samples begin if the fetch does not come then
	}
	sample, end := after.Add(s.gap(after)), s.start.Add(freshness.ActiveTime)
	if s.firstFetch() {
		sample, end = s.afterFirstFetch(after), s.start.Add(freshness.FirstFetchTime)
	}
	if (s.Next.IsZero() || sample.Before(s.Next)) && !sample.After(end) {
		s.Next = sample
	}
}

// gap returns the time until the next repeated sample.
func (s *Schedule) gap(after time.Time) time.Duration {
	if !s.expected.IsZero() {
		return freshness.MaxGap
	}
	silence := max(s.lastInterval, after.Sub(s.start))
	return min(max(silence/4, freshness.MinGap), freshness.MaxGap)
}

// afterFirstFetch returns the next sample after a time for a context that has fetched once. It may never fetch again, so
// there is a sample only for each usual interval, and then one each minute.
func (s *Schedule) afterFirstFetch(after time.Time) time.Time {
	if interval := freshness.NextUsualInterval(after.Sub(s.start) + freshness.Lead); interval > 0 {
		return s.start.Add(interval - freshness.Lead)
	}
	return after.Add(freshness.ActiveTime)
}

// firstFetch reports whether the context has fetched only once, so that there is no interval.
func (s *Schedule) firstFetch() bool { return s.expected.IsZero() && s.lastInterval == 0 }

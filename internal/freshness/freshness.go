// Package freshness decides how old a value may be. It has the constants, and three predicates:
//
//	Served    a sample that is not too old is served to a client
//	NewEnough a sample that is new enough need not be requested again
//	Expired   a sample that nobody can be served any more is dropped
//
// docs/freshness.md says to users what follows from the constants; a test compares its figures with them.
// Package predict says when the next sample is taken, from the constants below.
package freshness

import "time"

// Serving: which sample a client gets.
const (
	// AlwaysServed is the age up to which a sample is served to every client, however often it fetches: values of
	// irregular clients are sampled more often than that (MaxGap).
	AlwaysServed = time.Second

	// NeverServed is the age beyond which no sample is served, however seldom its client fetches.
	NeverServed = 90 * time.Second

	// LateAge is the age of a sample that was not made for the fetch that it is served to: derived.control counts it.
	LateAge = 4 * Lead
)

// Requesting: whether a sample is requested.
const (
	// MinAge is the age below which a sample is as good as a new one. It is the shortest time between two samples.
	MinAge = 2 * time.Millisecond

	// RepeatedLookupAge is MinAge for a client that looks up a name again which it has just looked up.
	RepeatedLookupAge = 10 * time.Millisecond

	// burstShare is the part of the time that a sample took in which further lookups of the client are about the same
	// sample: while pmcd was blocked by it, the client could not go on.
	burstShare = 10
)

// Sampling ahead: when the schedule samples for a client that will fetch.
const (
	// Lead is the time between the request of a sample and the fetch that it is for. A shorter one misses more
	// fetches than it makes samples younger (docs/pmcd.md c).
	Lead = 5 * time.Millisecond

	// MaxLead is the longest lead, for a client whose fetches have come too early.
	MaxLead = 25 * time.Millisecond

	// From the second fetch on, samples without a forecast are MinGap to MaxGap apart: a quarter of the last interval, or
	// of the time since the last fetch if that is longer. With a forecast from few intervals they are MaxGap apart. They end ActiveTime
	// after the last fetch.
	MinGap     = 50 * time.Millisecond
	MaxGap     = 800 * time.Millisecond
	ActiveTime = time.Minute

	// FirstFetchTime is how long there are samples for a context that has fetched only once: it may be that of a
	// logger with a long interval. They are at the usual intervals, and then ActiveTime apart.
	FirstFetchTime = time.Hour

	// LookupDelay is the time between a client's last lookup and its first sample, if the client has not fetched
	// until then. pmlogger does that: it pauses for 20 ms before its first fetch (docs/pmcd.md b.4).
	LookupDelay = 15 * time.Millisecond

	// LookupTime is how long there are samples for a client that looks up and does not fetch, as pmchart does on a
	// busy host.
	LookupTime = 10 * time.Second
)

// NextUsualInterval returns the first usual interval between fetches that is longer than another, 0 if there is none. A
// context that has fetched once has samples at these. It may never fetch again: pmproxy makes a context for each request.
// So its samples are few, since each may cost the operand's agent a request to the service that it watches.
func NextUsualInterval(longerThan time.Duration) time.Duration {
	for _, halfSeconds := range [...]time.Duration{1, 2, 4, 10, 20, 30, 60, 120} {
		if interval := halfSeconds * time.Second / 2; interval > longerThan {
			return interval
		}
	}
	return 0
}

// First fetches: how far rate() and delta() go back at the first fetch of a context.
const (
	// PerInterval is how often series with a history are sampled in the time that a first rate or delta covers.
	PerInterval = 2

	// SecondSample is how soon after its first sample such a series has another one.
	SecondSample = 100 * time.Millisecond

	// MinStep is the shortest time that a first value covers if there are no samples an interval apart, as after a
	// start.
	MinStep = 10 * time.Millisecond

	// minReach is the least Reach: an agent that is slow may rest for so long between two samples.
	minReach = time.Minute
)

// ForgetInterval is the time between two searches for samples that have expired.
const ForgetInterval = 30 * time.Second

// MaxAge returns the age up to which a sample is served to a client with an interval between its fetches, 0 if it is
// not known: half an interval more than one, for samples that are taken late.
func MaxAge(interval time.Duration) time.Duration {
	return max(AlwaysServed, min(interval+interval/2, NeverServed))
}

// Served reports whether a sample of an age is served where samples up to maxAge are.
func Served(age, maxAge time.Duration) bool { return age <= maxAge }

// Need says how new a sample has to be.
type Need struct {
	Gap   time.Duration // a sample that is younger is new enough
	After time.Time     // a sample that was taken before is not
	Burst bool          // a client looks up names, one after the other: they are about the same sample
}

// NewEnough reports whether a sample that was taken and has arrived at these times meets the need, and so is not
// requested again. In a burst the arrival counts: the client could not go on before it.
func (n Need) NewEnough(taken, arrived, now time.Time) bool {
	if taken.Before(n.After) {
		return false
	}
	return now.Sub(taken) < n.Gap || n.Burst && now.Sub(arrived) < max(n.Gap, arrived.Sub(taken)/burstShare)
}

// Reach returns how far the previous value of a first fetch may be from it: an interval is covered up to half as often
// again, and an agent that is slow may take longer.
func Reach(interval time.Duration) time.Duration { return max(minReach, 2*interval) }

// Expired reports whether a sample of an age is of no use any more: it is not served, nor is it the older value, so
// many steps back, for a first fetch.
func Expired(age time.Duration, steps int, interval time.Duration) bool {
	return age > NeverServed+time.Duration(steps)*Reach(interval)
}

package predict

import "time"

const (
	// A context that is not trusted is sampled for at other times, too, until restless after its last fetch: every
	// mostPace, or if nothing can be foretold of it four times in its last interval, if there is one, or in the time since its last fetch
	// if that is longer, but not closer than leastPace.
	leastPace = 50 * time.Millisecond
	mostPace  = 800 * time.Millisecond
	restless  = time.Minute

	// patient is for how long a context that has fetched only once is sampled for, from restless on once in that time: it may be that of a
	// logger with a long interval.
	patient = time.Hour

	// A client that has looked metrics up and not fetched them lookUpPause later is a pmlogger: it
	// pauses for 20 ms before its first fetch (docs/pmcd.md b.4), for which there is to be a
	// new sample.
	lookUpPause = 15 * time.Millisecond

	// Undecided is for how long there are new samples for one that takes longer, as pmchart does on a busy host.
	Undecided = 10 * time.Second
)

// Plan is when to sample for a context until its next fetch.
type Plan struct {
	At time.Time // when to sample next; zero: not at all

	last     time.Time     // fetch or look-up
	expected time.Time     // the next one; zero: nobody knows
	due      time.Time     // when to sample for the fetch that is expected; zero: for none
	trusted  bool          // it is sampled for the fetch that is expected only
	unsteady time.Duration // the last interval, if there is one and nothing can be foretold; else 0
	lookedUp bool          // for a client that has looked up and not fetched yet
}

// LookedUp is the plan for a client that has looked metrics up and not fetched yet.
func LookedUp(now time.Time) Plan {
	return Plan{At: now.Add(lookUpPause), last: now, lookedUp: true}
}

// Sampled is to be called when the sample that was to be taken at At has been asked for. It sets At anew.
func (p *Plan) Sampled(now time.Time) {
	if p.lookedUp {
		if p.At = now.Add(mostPace); p.At.After(p.last.Add(Undecided)) {
			p.At = time.Time{}
		}
		return
	}
	if !p.due.IsZero() && !p.due.After(p.At) {
		p.due = time.Time{}
	}
	if p.due.IsZero() && now.After(p.expected) {
		p.trusted = false // it did not come when it was expected
	}
	p.next(now)
}

// next sets the time of the next sample after a time.
func (p *Plan) next(after time.Time) {
	p.At = p.due
	if p.trusted {
		if !p.due.IsZero() {
			return
		}
		after = p.expected // if the fetch does not come then, nobody knows when
	}
	next, end := after.Add(p.pace(after)), p.last.Add(restless)
	if p.once() {
		end = p.last.Add(patient)
	}
	if (p.At.IsZero() || next.Before(p.At)) && !next.After(end) {
		p.At = next
	}
}

// pace is how long after a time to sample again for a context that may fetch at any time.
func (p *Plan) pace(after time.Time) time.Duration {
	if !p.expected.IsZero() {
		return mostPace
	}
	silent := max(p.unsteady, after.Sub(p.last))
	if silent >= restless && p.once() {
		return restless
	}
	return min(max(silent/4, leastPace), mostPace)
}

// once reports whether there is no interval yet.
func (p *Plan) once() bool { return p.expected.IsZero() && p.unsteady == 0 }

// Interval is a time during which pmcd served nobody, or at least not us: it was busy with something long.
type Interval struct{ From, To time.Time }

// Within is how much of it lies between two moments; not positive: nothing does.
func (b Interval) Within(from, to time.Time) time.Duration {
	if b.From.After(from) {
		from = b.From
	}
	if b.To.Before(to) {
		to = b.To
	}
	return to.Sub(from)
}

// explains reports whether a client that fetches now and last did so at a time would have come earlier: pmcd
// was busy for most of the time in between, until a moment ago.
func (b Interval) explains(last, now time.Time) bool {
	return now.Sub(b.To) <= backlog && 2*b.Within(last, now) > now.Sub(last)
}

package predict

import "time"

const (
	// firstLead is how long before each usual interval an additional sample is asked for.
	firstLead = 40 * time.Millisecond

	// A context that is not trusted is sampled for at other times, too, until restless after its last fetch: every
	// mostPace, or if nothing can be foretold of it four times in its last interval, or in that since if it is longer, but
	// not closer than leastPace.
	leastPace = 50 * time.Millisecond
	mostPace  = 800 * time.Millisecond
	restless  = time.Minute

	// A client that has looked metrics up and not fetched them lookUpPause later is a pmlogger: it
	// pauses for 20 ms before its first fetch (docs/pmcd.md b.4), for which there is to be a
	// new sample.
	lookUpPause = 15 * time.Millisecond

	// Undecided is for how long there are new samples for one that takes longer, as pmchart does on a busy host.
	Undecided = 10 * time.Second
)

// usual are the intervals after which a context may fetch for the second time. After the last one
// it goes on at that pace until usualEnd.
//
//nolint:gochecknoglobals // a table
var usual = [...]time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
}

const usualEnd = time.Hour

// Plan is when to sample for a context until its next fetch.
type Plan struct {
	At time.Time // when to sample next; zero: not at all

	last     time.Time     // fetch or look-up
	expected time.Time     // the next one; zero: nobody knows
	due      time.Time     // when to sample for the fetch that is expected; zero: for none
	guesses  int           // so far, two for each usual interval
	guessing bool          // the second fetch is expected after a usual interval
	trusted  bool          // it is sampled for the fetch that is expected only
	unsteady time.Duration // the last interval, if nothing can be foretold from it and those before; else 0
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
		if p.guessing {
			p.guess()
		}
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
	next := after.Add(p.pace(after))
	if (p.At.IsZero() || next.Before(p.At)) && !next.After(p.last.Add(restless)) {
		p.At = next
	}
}

// pace is how long after a time to sample again for a context that may fetch at any time.
func (p *Plan) pace(after time.Time) time.Duration {
	if p.unsteady == 0 {
		return mostPace
	}
	silent := max(p.unsteady, after.Sub(p.last))
	return min(max(silent/4, leastPace), mostPace)
}

// guess sets the time of the next guess for a context that has fetched once. There are two for each usual
// interval, since a first fetch that was late is followed by a second one that comes early.
func (p *Plan) guess() {
	i, before := p.guesses/2, firstLead
	if p.guesses%2 > 0 {
		before = Lead
	}
	after := usual[len(usual)-1] * time.Duration(i-len(usual)+2)
	if i < len(usual) {
		after = usual[i]
	}
	p.guesses++
	p.due = time.Time{}
	if after <= usualEnd {
		p.due = p.last.Add(after - before)
	}
}

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

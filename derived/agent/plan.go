package agent

import (
	"slices"
	"time"

	"pmdaderived/derived/agent/control"
)

const (
	// lead is how long before an expected fetch its sample is asked for. A shorter one misses
	// more fetches than it makes samples younger (docs/pmcd.md c).
	lead = 5 * time.Millisecond

	// firstLead is how long before each usual interval an additional sample is asked for.
	firstLead = 40 * time.Millisecond

	// unsureLead is the lead for a client that has not been foretold rightly often enough.
	unsureLead = 8 * time.Millisecond

	// maxLead is the longest lead for a client whose fetches come at unsteady times.
	maxLead = 25 * time.Millisecond

	// remembered is how many intervals of a context the next one is foretold from.
	remembered = 8

	// memory is over how many fetches the errors of a forecast are smoothed.
	memory = 4

	// A context that has not been foretold rightly trusted times in a row is sampled for at other
	// times, too, until restless after its last fetch: every mostPace, or if nothing can be foretold of it
	// four times in its last interval, or in that since if it is longer, but not closer than leastPace.
	trusted   = 3
	leastPace = 50 * time.Millisecond
	mostPace  = 800 * time.Millisecond
	restless  = time.Minute

	// A fetch that comes within backlog after pmcd stood still was held up by that.
	backlog = 20 * time.Millisecond
)

// ladder is when a context may fetch for the second time: the usual intervals. After the last one
// it goes on at that pace until ladderEnd.
//
//nolint:gochecknoglobals // a table
var ladder = [...]time.Duration{
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute,
}

const ladderEnd = time.Hour

// plan is when one client will fetch its metrics again. It is made by the request loop at each
// fetch and followed by the scheduler.
type plan struct {
	feeds     []*feed
	stood     standstill                // the last one
	last      time.Time                 // of the last fetch; when it would have come if it was held up
	intervals []time.Duration           // the last ones, oldest first
	median    time.Duration             // of these; see typical
	pace      forecast                  // of a client that waits for an interval after each fetch
	grid      forecast                  // of one that fetches at multiples of it, late now and then
	expected  time.Time                 // the better one; zero: nothing is foretold
	early     [remembered]time.Duration // how much too early the last fetches came
	fetches   int
	right     int       // fetches in a row that came when they were expected
	rung      int       // of the ladder, while there is no interval
	due       time.Time // when to sample for the fetch that is expected; zero: for none
	at        time.Time // when to sample next; zero: not at all
	index     int       // in the heap, -1: not in it
	once      bool      // for a client that has looked up and not fetched yet; last is when
}

// standstill is a time during which pmcd served nobody, or at least not us.
type standstill struct{ from, to time.Time }

// within is how much of it lies between two moments; not positive: nothing does.
func (s standstill) within(from, to time.Time) time.Duration {
	if s.from.After(from) {
		from = s.from
	}
	if s.to.Before(to) {
		to = s.to
	}
	return to.Sub(from)
}

// explains reports whether a client that fetches now and last did so at a time would have come earlier: pmcd
// stood still for most of the time in between, until a moment ago.
func (s standstill) explains(last, now time.Time) bool {
	return now.Sub(s.to) <= backlog && 2*s.within(last, now) > now.Sub(last)
}

// typical is the median of the intervals, 0 when there is none yet. Of two it is the last: the first may have
// begun with a fetch that was late.
func (p *plan) typical() time.Duration { return p.median }

// steady reports whether the next fetch can be foretold: most intervals are about the typical one, or most fetches
// came about when a grid wants them. Of two intervals nobody can tell: the last may be it.
func (p *plan) steady() bool {
	t := p.typical()
	n := 0
	for _, i := range p.intervals {
		if alike(i, t) {
			n++
		}
	}
	return 2*n > len(p.intervals) || len(p.intervals) == 2 || p.onGrid()
}

// onGrid reports whether most fetches came about when a grid wants them: a client that is held up often has
// one interval that is too long and one that is too short each time.
func (p *plan) onGrid() bool {
	period := p.period()
	if period <= 0 || len(p.intervals) < remembered/2 { // of few fetches most are about somewhere
		return false
	}
	offsets, n := p.offsets(period)
	median, near := offsets[n/2], 0
	for _, o := range offsets[:n] {
		if alike(period+o-median, period) {
			near++
		}
	}
	return 3*near >= 2*n // of fetches at any time, some are near a grid by chance
}

// kind is what the fetch that is there now is to the context.
func (p *plan) kind() control.FetchKind {
	switch {
	case p.fetches == 0:
		return control.FirstFetch
	case p.fetches == 1:
		return control.SecondFetch
	case p.expected.IsZero():
		return control.IrregularFetch
	}
	return control.RegularFetch
}

// background is how long after a time to sample again for a context that may fetch at any time.
func (p *plan) background(after time.Time) time.Duration {
	if len(p.intervals) == 0 || p.steady() {
		return mostPace
	}
	silent := max(p.intervals[len(p.intervals)-1], after.Sub(p.last))
	return min(max(silent/4, leastPace), mostPace)
}

// fetched notes a fetch and sets the time of the next sample.
func (p *plan) fetched(now time.Time, feeds []*feed) {
	p.feeds = feeds
	last := now
	switch {
	case p.last.IsZero():
		p.judge(now)
	case p.stood.explains(p.last, now):
		last = p.resume(now)
	default:
		p.judge(now)
		p.learn(now.Sub(p.last))
	}
	p.last, p.rung, p.expected, p.due = last, 0, time.Time{}, time.Time{}
	p.pace.next, p.grid.next = time.Time{}, time.Time{}
	switch {
	case p.unknown():
		p.climb()
	case p.steady():
		p.foretell(now)
		if !p.quick() {
			p.due = p.expected.Add(-p.lead())
		}
	}
	p.plan(now)
}

// unknown reports whether nothing can be said of the next fetch: a second one at once may have been because the first
// brought no value, after which pmval asks again.
func (p *plan) unknown() bool { return len(p.intervals) == 0 || len(p.intervals) == 1 && p.quick() }

// quick reports whether a client fetches so often that the time to sample for its next fetch is while this
// one is served. Nothing has to be waited for then, and nobody woken.
func (p *plan) quick() bool { return len(p.intervals) > 0 && p.typical() <= lead }

// plan sets the time of the next sample after a time.
func (p *plan) plan(after time.Time) {
	p.at = p.due
	if p.right >= trusted {
		if !p.due.IsZero() {
			return
		}
		after = p.expected // if the fetch does not come then, nobody knows when
	}
	next := after.Add(p.background(after))
	if (p.at.IsZero() || next.Before(p.at)) && !next.After(p.last.Add(restless)) {
		p.at = next
	}
}

// judge compares what was foretold with the fetch that has come.
func (p *plan) judge(now time.Time) {
	if !p.expected.IsZero() && alike(now.Sub(p.last), p.expected.Sub(p.last)) {
		p.right++
	} else {
		p.right = 0
	}
	interval := p.typical()
	p.pace.note(now, interval)
	p.grid.note(now, interval)
	// A fetch that the better forecast has right is not early, whatever was expected.
	early := max(0, p.better().next.Sub(now)) // 0 if nothing was expected
	if early > interval/8+lead {
		early = 0
	}
	p.early[p.fetches%remembered] = early
	p.fetches++
}

// resume notes a fetch that was held up, which says nothing of the client's interval, and returns when it would
// have come: at the last moment of the grid, if that is known.
func (p *plan) resume(now time.Time) time.Time {
	p.early[p.fetches%remembered] = 0
	p.fetches++
	period := p.period()
	if !p.steady() || period <= 0 {
		return now
	}
	phase := p.phase(period)
	p.remember(period + phase) // whatever multiple of the period it was
	grid := p.last.Add(phase)
	return grid.Add(now.Sub(grid).Truncate(period))
}

// better is the forecast that was right lately. Most tools keep to a grid: what can hardly be told apart is one.
func (p *plan) better() *forecast {
	if p.pace.off+slack < p.grid.off {
		return &p.pace
	}
	return &p.grid
}

// learn takes another interval into account. Two that agree and differ from those before are new ones:
// the others are forgotten.
func (p *plan) learn(interval time.Duration) {
	if n := len(p.intervals); n > 1 {
		last, old := p.intervals[n-1], p.typical()
		if alike(interval, last) && !alike(interval, old) && !alike(last, old) {
			p.intervals = append(p.intervals[:0], last)
			p.pace, p.grid, p.early = forecast{}, forecast{}, [remembered]time.Duration{}
		}
	}
	p.remember(interval)
}

func (p *plan) remember(interval time.Duration) {
	if len(p.intervals) == remembered {
		p.intervals = append(p.intervals[:0], p.intervals[1:]...)
	}
	p.intervals = append(p.intervals, interval)
	if len(p.intervals) == 2 {
		p.median = interval
		return
	}
	var sorted [remembered]time.Duration
	n := copy(sorted[:], p.intervals)
	slices.Sort(sorted[:n])
	p.median = sorted[n/2]
}

// alike reports whether an interval is about as long as another.
func alike(i, of time.Duration) bool { return (i - of).Abs() <= of/8+lead }

// foretell says when the next fetch is to be expected after one now.
func (p *plan) foretell(now time.Time) {
	p.pace.next = now.Add(p.typical())
	if p.quick() { // no sample is planned for it, and it is not to wait for what would tell when
		p.expected = p.pace.next
		return
	}
	period := p.period()
	p.grid.next = p.last.Add(p.phase(period) + period)
	p.expected = p.better().next
}

// period is the distance of the moments that a client fetches at, if it keeps to a grid and leaves some of
// them out when it is held up: the median of what each two fetches say. Late ones hardly move it.
func (p *plan) period() time.Duration {
	if len(p.intervals) == 2 && !alike(p.intervals[0], p.intervals[1]) {
		return p.intervals[1]
	}
	const pairs = remembered * (remembered + 1) / 2
	var slopes [pairs]time.Duration
	typical, n := max(p.typical(), 1), 0
	for i := range p.intervals {
		var sum, steps time.Duration
		for _, interval := range p.intervals[i:] {
			sum += interval
			steps += max(1, interval.Round(typical)/typical)
			slopes[n] = sum / steps
			n++
		}
	}
	slices.Sort(slopes[:n])
	return slopes[n/2]
}

// phase is how far the last fetch is from where the fetches before it suggest, by their median.
func (p *plan) phase(period time.Duration) time.Duration {
	offsets, n := p.offsets(period)
	return offsets[n/2]
}

// offsets are the n distances of the fetches from multiples of a period before the last one, in ascending order.
func (p *plan) offsets(period time.Duration) (offsets [remembered + 1]time.Duration, n int) {
	n = 1 // the last fetch itself
	before := time.Duration(0)
	for i := len(p.intervals) - 1; i >= 0; i-- {
		before += period - p.intervals[i]
		before -= before.Round(period)
		offsets[n] = before
		n++
	}
	slices.Sort(offsets[:n])
	return offsets, n
}

// forecast is one way to foretell a fetch, and how well that went lately.
type forecast struct {
	next time.Time     // zero: none
	off  time.Duration // by how much it was wrong, smoothed
}

// note compares the forecast with the fetch that has come. One that is not about it is no error.
func (f *forecast) note(now time.Time, interval time.Duration) {
	if off := now.Sub(f.next).Abs(); !f.next.IsZero() && off < interval/2 {
		f.off += (off - f.off) / memory
	}
}

// lead is how long before the expected fetch the sample is asked for: longer than usual for a client
// that came too early lately, and for one that is not known well.
func (p *plan) lead() time.Duration {
	early := slices.Max(p.early[:])
	if p.right < trusted {
		early = max(early, unsureLead-lead)
	}
	return lead + min(early, maxLead-lead, p.typical()/4)
}

// climb sets the time of the next guess for a context that has fetched once. There are two for each rung,
// since a first fetch that was late is followed by a second one that comes early.
func (p *plan) climb() {
	rung, before := p.rung/2, firstLead
	if p.rung%2 > 0 {
		before = lead
	}
	after := ladder[len(ladder)-1] * time.Duration(rung-len(ladder)+2)
	if rung < len(ladder) {
		after = ladder[rung]
	}
	p.rung++
	p.due = time.Time{}
	if after <= ladderEnd {
		p.due = p.last.Add(after - before)
	}
}

// sampled is called when the sample of the time has been asked for.
func (p *plan) sampled(now time.Time) {
	if p.once {
		p.at = now.Add(mostPace)
		if p.at.After(p.last.Add(undecided)) {
			p.at, p.feeds = time.Time{}, p.feeds[:0] // what is looked up next is another matter
		}
		return
	}
	if !p.due.IsZero() && !p.due.After(p.at) {
		p.due = time.Time{}
		if p.unknown() {
			p.climb()
		}
	}
	if p.due.IsZero() && now.After(p.expected) {
		p.right = 0 // it did not come when it was expected
	}
	p.plan(now)
}

package predict

import (
	"slices"
	"time"
)

const (
	// Lead is how long before an expected fetch its sample is asked for. A shorter one misses
	// more fetches than it makes samples younger (docs/pmcd.md c).
	Lead = 5 * time.Millisecond

	// unsureLead is the lead for a client that has not been foretold rightly often enough.
	unsureLead = 8 * time.Millisecond

	// maxLead is the longest lead for a client whose fetches come at unsteady times.
	maxLead = 25 * time.Millisecond

	// Slack is what can hardly be told apart.
	Slack = Lead / 4

	// remembered is how many intervals of a context the next one is foretold from.
	remembered = 8

	// smoothing is over how many fetches the errors of a forecast are smoothed.
	smoothing = 4

	// trusted is how many times in a row a context must have been foretold rightly to be sampled for only then.
	trusted = 3

	// A fetch that comes within backlog after pmcd was busy with something long was held up by that.
	backlog = 20 * time.Millisecond
)

// Rhythm is the fetches of one context, as far as they tell when it will fetch next. The zero value has none.
type Rhythm struct {
	last      time.Time                 // of the last fetch; when it would have come if it was held up
	intervals []time.Duration           // the last ones, oldest first
	median    time.Duration             // of these; see Interval
	pace      forecast                  // of a client that waits for an interval after each fetch
	grid      forecast                  // of one that fetches at multiples of it, late now and then
	expected  time.Time                 // the better one; zero: nothing is foretold
	early     [remembered]time.Duration // how much too early the last fetches came
	fetches   int
	right     int // fetches in a row that came when they were expected
}

// Fetches is how many there were.
func (r *Rhythm) Fetches() int { return r.fetches }

// Last is when the last one came, or would have come if it was held up; zero: there was none.
func (r *Rhythm) Last() time.Time { return r.last }

// Expected is when the next one is expected; zero: at no known time.
func (r *Rhythm) Expected() time.Time { return r.expected }

// Interval is the median of the intervals, 0 when there is none yet. Of two it is the last: the first may have
// begun with a fetch that was late.
func (r *Rhythm) Interval() time.Duration { return r.median }

// Quick reports whether a client fetches so often that the time to sample for its next fetch is while this
// one is served. Nothing has to be waited for then, and nobody woken.
func (r *Rhythm) Quick() bool { return len(r.intervals) > 0 && r.median <= Lead }

// Fetched notes a fetch and says when to sample until the next one. busy is when pmcd served nobody the last time.
func (r *Rhythm) Fetched(now time.Time, busy Interval) Plan {
	last := now
	switch {
	case r.last.IsZero():
		r.judge(now)
	case busy.explains(r.last, now):
		last = r.resume(now)
	default:
		r.judge(now)
		r.learn(now.Sub(r.last))
	}
	r.last, r.expected = last, time.Time{}
	r.pace.next, r.grid.next = time.Time{}, time.Time{}
	p := Plan{last: last, trusted: r.right >= trusted, guessing: r.unknown()}
	steady := r.steady()
	switch {
	case p.guessing:
		p.guess()
	case steady:
		r.foretell(now)
		if p.expected = r.expected; !r.Quick() {
			p.due = r.expected.Add(-r.lead())
		}
	}
	if !steady && len(r.intervals) > 0 {
		p.unsteady = r.intervals[len(r.intervals)-1]
	}
	p.next(now)
	return p
}

// steady reports whether the next fetch can be foretold: most intervals are about the typical one, or most fetches
// came about when a grid wants them. Of two intervals nobody can tell: the last may be it.
func (r *Rhythm) steady() bool {
	t := r.median
	n := 0
	for _, i := range r.intervals {
		if alike(i, t) {
			n++
		}
	}
	return 2*n > len(r.intervals) || len(r.intervals) == 2 || r.onGrid()
}

// onGrid reports whether most fetches came about when a grid wants them: a client that is held up often has
// one interval that is too long and one that is too short each time.
func (r *Rhythm) onGrid() bool {
	period := r.period()
	if period <= 0 || len(r.intervals) < remembered/2 { // of few fetches most are about somewhere
		return false
	}
	offsets, n := r.offsets(period)
	median, near := offsets[n/2], 0
	for _, o := range offsets[:n] {
		if alike(period+o-median, period) {
			near++
		}
	}
	return 3*near >= 2*n // of fetches at any time, some are near a grid by chance
}

// unknown reports whether nothing can be said of the next fetch: a second one at once may have been because the first
// brought no value, after which pmval asks again.
func (r *Rhythm) unknown() bool { return len(r.intervals) == 0 || len(r.intervals) == 1 && r.Quick() }

// judge compares what was foretold with the fetch that has come.
func (r *Rhythm) judge(now time.Time) {
	if r.late(now) {
		r.right = 0
	}
	if !r.expected.IsZero() && alike(now.Sub(r.last), r.expected.Sub(r.last)) {
		r.right++
	} else {
		r.right = 0
	}
	interval := r.median
	r.pace.note(now, interval)
	r.grid.note(now, interval)
	// A fetch that the better forecast has right is not early, whatever was expected.
	early := max(0, r.better().next.Sub(now)) // 0 if nothing was expected
	if early > interval/8+Lead {
		early = 0
	}
	r.early[r.fetches%remembered] = early
	r.fetches++
}

// late reports whether the fetch that was expected did not come before one at any time was sampled for.
func (r *Rhythm) late(now time.Time) bool {
	if r.expected.IsZero() {
		return false
	}
	next := r.expected.Add(mostPace)
	return now.After(next) && !next.After(r.last.Add(restless))
}

// resume notes a fetch that was held up, which says nothing of the client's interval, and returns when it would
// have come: at the last moment of the grid, if that is known.
func (r *Rhythm) resume(now time.Time) time.Time {
	r.early[r.fetches%remembered] = 0
	r.fetches++
	period := r.period()
	if !r.steady() || period <= 0 {
		return now
	}
	phase := r.phase(period)
	r.remember(period + phase) // whatever multiple of the period it was
	grid := r.last.Add(phase)
	return grid.Add(now.Sub(grid).Truncate(period))
}

// better is the forecast that was right lately. Most tools keep to a grid: what can hardly be told apart is one.
func (r *Rhythm) better() *forecast {
	if r.pace.off+Slack < r.grid.off {
		return &r.pace
	}
	return &r.grid
}

// learn takes another interval into account. Two that agree and differ from those before are new ones:
// the others are forgotten.
func (r *Rhythm) learn(interval time.Duration) {
	if n := len(r.intervals); n > 1 {
		last, old := r.intervals[n-1], r.median
		if alike(interval, last) && !alike(interval, old) && !alike(last, old) {
			r.intervals = append(r.intervals[:0], last)
			r.pace, r.grid, r.early = forecast{}, forecast{}, [remembered]time.Duration{}
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

// foretell says when the next fetch is to be expected after one now.
func (r *Rhythm) foretell(now time.Time) {
	r.pace.next = now.Add(r.median)
	if r.Quick() { // no sample is planned for it, and it is not to wait for what would tell when
		r.expected = r.pace.next
		return
	}
	period := r.period()
	r.grid.next = r.last.Add(r.phase(period) + period)
	r.expected = r.better().next
}

// period is the distance of the moments that a client fetches at, if it keeps to a grid and leaves some of
// them out when it is held up: the median of what each two fetches say. Late ones hardly move it.
func (r *Rhythm) period() time.Duration {
	if len(r.intervals) == 2 && !alike(r.intervals[0], r.intervals[1]) {
		return r.intervals[1]
	}
	const pairs = remembered * (remembered + 1) / 2
	var slopes [pairs]time.Duration
	typical, n := max(r.median, 1), 0
	for i := range r.intervals {
		var sum, steps time.Duration
		for _, interval := range r.intervals[i:] {
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
func (r *Rhythm) phase(period time.Duration) time.Duration {
	offsets, n := r.offsets(period)
	return offsets[n/2]
}

// offsets are the n distances of the fetches from multiples of a period before the last one, in ascending order.
func (r *Rhythm) offsets(period time.Duration) (offsets [remembered + 1]time.Duration, n int) {
	n = 1 // the last fetch itself
	before := time.Duration(0)
	for i := len(r.intervals) - 1; i >= 0; i-- {
		before += period - r.intervals[i]
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
		f.off += (off - f.off) / smoothing
	}
}

// lead is how long before the expected fetch the sample is asked for: longer than usual for a client
// that came too early lately, and for one that is not known well.
func (r *Rhythm) lead() time.Duration {
	early := slices.Max(r.early[:])
	if r.right < trusted {
		early = max(early, unsureLead-Lead)
	}
	return Lead + min(early, maxLead-Lead, r.median/4)
}

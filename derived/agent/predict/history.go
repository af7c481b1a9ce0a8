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

	// A fetch that comes within backlog after pmcd stood still was held up by that.
	backlog = 20 * time.Millisecond
)

// History is the fetches of one context, as far as they tell when it will fetch next. The zero value has none.
type History struct {
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
func (h *History) Fetches() int { return h.fetches }

// Last is when the last one came, or would have come if it was held up; zero: there was none.
func (h *History) Last() time.Time { return h.last }

// Expected is when the next one is expected; zero: at no known time.
func (h *History) Expected() time.Time { return h.expected }

// Interval is the median of the intervals, 0 when there is none yet. Of two it is the last: the first may have
// begun with a fetch that was late.
func (h *History) Interval() time.Duration { return h.median }

// Quick reports whether a client fetches so often that the time to sample for its next fetch is while this
// one is served. Nothing has to be waited for then, and nobody woken.
func (h *History) Quick() bool { return len(h.intervals) > 0 && h.median <= Lead }

// Fetched notes a fetch and says when to sample until the next one. busy is when pmcd served nobody the last time.
func (h *History) Fetched(now time.Time, busy Interval) Plan {
	last := now
	switch {
	case h.last.IsZero():
		h.judge(now)
	case busy.explains(h.last, now):
		last = h.resume(now)
	default:
		h.judge(now)
		h.learn(now.Sub(h.last))
	}
	h.last, h.expected = last, time.Time{}
	h.pace.next, h.grid.next = time.Time{}, time.Time{}
	p := Plan{last: last, trusted: h.right >= trusted, climbing: h.unknown()}
	steady := h.steady()
	switch {
	case p.climbing:
		p.climb()
	case steady:
		h.foretell(now)
		if p.expected = h.expected; !h.Quick() {
			p.due = h.expected.Add(-h.lead())
		}
	}
	if !steady && len(h.intervals) > 0 {
		p.unsteady = h.intervals[len(h.intervals)-1]
	}
	p.next(now)
	return p
}

// steady reports whether the next fetch can be foretold: most intervals are about the typical one, or most fetches
// came about when a grid wants them. Of two intervals nobody can tell: the last may be it.
func (h *History) steady() bool {
	t := h.median
	n := 0
	for _, i := range h.intervals {
		if alike(i, t) {
			n++
		}
	}
	return 2*n > len(h.intervals) || len(h.intervals) == 2 || h.onGrid()
}

// onGrid reports whether most fetches came about when a grid wants them: a client that is held up often has
// one interval that is too long and one that is too short each time.
func (h *History) onGrid() bool {
	period := h.period()
	if period <= 0 || len(h.intervals) < remembered/2 { // of few fetches most are about somewhere
		return false
	}
	offsets, n := h.offsets(period)
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
func (h *History) unknown() bool { return len(h.intervals) == 0 || len(h.intervals) == 1 && h.Quick() }

// judge compares what was foretold with the fetch that has come.
func (h *History) judge(now time.Time) {
	if h.late(now) {
		h.right = 0
	}
	if !h.expected.IsZero() && alike(now.Sub(h.last), h.expected.Sub(h.last)) {
		h.right++
	} else {
		h.right = 0
	}
	interval := h.median
	h.pace.note(now, interval)
	h.grid.note(now, interval)
	// A fetch that the better forecast has right is not early, whatever was expected.
	early := max(0, h.better().next.Sub(now)) // 0 if nothing was expected
	if early > interval/8+Lead {
		early = 0
	}
	h.early[h.fetches%remembered] = early
	h.fetches++
}

// late reports whether the fetch that was expected did not come before one at any time was sampled for.
func (h *History) late(now time.Time) bool {
	if h.expected.IsZero() {
		return false
	}
	next := h.expected.Add(mostPace)
	return now.After(next) && !next.After(h.last.Add(restless))
}

// resume notes a fetch that was held up, which says nothing of the client's interval, and returns when it would
// have come: at the last moment of the grid, if that is known.
func (h *History) resume(now time.Time) time.Time {
	h.early[h.fetches%remembered] = 0
	h.fetches++
	period := h.period()
	if !h.steady() || period <= 0 {
		return now
	}
	phase := h.phase(period)
	h.remember(period + phase) // whatever multiple of the period it was
	grid := h.last.Add(phase)
	return grid.Add(now.Sub(grid).Truncate(period))
}

// better is the forecast that was right lately. Most tools keep to a grid: what can hardly be told apart is one.
func (h *History) better() *forecast {
	if h.pace.off+Slack < h.grid.off {
		return &h.pace
	}
	return &h.grid
}

// learn takes another interval into account. Two that agree and differ from those before are new ones:
// the others are forgotten.
func (h *History) learn(interval time.Duration) {
	if n := len(h.intervals); n > 1 {
		last, old := h.intervals[n-1], h.median
		if alike(interval, last) && !alike(interval, old) && !alike(last, old) {
			h.intervals = append(h.intervals[:0], last)
			h.pace, h.grid, h.early = forecast{}, forecast{}, [remembered]time.Duration{}
		}
	}
	h.remember(interval)
}

func (h *History) remember(interval time.Duration) {
	if len(h.intervals) == remembered {
		h.intervals = append(h.intervals[:0], h.intervals[1:]...)
	}
	h.intervals = append(h.intervals, interval)
	if len(h.intervals) == 2 {
		h.median = interval
		return
	}
	var sorted [remembered]time.Duration
	n := copy(sorted[:], h.intervals)
	slices.Sort(sorted[:n])
	h.median = sorted[n/2]
}

// alike reports whether an interval is about as long as another.
func alike(i, of time.Duration) bool { return (i - of).Abs() <= of/8+Lead }

// foretell says when the next fetch is to be expected after one now.
func (h *History) foretell(now time.Time) {
	h.pace.next = now.Add(h.median)
	if h.Quick() { // no sample is planned for it, and it is not to wait for what would tell when
		h.expected = h.pace.next
		return
	}
	period := h.period()
	h.grid.next = h.last.Add(h.phase(period) + period)
	h.expected = h.better().next
}

// period is the distance of the moments that a client fetches at, if it keeps to a grid and leaves some of
// them out when it is held up: the median of what each two fetches say. Late ones hardly move it.
func (h *History) period() time.Duration {
	if len(h.intervals) == 2 && !alike(h.intervals[0], h.intervals[1]) {
		return h.intervals[1]
	}
	const pairs = remembered * (remembered + 1) / 2
	var slopes [pairs]time.Duration
	typical, n := max(h.median, 1), 0
	for i := range h.intervals {
		var sum, steps time.Duration
		for _, interval := range h.intervals[i:] {
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
func (h *History) phase(period time.Duration) time.Duration {
	offsets, n := h.offsets(period)
	return offsets[n/2]
}

// offsets are the n distances of the fetches from multiples of a period before the last one, in ascending order.
func (h *History) offsets(period time.Duration) (offsets [remembered + 1]time.Duration, n int) {
	n = 1 // the last fetch itself
	before := time.Duration(0)
	for i := len(h.intervals) - 1; i >= 0; i-- {
		before += period - h.intervals[i]
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
func (h *History) lead() time.Duration {
	early := slices.Max(h.early[:])
	if h.right < trusted {
		early = max(early, unsureLead-Lead)
	}
	return Lead + min(early, maxLead-Lead, h.median/4)
}

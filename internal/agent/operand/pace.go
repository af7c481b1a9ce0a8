package operand

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"pmdaderived/internal/wait"
	"pmdaderived/pdu"
)

const (
	// What is refused is asked for again after firstGap, then slower and slower, down to lastGap, or to againGap if the reason is
	// that this is not the time to ask: so it is with an agent that is left alone because it is slow.
	firstGap = 50 * time.Millisecond
	againGap = 5 * time.Second
	lastGap  = time.Minute

	// shareOfPMCD is how many times as long as it took something is not asked for again: it gets at most a tenth of pmcd's time.
	shareOfPMCD = 9
)

// Pace is how often something is asked for that may be refused, or take long. The zero value: it has not been yet.
type Pace struct {
	Next time.Time // not before

	gap  wait.Backoff
	rest time.Time // until then, whatever it was for
}

// Asked notes that something was asked for until now, how long that took, and why it was refused, if it was (< 0).
func (p *Pace) Asked(now time.Time, took time.Duration, refused pdu.Code) {
	p.rest = now.Add(shareOfPMCD * took)
	switch {
	case refused >= 0:
		p.gap.Reset()
		p.Next = p.later(now)
	case refused == pdu.ErrAgain:
		p.again(now, againGap)
	default:
		p.again(now, lastGap)
	}
}

// Begin says that it may be told now: it is asked for soon, and then slower and slower.
func (p *Pace) Begin(now time.Time) {
	p.gap.Reset()
	p.again(now, lastGap)
}

// again has it asked for again after a gap that is longer than the one before, but for the longest.
func (p *Pace) again(now time.Time, longest time.Duration) {
	p.gap.Least, p.gap.Most = firstGap, longest
	p.Next = p.later(now.Add(p.gap.Next()))
}

func (p *Pace) later(t time.Time) time.Time {
	if t.Before(p.rest) {
		return p.rest
	}
	return t
}

// Waiting is the domains that are to be looked up, each at its pace: those whose instances change all the time, those whose owner
// takes long, and those whose owner cannot answer. For one goroutine.
type Waiting map[pdu.InDom]*waiting

type waiting struct {
	Pace
	took   time.Duration
	wanted bool
}

// Add adds domains whose instances are not what they were.
func (w Waiting) Add(domains ...pdu.InDom) {
	for _, d := range domains {
		if w[d] == nil {
			w[d] = &waiting{}
		}
		w[d].wanted = true
	}
}

// Now returns those of the domains that may be asked for out of their turn, because they matter to something new. The others, whose
// owner cannot answer, are added.
func (w Waiting) Now(now time.Time, domains []pdu.InDom) (ready []pdu.InDom) {
	for _, d := range domains {
		x := w[d]
		if x != nil && x.gap.Last() > 0 && x.Next.After(now) {
			w.Add(d)
			continue
		}
		if x != nil {
			x.wanted = false
		}
		ready = append(ready, d)
	}
	return ready
}

// Asked notes that a domain was looked up until now, how long that took, and what came of it.
func (w Waiting) Asked(d pdu.InDom, now time.Time, took time.Duration, err error) {
	if w[d] == nil {
		w[d] = &waiting{}
	}
	w[d].Pace.Asked(now, took, pdu.CodeOf(err))
	w[d].took, w[d].wanted = took, w[d].wanted || err != nil
}

// Due takes out those that may be asked for now, those that took longest last. Domains that are not needed are forgotten.
func (w Waiting) Due(now time.Time, needed Domains) (due []pdu.InDom) {
	maps.DeleteFunc(w, func(d pdu.InDom, _ *waiting) bool { return needed[d] == nil })
	for d, x := range w {
		if x.wanted && !x.Next.After(now) {
			x.wanted = false
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b pdu.InDom) int { return cmp.Compare(w[a].took, w[b].took) })
	return due
}

// Next is when the next one is due; zero: none is waiting.
func (w Waiting) Next() (next time.Time) {
	for _, x := range w {
		if x.wanted && (next.IsZero() || x.Next.Before(next)) {
			next = x.Next
		}
	}
	return next
}

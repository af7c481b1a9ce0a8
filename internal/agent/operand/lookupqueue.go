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

// retry is how often something is asked for that may be refused, or take long. The zero value: it has not been yet.
type retry struct {
	next time.Time // not before

	backoff   wait.Backoff
	restUntil time.Time // until then, whatever it was for
}

// recordAnswer notes that something was asked for until now, how long that took, and why it was refused, if it was (< 0).
func (r *retry) recordAnswer(now time.Time, took time.Duration, refused pdu.Code) {
	r.restUntil = now.Add(shareOfPMCD * took)
	switch {
	case refused >= 0:
		r.backoff.Reset()
		r.next = r.afterRest(now)
	case refused == pdu.ErrAgain:
		r.backOff(now, againGap)
	default:
		r.backOff(now, lastGap)
	}
}

// restart says that it may be told now: it is asked for soon, and then slower and slower.
func (r *retry) restart(now time.Time) {
	r.backoff.Reset()
	r.backOff(now, lastGap)
}

// backOff has it asked for again after a gap that is longer than the one before, but for the longest.
func (r *retry) backOff(now time.Time, longest time.Duration) {
	r.backoff.Least, r.backoff.Most = firstGap, longest
	r.next = r.afterRest(now.Add(r.backoff.Next()))
}

func (r *retry) afterRest(t time.Time) time.Time {
	if t.Before(r.restUntil) {
		return r.restUntil
	}
	return t
}

// LookupQueue is the domains that are to be looked up, each at its pace: those whose instances change all the time, those whose owner
// takes long, and those whose owner cannot answer. For one goroutine.
type LookupQueue map[pdu.InDom]*queuedDomain

type queuedDomain struct {
	retry
	took   time.Duration
	queued bool
}

// Add adds domains whose instances are not what they were.
func (q LookupQueue) Add(domains ...pdu.InDom) {
	for _, d := range domains {
		if q[d] == nil {
			q[d] = &queuedDomain{}
		}
		q[d].queued = true
	}
}

// Now returns those of the domains that may be asked for out of their turn, because they matter to something new. The others, whose
// owner cannot answer, are added.
func (q LookupQueue) TakeReady(now time.Time, domains []pdu.InDom) (ready []pdu.InDom) {
	for _, d := range domains {
		x := q[d]
		if x != nil && x.backoff.Last() > 0 && x.next.After(now) {
			q.Add(d)
			continue
		}
		if x != nil {
			x.queued = false
		}
		ready = append(ready, d)
	}
	return ready
}

// Asked notes that a domain was looked up until now, how long that took, and what came of it.
func (q LookupQueue) RecordLookup(d pdu.InDom, now time.Time, took time.Duration, err error) {
	if q[d] == nil {
		q[d] = &queuedDomain{}
	}
	q[d].retry.recordAnswer(now, took, pdu.CodeOf(err))
	q[d].took, q[d].queued = took, q[d].queued || err != nil
}

// TakeDue takes out those that may be asked for now, those that took longest last. Domains that are not needed are forgotten.
func (q LookupQueue) TakeDue(now time.Time, needed InDomNeeds) (due []pdu.InDom) {
	maps.DeleteFunc(q, func(d pdu.InDom, _ *queuedDomain) bool { return needed[d] == nil })
	for d, x := range q {
		if x.queued && !x.next.After(now) {
			x.queued = false
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b pdu.InDom) int { return cmp.Compare(q[a].took, q[b].took) })
	return due
}

// next is when the next one is due; zero: none is waiting.
func (q LookupQueue) NextDue() (next time.Time) {
	for _, x := range q {
		if x.queued && (next.IsZero() || x.next.Before(next)) {
			next = x.next
		}
	}
	return next
}

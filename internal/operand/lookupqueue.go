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
	// A refused request is repeated after firstGap, then after longer and longer gaps, up to lastGap. After PM_ERR_AGAIN
	// the gap is at most againGap: the code also stands for a slow agent that rests.
	firstGap = 50 * time.Millisecond
	againGap = 5 * time.Second
	lastGap  = time.Minute

	// The instances of a domain are looked up again when the last lookup is older than refreshAge, because an instance can
	// get another name or other labels without a word. At most one part in refreshShare of all domains, and one, is queued
	// at a time. With a search each 5 s that is after 10 s, or 15 s. A domain without samples since refreshLimit before its
	// last lookup waits for the next sample.
	refreshAge   = 7500 * time.Millisecond
	refreshShare = 2
	refreshLimit = time.Minute

	// A request is not repeated for shareOfPMCD times as long as it took, so that it takes at most a tenth of pmcd's time.
	shareOfPMCD = 9
)

// retry says when to ask again for something that the agent may refuse, or take long for. The zero value means: ask
// now.
type retry struct {
	next      time.Time // the earliest time of the next request
	backoff   wait.Backoff
	restUntil time.Time // the earliest time after the last request, whatever its outcome
}

// recordAnswer sets the time of the next request after one that ended now. refused is the error of the answer, 0 or
// more if there is none.
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

// restart sets the next request to the shortest gap after now, since the answer may have changed.
func (r *retry) restart(now time.Time) {
	r.backoff.Reset()
	r.backOff(now, lastGap)
}

// backOff sets the next request after a gap that is longer than the one before, up to longest.
func (r *retry) backOff(now time.Time, longest time.Duration) {
	r.backoff.Least, r.backoff.Most = firstGap, longest
	r.next = r.afterRest(now.Add(r.backoff.Next()))
}

// afterRest returns t, or the end of the rest if that is later.
func (r *retry) afterRest(t time.Time) time.Time {
	if t.Before(r.restUntil) {
		return r.restUntil
	}
	return t
}

// LookupQueue has the instance domains to look up, each with its own retry: those whose instances change, those whose
// agent takes long, those whose agent refuses, and those that were looked up long ago. It belongs to one goroutine.
type LookupQueue map[pdu.InDom]*queuedDomain

type queuedDomain struct {
	retry
	asked  time.Time // the end of the last lookup
	took   time.Duration
	queued bool
}

// Add queues instance domains whose instances have changed.
func (q LookupQueue) Add(domains ...pdu.InDom) {
	for _, d := range domains {
		if q[d] == nil {
			q[d] = &queuedDomain{}
		}
		q[d].queued = true
	}
}

// TakeReady returns the domains that may be looked up out of turn, because a new definition needs them, and removes
// them from the queue. It queues the others: their agent refused the last lookup.
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

// RecordLookup sets when a domain may be looked up again, after a lookup that ended now. After an error the domain
// is queued again, unless its agent is away or fenced. It is looked up when pmcd announces that the agent is back, or as
// an old one when it is sampled again.
func (q LookupQueue) RecordLookup(d pdu.InDom, now time.Time, took time.Duration, err error) {
	if q[d] == nil {
		q[d] = &queuedDomain{}
	}
	code := pdu.CodeOf(err)
	switch code {
	case pdu.ErrNoAgent, pdu.ErrPMDAFenced:
		code = 0
	case pdu.ErrIPC:
		took = 0 // pmcd has mostly given the agent up, and waits for it no more
	}
	q[d].recordAnswer(now, took, code)
	q[d].asked, q[d].took, q[d].queued = now, took, q[d].queued || code < 0
}

// AddOld queues some of the domains whose last lookup is refreshAge ago, the oldest first, so that many domains are
// spread over time. sampled says when values of a domain last came. Domains that nobody samples stay as they are.
func (q LookupQueue) AddOld(now time.Time, sampled map[pdu.InDom]time.Time) {
	var old []pdu.InDom
	for d, x := range q {
		if !x.queued && now.Sub(x.asked) >= refreshAge && sampled[d].After(x.asked.Add(-refreshLimit)) {
			old = append(old, d)
		}
	}
	slices.SortFunc(old, func(a, b pdu.InDom) int { return q[a].asked.Compare(q[b].asked) })
	q.Add(old[:min(len(old), len(q)/refreshShare+1)]...)
}

// TakeDue removes the domains that may be looked up now from the queue and returns them. Those whose last lookup
// took longest are last. It forgets domains that are not needed.
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

// NextDue returns when the next domain in the queue is due; zero: the queue is empty.
func (q LookupQueue) NextDue() (next time.Time) {
	for _, x := range q {
		if x.queued && (next.IsZero() || x.next.Before(next)) {
			next = x.next
		}
	}
	return next
}

// Package queue holds the series that are wanted while every connection is busy, and says what the next fetch is for.
// It is pure; the lock of the pool guards it.
//
//	request, schedule ──Add──►  urgent ───┐
//	                            bulk      ├──Next──► fetch ──► a connection
//	                            large  ───┘
//	                            quarantined ─Next──► fetch ──► the last connection
//
//	waits in     a series that                                its fetch is sent
//	urgent       is wanted together with others, and they     first; never on the last connection, unless there is no
//	             have few values: a client is about to fetch  other
//	bulk         has few values, but those wanted with it     likewise, while not too many values are on their way
//	             have not
//	large        has many values                              likewise, by turns with bulk: an agent that has suddenly
//	                                                          many instances does not keep others waiting
//	quarantined  has operands of agents in quarantine         on the last connection, one set of agents at a time
//
// Between Next and EndFetch a fetch is on its way. A series waits in one place at most, and may wait for its next
// sample while an earlier fetch for it is on its way.
package queue

import (
	"math"
	"slices"

	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
)

const (
	// MaxValues is the number of values of one fetch, unless a single series has more. It also bounds the values that
	// are on their way over all connections together, because pmcd serves these one after the other before anybody
	// else.
	MaxValues = 10000

	// MaxUrgent is the number of values up to which series are urgent, and do not count for that bound. Above it a
	// single series is large.
	MaxUrgent = 1000
)

// Series waits in a queue.
type Series interface {
	operand.Source
	slow.Asker
	InQueue() *Member
}

// Member is the queue's part of a series, which embeds it.
type Member struct {
	Outstanding int32 // the number of fetches on their way that bring a new sample
	Waiting     bool  // in the queue
}

// InQueue implements [Series].
func (m *Member) InQueue() *Member { return m }

// Idle reports whether the series does not wait and has no fetch on its way.
func (m *Member) Idle() bool { return !m.Waiting && m.Outstanding == 0 }

// Fetch is a fetch for some series, or a probe, which shows whether one of their agents is slow.
type Fetch[S Series] struct {
	*operand.Batch[S]
	Charged []slow.Budget // of agents in quarantine; nil: none of its agents is
	Probes  []slow.Budget // of a probe: the budgets of the series that wait for it; nil: it is no probe
	values  int           // that count for MaxValues
}

// PMIDs returns the operands of a fetch.
func (f *Fetch[S]) PMIDs() []pdu.PMID { return f.IDs }

// AddBudgets adds to a request the budgets that are charged for a fetch. For agents in quarantine these are always
// charged: a quick answer clears them. Otherwise the agents of all series are charged if the fetch took long.
func (f *Fetch[S]) AddBudgets(r *slow.Request) {
	if r.Budgets = f.Charged; r.Budgets != nil || r.AgentTime < slow.Long {
		return
	}
	for _, s := range f.Sources {
		r.AddBudgets(s.Budgets())
	}
}

// Queue is the series that wait. The zero value is not usable.
type Queue[S Series] struct {
	states      slow.States
	urgent      []S
	bulk        []S
	large       []S
	quarantined []S
	largeNext   bool // the last fetch for bulk or large was for bulk
	outstanding int  // values on their way that count for MaxValues
	batches     operand.BatchCache[S]
}

// New makes an empty queue. The states of agents may change at any time.
func New[S Series](states slow.States) Queue[S] { return Queue[S]{states: states} }

// Add adds those series that are wanted, all of them idle, to be fetched together. It reports whether there is one.
func (q *Queue[S]) Add(series []S, wanted func(S) bool) (added bool) {
	values, before := 0, len(q.bulk)
	for _, s := range series {
		if !wanted(s) {
			continue
		}
		added = true
		values += q.enqueue(s)
	}
	if values <= MaxUrgent {
		q.urgent = append(q.urgent, q.bulk[before:]...)
		q.bulk = slices.Delete(q.bulk, before, len(q.bulk))
	}
	return added
}

// enqueue adds a series to all but urgent. It returns the number of values that it has in bulk.
func (q *Queue[S]) enqueue(s S) int {
	s.InQueue().Waiting = true
	values := s.Size()
	switch {
	case q.states.Suspected(s.Budgets()...):
		q.quarantined = append(q.quarantined, s)
	case values > MaxUrgent:
		q.large = append(q.large, s)
	default:
		q.bulk = append(q.bulk, s)
		return values
	}
	return 0
}

// Requeue adds series again whose fetch had no use.
func (q *Queue[S]) Requeue(series ...S) {
	for _, s := range series {
		if s.InQueue().Idle() {
			q.enqueue(s)
		}
	}
}

// DropQuarantined drops some of the series in quarantine.
func (q *Queue[S]) DropQuarantined(which func(S) bool) {
	q.quarantined = slices.DeleteFunc(q.quarantined, func(s S) bool {
		drop := which(s)
		s.InQueue().Waiting = !drop
		return drop
	})
}

// Waiting returns all series that wait.
func (q *Queue[S]) Waiting() []S { return slices.Concat(q.urgent, q.bulk, q.large, q.quarantined) }

// Clear drops all series. Fetches do not count as outstanding any more.
func (q *Queue[S]) Clear() {
	for _, s := range q.Waiting() {
		s.InQueue().Waiting = false
	}
	*q = Queue[S]{states: q.states, batches: q.batches}
}

// ForgetBatches drops the references to series of earlier fetches, which may not be served any more.
func (q *Queue[S]) ForgetBatches() { q.batches.Clear() }

// Next returns the next fetch for a free connection, and reports whether there is one. The connection may be for all
// agents, for those in quarantine, or for both. The fetch has at most so many operands, unless a single series has
// more.
func (q *Queue[S]) Next(forAll, forSlow bool, operands int) (next *Fetch[S], ok bool) {
	var f Fetch[S]
	switch {
	case forSlow && len(q.quarantined) > 0:
		q.nextQuarantined(&f, operands)
	case forAll && len(q.urgent) > 0:
		f.Batch = q.batches.Batch(q.urgent, operands, MaxValues)
		q.urgent = slices.Delete(q.urgent, 0, len(f.Sources))
	case forAll && len(q.bulk)+len(q.large) > 0 && q.outstanding < MaxValues:
		from := &q.bulk
		if len(q.bulk) == 0 || len(q.large) > 0 && q.largeNext {
			from = &q.large
		}
		f.Batch = q.batches.Batch(*from, operands, MaxValues)
		f.values = f.Size()
		if q.outstanding > 0 && q.outstanding+f.values > MaxValues {
			return nil, false
		}
		q.outstanding += f.values
		*from = slices.Delete(*from, 0, len(f.Sources))
		q.largeNext = from == &q.bulk
	default:
		return nil, false
	}
	for _, s := range f.Sources {
		m := s.InQueue()
		m.Waiting = false
		m.Outstanding++
	}
	fetch := f // f need not be on the heap when there is nothing to fetch
	return &fetch, true
}

// nextQuarantined fills a fetch for series in quarantine, or a probe of one of their agents.
func (q *Queue[S]) nextQuarantined(f *Fetch[S], operands int) {
	taken, charged, probe := slow.ChooseNext(q.states, q.quarantined, operands)
	f.Batch, f.Charged = q.batches.Batch(taken, math.MaxInt, math.MaxInt), charged
	if probe {
		f.Probes = taken[0].Budgets()
		f.Batch = &operand.Batch[S]{List: f.Of(charged[0].Domain)}
	} else {
		for _, s := range taken {
			s.InQueue().Waiting = false
		}
		q.quarantined = slices.DeleteFunc(q.quarantined, func(s S) bool { return !s.InQueue().Waiting })
	}
	q.states.SetOutstanding(charged)
}

// EndFetch records that a fetch is not on its way any more, whatever its outcome was. If it was a probe that was not
// quick, the series that waited for it are dropped: they are fetched when somebody wants them again.
func (q *Queue[S]) EndFetch(f *Fetch[S]) {
	for _, s := range f.Sources {
		s.InQueue().Outstanding--
	}
	q.outstanding -= f.values
	q.states.ClearOutstanding(f.Charged)
	if f.Probes != nil {
		q.DropQuarantined(func(s S) bool { return slices.Equal(s.Budgets(), f.Probes) })
	}
}

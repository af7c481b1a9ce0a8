// Package queue holds the series that are wanted while every connection is busy, and says what the next fetch is for. It is pure, and
// guarded by who has it.
//
//	where a series waits  which                                      its fetch goes out
//	few                   wanted together, with few values: what     first; never on the last connection, unless there
//	                      somebody asks for who is about to fetch    is no other
//	many                  others, with few values each               likewise, while not too many values are on their way
//	wide                  with more values                           likewise, by turns with many: an agent that has suddenly
//	                                                                 many instances does not keep others waiting
//	apart                 with operands of agents in quarantine      on the last connection, one set of agents at a time
//
// Between Next and EndFetch a fetch is on its way. A series is in one place at most, and may wait for its next sample while an
// earlier fetch for it is on its way.
package queue

import (
	"math"
	"slices"

	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/pdu"
)

const (
	// MaxValues is how many values one upstream fetch has at most, as far as those of one metric need not be parted. No
	// more than that are on their way over all connections together: pmcd serves them one after the other before anybody else.
	MaxValues = 10000

	// MaxUrgent need not wait for that.
	MaxUrgent = 1000
)

// Series is what waits.
type Series interface {
	operand.Source
	slow.Asker
	InQueue() *Member
}

// Member is what the queue knows of a series, which embeds it.
type Member struct {
	Outstanding int32 // fetches on their way that will bring a new sample
	Waiting     bool  // wanted when no connection was free
}

// InQueue implements [Series].
func (m *Member) InQueue() *Member { return m }

// Idle reports that nothing is on its way, and nothing waits.
func (m *Member) Idle() bool { return !m.Waiting && m.Outstanding == 0 }

// Fetch is one for some series, or for what shows whether an agent of theirs is slow.
type Fetch[S Series] struct {
	*operand.Batch[S]
	Charged []slow.Budget // agents in quarantine that it is for; nil: of none that is
	Probes  []slow.Budget // it is for one agent of these alone and brings no sample: series wait for it; nil: it is for series
	values  int           // of many or wide
}

// PMIDs are the operands of a fetch.
func (f *Fetch[S]) PMIDs() []pdu.PMID { return f.IDs }

// AddBudgets adds to a request those who are charged for a fetch: agents in quarantine that it is for, else, if it took long, the agents of its series.
func (f *Fetch[S]) AddBudgets(r *slow.Request) {
	if r.Budgets = f.Charged; r.Budgets != nil || r.AgentTime < slow.Long {
		return
	}
	for _, s := range f.Sources {
		r.AddBudgets(s.Agents())
	}
}

// Queue is the series that wait. The zero value is not usable.
type Queue[S Series] struct {
	agents      slow.States
	urgent      []S
	bulk        []S
	large       []S
	quarantined []S
	largeNext   bool // the last fetch for many or wide was for many
	outstanding int  // values on their way that were not few
	batches     operand.BatchCache[S]
}

// New makes an empty queue. What is known of slow agents may change meanwhile.
func New[S Series](agents slow.States) Queue[S] { return Queue[S]{agents: agents} }

// Add has those of some series fetched together that are wanted, all of them idle. It reports whether there is one.
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

// enqueue returns how many values a series adds to many.
func (q *Queue[S]) enqueue(s S) int {
	s.InQueue().Waiting = true
	values := s.Size()
	switch {
	case q.agents.Suspected(s.Agents()...):
		q.quarantined = append(q.quarantined, s)
	case values > MaxUrgent:
		q.large = append(q.large, s)
	default:
		q.bulk = append(q.bulk, s)
		return values
	}
	return 0
}

// Requeue has series fetched again that were on a connection.
func (q *Queue[S]) Requeue(series ...S) {
	for _, s := range series {
		if s.InQueue().Idle() {
			q.enqueue(s)
		}
	}
}

// DropQuarantined drops those that wait apart and are not to be asked for any more.
func (q *Queue[S]) DropQuarantined(which func(S) bool) {
	q.quarantined = slices.DeleteFunc(q.quarantined, func(s S) bool {
		drop := which(s)
		s.InQueue().Waiting = !drop
		return drop
	})
}

// Waiting are all series that wait.
func (q *Queue[S]) Waiting() []S { return slices.Concat(q.urgent, q.bulk, q.large, q.quarantined) }

// Clear drops all that waits.
func (q *Queue[S]) Clear() {
	for _, s := range q.Waiting() {
		s.InQueue().Waiting = false
	}
	*q = Queue[S]{agents: q.agents, batches: q.batches}
}

// ForgetBatches lets go of series that nobody may want any more.
func (q *Queue[S]) ForgetBatches() { q.batches.Clear() }

// Next is what to fetch on a connection that is free: for all agents, or for those in quarantine, or both; with so many operands at
// most unless a single series has more. ok says whether there is anything.
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

// nextQuarantined fills a fetch for series in quarantine, or for what shows which of their agents are slow.
func (q *Queue[S]) nextQuarantined(f *Fetch[S], operands int) {
	taken, charged, probe := slow.ChooseNext(q.agents, q.quarantined, operands)
	f.Batch, f.Charged = q.batches.Batch(taken, math.MaxInt, math.MaxInt), charged
	if probe {
		f.Probes = taken[0].Agents()
		f.Batch = &operand.Batch[S]{List: f.Of(charged[0].Domain)}
	} else {
		for _, s := range taken {
			s.InQueue().Waiting = false
		}
		q.quarantined = slices.DeleteFunc(q.quarantined, func(s S) bool { return !s.InQueue().Waiting })
	}
	q.agents.SetOutstanding(charged)
}

// EndFetch notes that a fetch is not on its way any more, whatever came of it. What waited for a probe that was not quick is fetched
// when somebody wants it again.
func (q *Queue[S]) EndFetch(f *Fetch[S]) {
	for _, s := range f.Sources {
		s.InQueue().Outstanding--
	}
	q.outstanding -= f.values
	q.agents.ClearOutstanding(f.Charged)
	if f.Probes != nil {
		q.DropQuarantined(func(s S) bool { return slices.Equal(s.Agents(), f.Probes) })
	}
}

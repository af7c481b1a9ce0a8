package reload

import (
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/pdu"
)

// Snapshot is what is served, and what the agent keeps beside it: that goes on from one to the next, by the operands and by
// the name of a metric.
type Snapshot struct {
	*served.Snapshot
	EntryStates  []EntryState       // its Metrics
	Series       []*upstream.Series // beside its Sets
	OlderSamples []int              // how many older samples each of these needs

	Windows []*upstream.Series // beside those of the Set; nil: it is not kept
	Results *sampler.Results   // what they come to

	PreparedEvaluation atomic.Pointer[derived.Evaluation] // made beforehand, for the first fetch
}

// EntryState is a definition as it is served, and what the agent keeps beside it.
type EntryState struct {
	*served.Entry
	Series           *upstream.Series // nil: not bound
	PerClientWindows []uint32         // its windows that are since the last look of a client
	Usage            *Usage
}

// Usage is what became of a metric when it was fetched last. It belongs to the request loop.
type Usage struct {
	Fetched time.Time // zero: never
	Values  int       // that it had then, for all instances
}

// NewSnapshot makes one that takes the place of another; nil: of none.
func NewSnapshot(s *served.Snapshot, before *Snapshot) *Snapshot {
	if before == nil {
		before = &Snapshot{Snapshot: &served.Snapshot{}}
	}
	made := &Snapshot{
		Snapshot: s, EntryStates: make([]EntryState, len(s.Entries)),
		Series: make([]*upstream.Series, len(s.OperandSets)), OlderSamples: make([]int, len(s.OperandSets)),
	}
	for i, o := range s.OperandSets {
		if former, ok := before.OperandSetIndex(o); ok {
			made.Series[i] = before.Series[former]
		} else {
			made.Series[i] = upstream.NewSeries(o.Descs)
		}
	}
	made.Windows = make([]*upstream.Series, len(s.Windows))
	for k, o := range s.Windows {
		if o != nil {
			i, _ := s.OperandSetIndex(o)
			made.Windows[k] = made.Series[i]
			made.OlderSamples[i] = max(made.OlderSamples[i], s.Set.Windows()[k].Needs().History)
		}
	}
	for m, old := range s.Pairs(before.Snapshot) {
		beside := &made.EntryStates[m.Index]
		beside.Entry = m
		if m.Derived != nil {
			beside.PerClientWindows = perClientWindows(s.Set, m.Derived)
		}
		if m.Operands != nil {
			i, _ := s.OperandSetIndex(m.Operands)
			beside.Series = made.Series[i]
			made.OlderSamples[i] = max(made.OlderSamples[i], m.OlderSamples)
		}
		if old != nil {
			beside.Usage = before.EntryStates[old.Index].Usage
		} else {
			beside.Usage = &Usage{}
		}
	}
	return made
}

// perClientWindows are the windows of a metric that are since the last look of a client.
func perClientWindows(set *derived.Set, m *derived.Metric) (some []uint32) {
	for _, i := range m.Needs().Windows {
		if set.Windows()[i].Span == 0 {
			some = append(some, i)
		}
	}
	return some
}

// EntryState returns the one with a PMID; nil: there is none.
func (s *Snapshot) EntryState(id pdu.PMID) *EntryState {
	if m := s.ByID[id]; m != nil {
		return &s.EntryStates[m.Index]
	}
	return nil
}

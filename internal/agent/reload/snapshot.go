package reload

import (
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
)

// Snapshot is a served.Snapshot with the state of the agent for its metrics and operand sets. This state goes on from
// one snapshot to the next: by the operand set or by the name of the metric.
type Snapshot struct {
	*served.Snapshot
	ServedStates []ServedState      // of Served, by index
	Series       []*upstream.Series // of OperandSets, by index
	OlderSamples []int              // that each of Series needs beside the newest

	WindowSeries []*upstream.Series // of Set.Windows(), by index; nil: the window is not sampled
	WindowTimes  [][]*atomic.Int64  // Usage.WindowTime of the metrics that need each window
	Published    *sampler.Published // of WindowSeries

	PreparedEvaluation atomic.Pointer[derived.Evaluation] // for the first fetch, which takes it
}

// ServedState is a definition as it is served, and the state of the agent for it.
type ServedState struct {
	Served           *served.Served
	Series           *upstream.Series // nil: the definition is not bound
	PerClientWindows []uint32         // its windows that begin at the client's last fetch, by their number in the Set
	Usage            *Usage

	// Why is more about the error that was served last instead of values of this definition; "": nothing is known. It
	// belongs to the request loop.
	Why *string
}

// Usage describes the last fetch of a metric, and what its evaluations have cost. It belongs to the request loop,
// except WindowTime.
type Usage struct {
	Fetched    time.Time     // zero: never
	Values     int           // number of values in that fetch, for all instances
	Time       time.Duration // of all evaluations for clients
	WindowTime atomic.Int64  // ns, of all evaluations for functions over time; the sampler adds to it
}

// NewSnapshot returns a snapshot that replaces before; nil: there is none.
func NewSnapshot(s *served.Snapshot, before *Snapshot) *Snapshot {
	if before == nil {
		before = &Snapshot{Snapshot: &served.Snapshot{}}
	}
	snap := &Snapshot{
		Snapshot: s, ServedStates: make([]ServedState, len(s.Served)),
		Series: make([]*upstream.Series, len(s.OperandSets)), OlderSamples: make([]int, len(s.OperandSets)),
	}
	snap.addSeries(before)
	snap.addWindows()
	snap.addServedStates(before)
	return snap
}

// addSeries sets Series: those of before, and new ones for new operand sets.
func (s *Snapshot) addSeries(before *Snapshot) {
	for i, o := range s.OperandSets {
		if former, ok := before.OperandSetIndex(o); ok {
			s.Series[i] = before.Series[former]
		} else {
			s.Series[i] = upstream.NewSeries(o.Descs)
		}
	}
}

// addWindows sets WindowSeries, and the older samples that they need.
func (s *Snapshot) addWindows() {
	s.WindowSeries = make([]*upstream.Series, len(s.Snapshot.Windows))
	s.WindowTimes = make([][]*atomic.Int64, len(s.WindowSeries))
	for k, o := range s.Snapshot.Windows {
		if o != nil {
			i, _ := s.OperandSetIndex(o)
			s.WindowSeries[k] = s.Series[i]
			s.OlderSamples[i] = max(s.OlderSamples[i], s.Set.Windows()[k].Needs().History)
		}
	}
}

// addServedStates sets ServedStates, and the older samples that the metrics need.
func (s *Snapshot) addServedStates(before *Snapshot) {
	why := make([]string, len(s.ServedStates))
	for m, old := range s.Pairs(before.Snapshot) {
		state := &s.ServedStates[m.Index]
		state.Served, state.Why = m, &why[m.Index]
		if m.Operands != nil {
			i, _ := s.OperandSetIndex(m.Operands)
			state.Series = s.Series[i]
			s.OlderSamples[i] = max(s.OlderSamples[i], m.OlderSamples)
		}
		if old != nil {
			state.Usage = before.ServedStates[old.Index].Usage
		} else {
			state.Usage = &Usage{}
		}
		if m.Derived != nil {
			state.PerClientWindows = perClientWindows(s.Set, m.Derived)
			for _, i := range m.Derived.Needs().Windows {
				s.WindowTimes[i] = append(s.WindowTimes[i], &state.Usage.WindowTime)
			}
		}
	}
}

// perClientWindows returns the windows of a metric that begin at the last fetch of a client, by their number in the
// set.
func perClientWindows(set *derived.Set, m *derived.Metric) (numbers []uint32) {
	for _, i := range m.Needs().Windows {
		if set.Windows()[i].PerClient() {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// ServedState returns the metric with a PMID; nil: there is none.
func (s *Snapshot) ServedState(id pdu.PMID) *ServedState {
	if m := s.ByID[id]; m != nil {
		return &s.ServedStates[m.Index]
	}
	return nil
}

package agent

import (
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/served"
	"pmdaderived/derived/agent/upstream"
	"pmdaderived/pdu"
)

// snapshot is what is served, and what the agent keeps beside it: that goes on from one to the next, by the operands and by
// the name of a metric.
type snapshot struct {
	*served.Snapshot
	metrics []metric           // beside those of the Snapshot
	series  []*upstream.Series // beside its Sets
	older   []int              // how many older samples each of these needs

	spare atomic.Pointer[derived.Evaluation] // made beforehand, for the first fetch
}

// metric is a definition as it is served, and what the agent keeps beside it.
type metric struct {
	*served.Metric
	series *upstream.Series // nil: not bound
	usage  *usage
}

// usage is what became of a metric when it was fetched last. It belongs to the request loop.
type usage struct {
	fetched time.Time // zero: never
	values  int       // that it had then, for all instances
}

// newSnapshot makes one that takes the place of another; nil: of none.
func newSnapshot(s *served.Snapshot, before *snapshot) *snapshot {
	if before == nil {
		before = &snapshot{Snapshot: &served.Snapshot{}}
	}
	made := &snapshot{
		Snapshot: s, metrics: make([]metric, len(s.Metrics)),
		series: make([]*upstream.Series, len(s.Sets)), older: make([]int, len(s.Sets)),
	}
	former := make(map[*served.Operands]*upstream.Series, len(before.Sets))
	for i, o := range before.Sets {
		former[o] = before.series[i]
	}
	place := make(map[*served.Operands]int, len(s.Sets))
	for i, o := range s.Sets {
		place[o] = i
		if made.series[i] = former[o]; made.series[i] == nil {
			made.series[i] = upstream.NewSeries(o.Descs)
		}
	}
	for m, old := range s.Pairs(before.Snapshot) {
		beside := &made.metrics[m.Index]
		beside.Metric = m
		if m.Operands != nil {
			i := place[m.Operands]
			beside.series = made.series[i]
			made.older[i] = max(made.older[i], m.Older)
		}
		if old != nil {
			beside.usage = before.metrics[old.Index].usage
		} else {
			beside.usage = &usage{}
		}
	}
	return made
}

// metric returns the one with a PMID; nil: there is none.
func (s *snapshot) metric(id pdu.PMID) *metric {
	if m := s.ByID[id]; m != nil {
		return &s.metrics[m.Index]
	}
	return nil
}

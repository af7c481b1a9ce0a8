package agent

import (
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/served"
	"pmdaderived/pdu"
)

// snapshot is what is served, and what the agent keeps beside it: that goes on from one to the next, by the operands and by
// the name of a metric.
type snapshot struct {
	*served.Snapshot
	metrics []metric // beside those of the Snapshot
	feeds   []*feed  // beside its Sets

	spare atomic.Pointer[derived.Evaluation] // made beforehand, for the first fetch
}

// metric is a definition as it is served, and what the agent keeps beside it.
type metric struct {
	*served.Metric
	feed  *feed // nil: not bound
	usage *usage
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
	made := &snapshot{Snapshot: s, metrics: make([]metric, len(s.Metrics)), feeds: make([]*feed, len(s.Sets))}
	feeds := make(map[*served.Operands]*feed, max(len(s.Sets), len(before.Sets)))
	for i, o := range before.Sets {
		feeds[o] = before.feeds[i]
	}
	var like []int
	for i, o := range s.Sets {
		f := feeds[o]
		if f == nil {
			f = newFeed(o.Descs, like)
			feeds[o] = f
		}
		made.feeds[i], like = f, f.agents
	}
	for m, old := range s.Pairs(before.Snapshot) {
		beside := &made.metrics[m.Index]
		beside.Metric = m
		if m.Operands != nil {
			beside.feed = feeds[m.Operands]
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

package agent

import (
	"sync/atomic"
	"time"
)

// stats is what the agent counts about itself. All fields may be read at any time.
type stats struct {
	requests        atomic.Uint64
	longest         atomic.Int64 // longest time from a request's arrival to its reply, ns
	requestTime     histogram
	values          atomic.Uint64
	evaluations     atomic.Uint64
	stale           atomic.Uint64 // metrics answered PM_ERR_AGAIN because no sample was young enough
	repeated        atomic.Uint64 // metrics without a value because their sample was not new
	oldest          atomic.Int64  // greatest age of a served sample, ns
	ages            [fetchKinds]histogram
	contexts        atomic.Int64
	contextsDropped atomic.Uint64
	upstreamFetches atomic.Uint64
	upstreamMetrics atomic.Uint64
	upstreamErrors  atomic.Uint64
	upstreamLongest atomic.Int64 // ns
	upstreamTime    histogram
	upstreamBusy    atomic.Int64 // ns
	slowAgents      atomic.Int64
	connected       atomic.Bool
	expression      atomic.Int64 // bytes of the longest
	depth           atomic.Int64 // of the deepest
	operands        atomic.Int64 // of the definition with most
	reloads         atomic.Uint64
	reloadTook      atomic.Int64 // ns
}

// raise makes v the value of m if it is larger.
func raise(m *atomic.Int64, v int64) {
	for {
		old := m.Load()
		if v <= old || m.CompareAndSwap(old, v) {
			return
		}
	}
}

func (s *stats) replied(took time.Duration) {
	s.requests.Add(1)
	raise(&s.longest, int64(took))
	s.requestTime.record(took, 1)
}

func (s *stats) upstreamTook(took time.Duration) {
	raise(&s.upstreamLongest, int64(took))
	s.upstreamTime.record(took, 1)
}

// served notes the age of the sample that n metrics were served from.
func (s *stats) served(kind fetchKind, age time.Duration, n uint64) {
	raise(&s.oldest, int64(age))
	s.ages[kind].record(age, n)
}

// fetchKind is what a fetch is to the context that it comes from. How fresh it can be depends on that.
type fetchKind int

const (
	firstFetch     fetchKind = iota // its coming shows in the requests before it
	secondFetch                     // after an interval that is not known
	regularFetch                    // foretold
	irregularFetch                  // of a context that cannot be foretold
	fetchKinds
)

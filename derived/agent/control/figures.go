package control

import (
	"sync/atomic"
	"time"
)

// Figures is what the agent counts about itself. Whoever does the work counts it, on any goroutine; the zero value is
// ready for use. [Table] has a row for each.
type Figures struct {
	Requests    atomic.Uint64 // answered
	RequestTime Histogram     // from a request's arrival to the end of its reply
	Values      atomic.Uint64 // of derived metrics, served
	Evaluations atomic.Uint64
	Stale       atomic.Uint64 // metrics answered PM_ERR_AGAIN because no sample was young enough
	Repeated    atomic.Uint64 // metrics without a value because their sample was not new
	SampleAge   [FetchKinds]Histogram

	Contexts        atomic.Int64 // with a history
	ContextsDropped atomic.Uint64

	Connected       atomic.Bool
	UpstreamFetches atomic.Uint64
	UpstreamMetrics atomic.Uint64 // operands in these fetches
	UpstreamErrors  atomic.Uint64
	UpstreamTime    Histogram
	UpstreamBusy    atomic.Int64 // ns, in all
	SlowAgents      atomic.Int64 // sampled seldom

	Definitions atomic.Int64
	Bound       atomic.Int64 // definitions that are served
	Failed      atomic.Int64 // definitions and files
	Expression  Peak         // bytes of the longest one
	Depth       Peak         // of the deepest expression
	Operands    Peak         // of the definition with most
	Reloads     atomic.Uint64
	ReloadTook  atomic.Int64 // ns, the last time

	Debug atomic.Bool // stored
}

// SampleOldest is the greatest age of a sample that was served.
func (f *Figures) SampleOldest() (oldest time.Duration) {
	for i := range f.SampleAge {
		oldest = max(oldest, f.SampleAge[i].Longest())
	}
	return oldest
}

// FetchKind is what a fetch is to the context that it comes from. How fresh it can be depends on that.
type FetchKind int

// The kinds of fetches.
const (
	FirstFetch     FetchKind = iota // its coming shows in the requests before it
	SecondFetch                     // after an interval that is not known
	RegularFetch                    // foretold
	IrregularFetch                  // of a context that cannot be foretold
	FetchKinds
)

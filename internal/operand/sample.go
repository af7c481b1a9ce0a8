package operand

import (
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Sample has the values of some operands from one fetch, and so of one time. It implements [derived.Sample] and is
// immutable, except for the instance names: Names and Members return those known at the call.
type Sample struct {
	At      time.Time // by pmcd's clock; rates are computed from it
	Taken   time.Time // by our clock: the earliest time at which pmcd can have begun the fetch
	Arrived time.Time // by our clock
	Size    int       // bytes of the values

	BlockedSum time.Duration // the sum of the times for which the agent's fetches had blocked pmcd until then

	// Holders counts the metrics of contexts that have the sample in their history. It belongs to package history.
	Holders int

	unchanging []*Sample // what Unchanging returns; nil: not needed yet. It belongs to the request loop.

	clock         clockOffset
	connectionRun int   // of the Maker
	list          *List // nil: no operands
	vectors       []derived.Vector
	names         *InstanceCache
}

// Empty returns a sample without values, for metrics that have no operands.
func Empty(now time.Time, names *InstanceCache) *Sample {
	return &Sample{At: now, Taken: now, Arrived: now, names: names}
}

// Unchanging returns a history in which nothing has changed, newest first: all instances of the sample have a rate. So
// a group whose instances are new is in a list although it has no rate before the next sample.
func (s *Sample) Unchanging() []*Sample {
	if s.unchanging == nil {
		all := []*Sample{s}
		for i := range derived.MaxHistory {
			older := *s
			older.At = s.At.Add(time.Duration(-1-i) * time.Second)
			all = append(all, &older)
		}
		s.unchanging = all
	}
	return s.unchanging
}

// Time implements [derived.Sample].
func (s *Sample) Time() time.Time { return s.At }

// Values implements [derived.Sample]. A metric that was not fetched has PM_ERR_AGAIN. hint is an index in the list,
// of the last call for this metric: most samples of a metric have the same list.
func (s *Sample) Values(id pdu.PMID, hint *int32) *derived.Vector {
	if s.list != nil {
		if i := int(*hint); i < len(s.list.IDs) && s.list.IDs[i] == id {
			return &s.vectors[i]
		}
		if i, ok := s.list.indexes[id]; ok {
			*hint = int32(i)
			return &s.vectors[i]
		}
	}
	return &derived.Vector{Code: pdu.ErrAgain}
}

// Failed yields the operands that have a code instead of values.
func (s *Sample) Failed(yield func(pdu.PMID, pdu.Code) bool) {
	for i := range s.vectors {
		if code := s.vectors[i].Code; code < 0 && !yield(s.list.IDs[i], code) {
			return
		}
	}
}

// Names implements [derived.Sample].
func (s *Sample) Names(d pdu.InDom) *derived.NameTable { return s.names.Table(d) }

// Members implements [derived.Sample].
func (s *Sample) Members(d pdu.InDom) *derived.InstSet { return s.names.Members(d) }

// clockOffset is the difference between pmcd's clock and ours, which lies between least and most. Our clock is
// monotonic: nobody sets it.
type clockOffset struct{ least, most time.Duration }

const (
	// maxDrift limits how much faster or slower than ours pmcd's clock may run: one part in maxDrift.
	maxDrift = 1000

	// clockNoise is how much a clockOffset may change between two samples, beyond the drift, before pmcd's clock counts
	// as set.
	clockNoise = 50 * time.Millisecond
)

// Continues reports whether a rate between an older sample and this one is meaningful: the connection to pmcd was not
// lost in between, and pmcd's clock was not set, so that the difference of the time stamps is the time that has
// passed.
func (s *Sample) Continues(old *Sample) bool {
	slack := clockNoise + s.Taken.Sub(old.Taken).Abs()/maxDrift
	return s.connectionRun == old.connectionRun &&
		s.clock.least-slack <= old.clock.most && old.clock.least-slack <= s.clock.most
}

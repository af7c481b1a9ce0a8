package operand

import (
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Sample is one upstream fetch: the values of some operands at one time, a [derived.Sample]. Immutable, but for the
// names, which are those known when they are asked for.
type Sample struct {
	At      time.Time // by pmcd's clock, for rates
	Taken   time.Time // by ours: when pmcd began with it, at the earliest, so that no value is older than it seems
	Arrived time.Time // by ours
	Size    int       // bytes of its values

	Before time.Duration // for how long pmcd had stood still until then because of us, all times together

	// Holders is how many metrics of contexts have the sample in their history. It belongs to who counts them.
	Holders int

	clock         clockOffset
	connectionRun int   // of the Maker
	list          *List // nil: no operands
	vectors       []derived.Vector
	names         *InstanceCache
}

// Empty makes a sample without values, for metrics that have no operands.
func Empty(now time.Time, names *InstanceCache) *Sample {
	return &Sample{At: now, Taken: now, Arrived: now, names: names}
}

// Time implements [derived.Sample].
func (s *Sample) Time() time.Time { return s.At }

// Values implements [derived.Sample]. What was not fetched has a code. The hint is a place in the list: most samples
// of a metric have the same one.
func (s *Sample) Values(id pdu.PMID, hint *int32) *derived.Vector {
	if s.list != nil {
		if at := int(*hint); at < len(s.list.IDs) && s.list.IDs[at] == id {
			return &s.vectors[at]
		}
		if at, ok := s.list.indexes[id]; ok {
			*hint = int32(at)
			return &s.vectors[at]
		}
	}
	return &derived.Vector{Code: pdu.ErrAgain}
}

// Failed yields the operands that have no values, but a code.
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

// clockOffset is by how much pmcd's clock is ahead of ours, which nobody sets: it is between the two.
type clockOffset struct{ least, most time.Duration }

const (
	// maxDrift is by how much pmcd's clock may run faster or slower than ours: one part in maxDrift.
	maxDrift = 1000

	// clockNoise is the difference below which a clock has not been set.
	clockNoise = 50 * time.Millisecond
)

// Continues reports whether a sample can be compared with an older one: the connection to pmcd was not lost meanwhile, and it is from the
// same run of pmcd's clock, so that the time between them is that between their time stamps.
func (s *Sample) Continues(old *Sample) bool {
	slack := clockNoise + s.Taken.Sub(old.Taken).Abs()/maxDrift
	return s.connectionRun == old.connectionRun && s.clock.least-slack <= old.clock.most && old.clock.least-slack <= s.clock.most
}

package agent

import (
	"encoding/binary"
	"slices"
	"time"

	"pmdaderived/pdu"
)

// anchorGap is how far apart the older samples of a feed are kept at least. A context that fetches
// for the first time gets its "previous" value from one of them, and a rate over less would be noise.
const anchorGap = time.Second

// feed is the latest samples for all metrics that have the same operands: when several are fetched
// together they are computed from the same moment. The sampler's lock guards all that changes.
type feed struct {
	descs  []pdu.Desc // of the operands; immutable
	agents []int      // domains of the operands; immutable

	samples     []*sample // newest first; those after the first are anchorGap apart
	values      int       // of the last one that was taken
	taken       time.Time // the last one
	outstanding int32     // fetches on their way that will bring a new one
	waiting     bool      // wanted when no connection was free
	struck      time.Time // when the answer for its operands was too long
	over        time.Time // since when it rests for that

	history int // how many older samples are needed
}

// newFeed makes a feed; agents are those of a feed like it, nil if there is none.
func newFeed(descs []pdu.Desc, agents []int) *feed {
	if own := agentsOf(descs); !slices.Equal(own, agents) {
		agents = own
	}
	return &feed{descs: descs, agents: agents}
}

// operandKey is the same for all metrics with the same operands.
func operandKey(descs []pdu.Desc) string {
	key := make([]byte, 0, 4*len(descs))
	for _, d := range descs {
		key = binary.BigEndian.AppendUint32(key, uint32(d.PMID))
	}
	return string(key)
}

// push adds a new sample.
func (f *feed) push(s *sample) {
	f.taken = s.taken
	if f.history == 0 {
		f.samples = append(f.samples[:0], s)
		return
	}
	if len(f.samples) > 1 && f.samples[0].taken.Sub(f.samples[1].taken) < anchorGap {
		f.samples[0] = s
		return
	}
	keep := f.history + 2
	if len(f.samples) < keep {
		f.samples = append(f.samples, nil)
	}
	copy(f.samples[1:], f.samples)
	f.samples[0] = s
}

// forget lets go of samples that are older than a moment.
func (f *feed) forget(moment time.Time) {
	n := len(f.samples)
	for n > 0 && f.samples[n-1].taken.Before(moment) {
		n--
	}
	clear(f.samples[n:])
	f.samples = f.samples[:n]
}

// newest returns the latest sample, nil if there is none.
func (f *feed) newest() *sample {
	if len(f.samples) == 0 {
		return nil
	}
	return f.samples[0]
}

// fresh reports whether the newest sample is new enough.
func (f *feed) fresh(now time.Time, n need) bool {
	s := f.newest()
	if s == nil || s.taken.Before(n.after) {
		return false
	}
	took := s.arrived.Sub(s.taken)
	return now.Sub(s.taken) < n.gap || n.burst && now.Sub(s.arrived) < max(n.gap, took/burstShare)
}

// burstShare is which part of the time that a sample took the pauses between the requests of one client
// may take that are all about the same sample.
const burstShare = 10

// size is how many values a sample will have.
func (f *feed) size() int {
	if f.taken.IsZero() {
		return len(f.descs)
	}
	return f.values
}

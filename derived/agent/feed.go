package agent

import (
	"encoding/binary"
	"slices"
	"time"

	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
)

// feed is the latest samples for all metrics that have the same operands: when several are fetched
// together they are computed from the same moment. The sampler's lock guards all that changes.
type feed struct {
	descs  []pdu.Desc // of the operands; immutable
	agents []int      // domains of the operands; immutable

	latest      *operand.Sample   // nil: none, or it is too old to be served
	kept        []*operand.Sample // by the keep-warm, newest first; see entry.warm
	keep        bool              // the next one is to be kept
	values      int               // of the last one that was taken
	taken       time.Time         // the last one
	outstanding int32             // fetches on their way that will bring a new one
	waiting     bool              // wanted when no connection was free
	struck      time.Time         // when the answer for its operands was too long
	over        time.Time         // since when it rests for that
	doubted     time.Time         // when pmcd closed a connection over a fetch for it alone

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
func (f *feed) push(s *operand.Sample) {
	f.taken, f.latest = s.Taken, s
	if f.keep {
		f.retain()
	}
}

// perWindow is how often the keep-warm samples in the time that a first rate or delta is to cover at least.
const perWindow = 2

// retain keeps the latest sample for first fetches. As many are kept as it takes for one of them to be a window
// older than the newest, for each step of the history, and one more, because no two are exactly as far apart as they should be.
func (f *feed) retain() {
	f.keep = false
	if len(f.kept) > 0 && f.kept[0] == f.latest {
		return
	}
	if most := perWindow*f.history + 2; len(f.kept) < most {
		f.kept = append(f.kept, nil)
	}
	copy(f.kept[1:], f.kept)
	f.kept[0] = f.latest
}

// keptIn is how many samples of an epoch are kept.
func (f *feed) keptIn(epoch int) (n int) {
	for n < len(f.kept) && f.kept[n].Epoch() == epoch {
		n++
	}
	return n
}

// forget lets go of samples that were taken before a moment, and of kept ones that were before another.
func (f *feed) forget(moment, kept time.Time) {
	if f.latest != nil && f.latest.Taken.Before(moment) {
		f.latest = nil
	}
	n := len(f.kept)
	for n > 0 && f.kept[n-1].Taken.Before(kept) {
		n--
	}
	f.trim(n)
}

// trim lets go of all kept samples but the n newest.
func (f *feed) trim(n int) {
	n = min(n, len(f.kept))
	clear(f.kept[n:])
	f.kept = f.kept[:n]
}

// fresh reports whether the newest sample is new enough.
func (f *feed) fresh(now time.Time, n need) bool {
	s := f.latest
	if s == nil || s.Taken.Before(n.after) {
		return false
	}
	took := s.Arrived.Sub(s.Taken)
	return now.Sub(s.Taken) < n.gap || n.burst && now.Sub(s.Arrived) < max(n.gap, took/burstShare)
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

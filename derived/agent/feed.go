package agent

import (
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// anchorGap is how far apart the older samples of a feed are kept at least. A context that fetches
// for the first time gets its "previous" value from one of them, and a rate over less would be noise.
const anchorGap = time.Second

// feed is the latest samples for one metric. The sampler's lock guards all that changes.
type feed struct {
	name  string
	descs []pdu.Desc // of the operands; immutable
	needs *derived.Needs

	samples     []*sample     // newest first; those after the first are anchorGap apart
	took        time.Duration // by the fetch that brought the newest
	outstanding int           // fetches on their way that will bring a new one
	waiting     bool          // wanted when no connection was free
}

func newFeed(name string, needs *derived.Needs, descs []pdu.Desc) *feed {
	return &feed{name: name, needs: needs, descs: descs}
}

// serves reports whether the feed can go on for a metric with these needs: it fetches the same.
func (f *feed) serves(needs *derived.Needs, descs []pdu.Desc) bool {
	return slices.Equal(f.descs, descs) && f.needs.History == needs.History
}

// push adds a new sample.
func (f *feed) push(s *sample) {
	if f.needs.History == 0 {
		f.samples = append(f.samples[:0], s)
		return
	}
	if len(f.samples) > 1 && f.samples[0].at.Sub(f.samples[1].at) < anchorGap && s.at.After(f.samples[1].at) {
		f.samples[0] = s
		return
	}
	keep := f.needs.History + 2
	if len(f.samples) < keep {
		f.samples = append(f.samples, nil)
	}
	copy(f.samples[1:], f.samples)
	f.samples[0] = s
}

// newest returns the latest sample, nil if there is none.
func (f *feed) newest() *sample {
	if len(f.samples) == 0 {
		return nil
	}
	return f.samples[0]
}

// age is how old the latest sample is; very old if there is none.
func (f *feed) age(now time.Time) time.Duration {
	if s := f.newest(); s != nil {
		return now.Sub(s.taken)
	}
	return never
}

const (
	// slow is the time from which a fetch is a burden: pmcd serves nobody meanwhile, and clients show
	// their interest in a metric several times over.
	slow = 25 * time.Millisecond

	// restFactor is how many times as long as it took a sample that was slow to take is good enough;
	// maxRest bounds it.
	restFactor = 10
	maxRest    = youngEnough / 2
)

// rest is how old the newest sample has to be before another one is taken, however many ask.
func (f *feed) rest() time.Duration {
	if f.took < slow {
		return 0
	}
	return min(restFactor*f.took, maxRest)
}

// never is longer than anything.
const never = time.Duration(1<<63 - 1)

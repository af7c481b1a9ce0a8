package history

import (
	"slices"
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/operand"
)

// An evaluation may be used by evaluationFetches further fetches before its memory is used for another one: contexts
// with the same samples share one, so a hundred clients that fetch together cost one.
// MaxEvaluations is how many there are at most.
const (
	unusedFetches  = 2
	MaxEvaluations = 8

	dropInterval = 30 * time.Second // how often it is looked for old ones
)

// Evaluations are those of the last fetches.
type Evaluations struct {
	Groups *derived.Groups // number the groups of all

	all      []*evaluation
	fetches  uint64           // so far
	lastDrop time.Time        // when it was last looked for some to forget
	samples  []derived.Sample // scratch space
}

// evaluation is what has been computed from some samples.
type evaluation struct {
	memory    *derived.Evaluation
	samples   []*operand.Sample // newest first; empty: nothing is computed
	names     *operand.NameSet
	windows   *derived.Results
	lastFetch uint64
}

// Begin begins a fetch.
func (es *Evaluations) BeginFetch() { es.fetches++ }

// Len is how many there are.
func (es *Evaluations) Len() int { return len(es.all) }

// From is what metrics are computed from.
type Inputs struct {
	Samples []*operand.Sample // newest first
	Names   *operand.NameSet  // of instances
	Windows *derived.Results  // nil: there are none
}

// Value computes a metric of a set. spare is memory for an evaluation of the set, which is taken if another one is needed; made counts them.
func (es *Evaluations) Value(
	m *derived.Metric, set *derived.Set, in Inputs, spare *atomic.Pointer[derived.Evaluation], made *atomic.Uint64,
) *derived.Vector {
	samples, hasWindows := in.Samples, len(m.Needs().Windows) > 0
	depth := m.Needs().History + 1
	if len(es.all) > 0 && es.all[0].memory.Set() != set {
		clear(es.all) // those of a former set
		es.all = es.all[:0]
	}
	var reused *evaluation
	for i, e := range es.all {
		if e.names == in.Names && (!hasWindows || e.windows == in.Windows) && e.covers(samples, depth) {
			e.lastFetch = es.fetches
			if i > 0 {
				es.all[0], es.all[i] = e, es.all[0] // most metrics of a fetch have the same samples
			}
			return e.memory.Value(m)
		}
		if reused == nil || e.lastFetch < reused.lastFetch {
			reused = e
		}
	}
	if reused == nil || reused.lastFetch+unusedFetches >= es.fetches && len(es.all) < MaxEvaluations {
		memory := spare.Swap(nil)
		if memory == nil {
			memory = set.NewEvaluation()
		}
		memory.Number(es.Groups)
		reused = &evaluation{memory: memory}
		es.all = append(es.all, reused)
	}
	made.Add(1)
	reused.samples = append(reused.samples[:0], samples...)
	reused.names, reused.windows, reused.lastFetch = in.Names, in.Windows, es.fetches
	es.samples = es.samples[:0]
	for _, s := range samples {
		es.samples = append(es.samples, s)
	}
	reused.memory.Reset(es.samples...)
	reused.memory.Over(in.Windows)
	clear(es.samples) // they are not kept for longer than the evaluation
	return reused.memory.Value(m)
}

// covers reports whether the evaluation was made from the same samples, as far back as the depth.
func (e *evaluation) covers(samples []*operand.Sample, depth int) bool {
	if len(samples) < depth { // the evaluation must not know more either
		return slices.Equal(e.samples, samples)
	}
	return len(e.samples) >= depth && slices.Equal(e.samples[:depth], samples[:depth])
}

// Tidy drops, now and then, those that nobody can be served from any more, since their samples are older than old, but for those of
// constants: each holds what all metrics need that were computed in it. The memory of one is kept, but not its samples, for
// whoever comes next.
func (es *Evaluations) DropOld(now time.Time, maxAge time.Duration, constant *operand.Sample) {
	if now.Sub(es.lastDrop) < dropInterval {
		return
	}
	es.lastDrop = now
	es.drop(func(e *evaluation) bool {
		return len(e.samples) == 0 || e.samples[0] != constant && now.Sub(e.samples[0].Taken) > maxAge
	})
}

// Forget lets go of all samples, since no context is left. The memory of one evaluation is kept.
func (es *Evaluations) DropAll() { es.drop(func(*evaluation) bool { return true }) }

// drop drops the evaluations that over selects, but for the memory of the one of them that was used last.
func (es *Evaluations) drop(selects func(*evaluation) bool) {
	var spare *evaluation
	es.all = slices.DeleteFunc(es.all, func(e *evaluation) bool {
		drops := selects(e)
		if drops && (spare == nil || e.lastFetch > spare.lastFetch) {
			spare = e
		}
		return drops
	})
	if spare != nil {
		clear(spare.samples)
		spare.samples, spare.windows, spare.lastFetch = spare.samples[:0], nil, 0 // the first to be used again
		spare.memory.Reset()
		es.all = append(es.all, spare)
	}
}

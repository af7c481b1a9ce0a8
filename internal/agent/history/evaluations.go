package history

import (
	"slices"
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/operand"
)

const (
	// unusedFetches is the number of fetches for which an unused evaluation is kept. Then its memory may be
	// reused for other samples.
	unusedFetches = 2

	// MaxEvaluations bounds the number of evaluations. Beyond it the least recently used one is reused at once.
	MaxEvaluations = 8

	// dropInterval is the time between two calls of DropOld that do something.
	dropInterval = 30 * time.Second
)

// Evaluations has the evaluations of the last fetches.
type Evaluations struct {
	Groups *derived.Groups // has the numbers of groups in all evaluations

	all      []*evaluation
	fetches  uint64 // number of fetches so far
	lastDrop time.Time
	samples  []derived.Sample // scratch space
}

// evaluation has what was computed from some samples.
type evaluation struct {
	memory    *derived.Evaluation
	samples   []*operand.Sample // newest first; empty: nothing is computed
	names     *operand.InstanceSnapshot
	windows   *derived.Results
	lastFetch uint64 // number of the last fetch that used it
}

// BeginFetch counts a fetch.
func (es *Evaluations) BeginFetch() { es.fetches++ }

// Len returns the number of evaluations.
func (es *Evaluations) Len() int { return len(es.all) }

// Inputs are the values that a metric is computed from.
type Inputs struct {
	Samples []*operand.Sample         // newest first
	Names   *operand.InstanceSnapshot // names of instances
	Windows *derived.Results          // results of functions over time; nil: there are none
}

// Value returns the value of a metric of a set. The value is computed only if no evaluation has the same inputs. spare
// may have memory for an evaluation of the set, which is taken if a new one is needed.
func (es *Evaluations) Value(
	m *derived.Metric, set *derived.Set, in Inputs, spare *atomic.Pointer[derived.Evaluation],
) *derived.Vector {
	samples, hasWindows := in.Samples, len(m.Needs().Windows) > 0
	depth := m.Needs().History + 1
	if len(es.all) > 0 && es.all[0].memory.Set() != set {
		clear(es.all) // they belong to a former set
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
		memory.SetGroups(es.Groups)
		reused = &evaluation{memory: memory}
		es.all = append(es.all, reused)
	}
	reused.samples = append(reused.samples[:0], samples...)
	reused.names, reused.windows, reused.lastFetch = in.Names, in.Windows, es.fetches
	es.samples = es.samples[:0]
	for _, s := range samples {
		es.samples = append(es.samples, s)
	}
	reused.memory.Reset(es.samples...)
	reused.memory.SetResults(in.Windows)
	clear(es.samples) // samples are not kept in memory longer than their evaluation
	return reused.memory.Value(m)
}

// covers reports whether the evaluation has the same samples. Only the newest ones count, as many as depth.
func (e *evaluation) covers(samples []*operand.Sample, depth int) bool {
	if len(samples) < depth { // the evaluation must not have more samples either
		return slices.Equal(e.samples, samples)
	}
	return len(e.samples) >= depth && slices.Equal(e.samples[:depth], samples[:depth])
}

// DropOld drops the evaluations whose samples are older than maxAge, since no client is served from them. It does so
// every dropInterval. The evaluation of constants, whose sample is constant, does not age. The memory of one evaluation
// is kept for the next fetch.
func (es *Evaluations) DropOld(now time.Time, maxAge time.Duration, constant *operand.Sample) {
	if now.Sub(es.lastDrop) < dropInterval {
		return
	}
	es.lastDrop = now
	es.drop(func(e *evaluation) bool {
		return len(e.samples) == 0 || e.samples[0] != constant && now.Sub(e.samples[0].Taken) > maxAge
	})
}

// DropAll drops all evaluations but the memory of one. It is called when there are no contexts.
func (es *Evaluations) DropAll() { es.drop(func(*evaluation) bool { return true }) }

// drop drops the selected evaluations, and keeps the memory of the one that was used last.
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
		spare.samples, spare.windows, spare.lastFetch = spare.samples[:0], nil, 0 // 0: it is reused first
		spare.memory.Reset()
		es.all = append(es.all, spare)
	}
}

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
	evaluationFetches = 2
	MaxEvaluations    = 8

	tidyGap = 30 * time.Second // how often it is looked for old ones
)

// Evaluations are those of the last fetches.
type Evaluations struct {
	Groups *derived.Groups // number the groups of all

	all     []*evaluation
	fetches uint64           // so far
	tidied  time.Time        // when it was last looked for some to forget
	samples []derived.Sample // scratch space
}

// evaluation is what has been computed from some samples.
type evaluation struct {
	memory  *derived.Evaluation
	history []*operand.Sample // newest first; empty: nothing is computed
	names   *operand.NameSet
	windows *derived.Results
	used    uint64
}

// Begin begins a fetch.
func (es *Evaluations) Begin() { es.fetches++ }

// Len is how many there are.
func (es *Evaluations) Len() int { return len(es.all) }

// From is what metrics are computed from.
type From struct {
	History []*operand.Sample // newest first
	Names   *operand.NameSet  // of instances
	Windows *derived.Results  // nil: there are none
}

// Value computes a metric of a set. spare is memory for an evaluation of the set, which is taken if another one is needed; made counts them.
func (es *Evaluations) Value(
	m *derived.Metric, set *derived.Set, from From, spare *atomic.Pointer[derived.Evaluation], made *atomic.Uint64,
) *derived.Vector {
	history, over := from.History, len(m.Needs().Windows) > 0
	depth := m.Needs().History + 1
	if len(es.all) > 0 && es.all[0].memory.Set() != set {
		clear(es.all) // those of a former set
		es.all = es.all[:0]
	}
	var free *evaluation
	for i, k := range es.all {
		if k.names == from.Names && (!over || k.windows == from.Windows) && k.covers(history, depth) {
			k.used = es.fetches
			if i > 0 {
				es.all[0], es.all[i] = k, es.all[0] // most metrics of a fetch have the same samples
			}
			return k.memory.Value(m)
		}
		if free == nil || k.used < free.used {
			free = k
		}
	}
	if free == nil || free.used+evaluationFetches >= es.fetches && len(es.all) < MaxEvaluations {
		memory := spare.Swap(nil)
		if memory == nil {
			memory = set.NewEvaluation()
		}
		memory.Number(es.Groups)
		free = &evaluation{memory: memory}
		es.all = append(es.all, free)
	}
	made.Add(1)
	free.history = append(free.history[:0], history...)
	free.names, free.windows, free.used = from.Names, from.Windows, es.fetches
	es.samples = es.samples[:0]
	for _, s := range history {
		es.samples = append(es.samples, s)
	}
	free.memory.Reset(es.samples...)
	free.memory.Over(from.Windows)
	clear(es.samples) // they are not kept for longer than the evaluation
	return free.memory.Value(m)
}

// covers reports whether the evaluation was made from the same samples, as far back as the depth.
func (k *evaluation) covers(history []*operand.Sample, depth int) bool {
	if len(history) < depth { // the evaluation must not know more either
		return slices.Equal(k.history, history)
	}
	return len(k.history) >= depth && slices.Equal(k.history[:depth], history[:depth])
}

// Tidy drops, now and then, those that nobody can be served from any more, since their samples are older than old, but for those of
// constants: each holds what all metrics need that were computed in it. The memory of one is kept, but not its samples, for
// whoever comes next.
func (es *Evaluations) Tidy(now time.Time, old time.Duration, constant *operand.Sample) {
	if now.Sub(es.tidied) < tidyGap {
		return
	}
	es.tidied = now
	es.drop(func(k *evaluation) bool {
		return len(k.history) == 0 || k.history[0] != constant && now.Sub(k.history[0].Taken) > old
	})
}

// Forget lets go of all samples, since no context is left. The memory of one evaluation is kept.
func (es *Evaluations) Forget() { es.drop(func(*evaluation) bool { return true }) }

// drop drops the evaluations that over selects, but for the memory of the one of them that was used last.
func (es *Evaluations) drop(over func(*evaluation) bool) {
	var spare *evaluation
	es.all = slices.DeleteFunc(es.all, func(k *evaluation) bool {
		is := over(k)
		if is && (spare == nil || k.used > spare.used) {
			spare = k
		}
		return is
	})
	if spare != nil {
		clear(spare.history)
		spare.history, spare.windows, spare.used = spare.history[:0], nil, 0 // the first to be used again
		spare.memory.Reset()
		es.all = append(es.all, spare)
	}
}

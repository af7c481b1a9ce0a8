package agent

import (
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/operand"
)

// An evaluation may be used by momentFetches further fetches before its memory is used for another one, unless
// its samples have been replaced: contexts with the same samples share one, so a hundred clients that
// fetch together cost one.
// maxMoments is how many there are at most.
const (
	momentFetches = 2
	maxMoments    = 16
)

// moment is an evaluation and the samples it was made from.
type moment struct {
	eval    *derived.Evaluation
	history []*operand.Sample // newest first; empty: nothing is computed
	list    *operand.List     // of the newest one
	names   *operand.NameSet
	used    uint64
}

// evaluate computes a metric from a history, newest first.
func (a *Agent) evaluate(snap *snapshot, history []*operand.Sample, m *derived.Metric) *derived.Vector {
	depth := m.Needs().History + 1
	names := a.names.Now()
	if len(a.moments) > 0 && a.moments[0].eval.Set() != snap.Set {
		clear(a.moments) // those of a former snapshot
		a.moments = a.moments[:0]
	}
	var free *moment
	for i, k := range a.moments {
		if k.names == names && k.covers(history, depth) {
			k.used = a.fetches
			a.moments[0], a.moments[i] = k, a.moments[0] // most metrics of a fetch have the same samples
			return k.eval.Value(m)
		}
		if free == nil || a.better(k, free, history) {
			free = k
		}
	}
	if free == nil || !a.over(free, history) && len(a.moments) < maxMoments {
		eval := snap.spare.Swap(nil)
		if eval == nil {
			eval = snap.Set.NewEvaluation()
		}
		free = &moment{eval: eval}
		a.moments = append(a.moments, free)
	}
	a.figures.Evaluations.Add(1)
	free.history = append(free.history[:0], history...)
	free.list, free.names, free.used = history[0].List(), names, a.fetches
	a.history = a.history[:0]
	for _, s := range history {
		a.history = append(a.history, s)
	}
	free.eval.Reset(a.history...)
	clear(a.history) // they are not kept for longer than the moment
	return free.eval.Value(m)
}

// better reports whether the memory of k should be used again rather than that of another moment: it was not
// used for longer, or nobody is expected to ask for it any more.
func (a *Agent) better(k, other *moment, history []*operand.Sample) bool {
	if over := a.over(k, history); !over || !a.over(other, history) {
		return over || !a.over(other, history) && k.used < other.used
	}
	return k.used < other.used
}

// over reports whether nobody is expected to ask for the moment any more: for some fetches nobody has, or there
// is a newer sample of the same operands, which everybody gets from now on.
func (a *Agent) over(k *moment, history []*operand.Sample) bool {
	if len(k.history) == 0 || k.used+momentFetches < a.fetches {
		return true
	}
	return k.used < a.fetches && k.list == history[0].List() && k.history[0].Taken.Before(history[0].Taken)
}

// covers reports whether the moment was made from the same samples, as far back as the depth.
func (k *moment) covers(history []*operand.Sample, depth int) bool {
	if len(history) < depth { // the moment must not know more either
		return slices.Equal(k.history, history)
	}
	return len(k.history) >= depth && slices.Equal(k.history[:depth], history[:depth])
}

// forgetMoments drops those that nobody can be served from any more, since their samples are older than oldest: each holds
// what all metrics need that were computed in it. The memory of one is kept, but not its samples, for whoever comes next.
func (a *Agent) forgetMoments(oldest time.Time) {
	var spare *moment
	a.moments = slices.DeleteFunc(a.moments, func(k *moment) bool {
		old := len(k.history) == 0 || k.history[0] != a.constant[0] && k.history[0].Taken.Before(oldest)
		if old && (spare == nil || k.used > spare.used) {
			spare = k
		}
		return old
	})
	if spare != nil {
		spare.rest()
		a.moments = append(a.moments, spare)
	}
}

// rest lets go of the samples.
func (k *moment) rest() {
	clear(k.history)
	k.history, k.list = k.history[:0], nil
	k.eval.Reset()
}

package sampler

import (
	"pmdaderived/derived"
	"pmdaderived/internal/agent/upstream"
)

// tickTogether returns for each per-client window the index of one window that represents those with the same ticks. The
// windows of one metric tick together, and so do those of the same operands, whichever of them clients read. Otherwise
// sum_sample(x) / count_sample(x) would be no average in the first fetch of a client if others read the count alone.
func tickTogether(set *derived.Set, series []*upstream.Series) []int {
	parent := make([]int, len(series)) // another window with the same ticks; the representative is its own parent
	root := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	perClient := func(i int) bool { return series[i] != nil && set.Windows()[i].PerClient() }
	firstOf := make(map[*upstream.Series]int)
	for i, s := range series {
		if parent[i] = i; !perClient(i) {
			continue
		}
		if first, ok := firstOf[s]; ok {
			parent[i] = first
		} else {
			firstOf[s] = i
		}
	}
	for _, m := range set.Metrics() {
		last := -1
		for _, w := range m.Needs().Windows {
			i := int(w)
			if !perClient(i) {
				continue
			}
			if last >= 0 {
				parent[root(i)] = root(last)
			}
			last = i
		}
	}
	for i := range parent {
		parent[i] = root(i)
	}
	return parent
}

package sampler

import (
	"pmdaderived/derived"
	"pmdaderived/internal/agent/upstream"
)

// together tells the group of each window that is since the last look: the windows of one metric, and those of the same operands, have the same ticks. Else
// a sum through a count would be no average for a client that looks for the first time, if others look at the count alone.
func groupWindows(set *derived.Set, series []*upstream.Series) []int {
	parent := make([]int, len(series)) // another one of it, or itself
	root := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	perClient := func(i int) bool { return series[i] != nil && set.Windows()[i].Span == 0 }
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

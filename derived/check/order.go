package check

import "strings"

// inOrder returns all metrics, each after those that its definition names, as far as they do not name each other in a
// circle. With this order the result does not depend on the order of the definitions, and long chains of definitions
// need no recursion.
func (s *Set) inOrder() []*Metric {
	type visit struct {
		metric *Metric
		next   []*Metric // named by it and not visited yet
	}
	order, seen := make([]*Metric, 0, len(s.metrics)), make([]bool, len(s.metrics))
	var path []visit
	enter := func(m *Metric) {
		if seen[m.Index] {
			return
		}
		seen[m.Index] = true
		if next := s.namedMetrics(m); len(next) > 0 {
			path = append(path, visit{m, next})
			return
		}
		order = append(order, m)
	}
	for _, m := range s.metrics {
		enter(m)
		for len(path) > 0 {
			top := &path[len(path)-1]
			if len(top.next) == 0 {
				order = append(order, top.metric)
				path = path[:len(path)-1]
				continue
			}
			next := top.next[0]
			top.next = top.next[1:]
			enter(next)
		}
	}
	return order
}

// namedMetrics returns the metrics of the set that m's definition names.
func (s *Set) namedMetrics(m *Metric) []*Metric {
	var found []*Metric
	for name := range m.Definition.Names {
		if other := s.definition(name); other != nil {
			found = append(found, other)
		}
	}
	return found
}

// definition returns the metric of a definition, by the name in its file or the name that it is served under; nil if
// there is none.
func (s *Set) definition(name string) *Metric {
	if own, ok := s.withoutPrefix(name); ok {
		name = own
	}
	return s.names[name]
}

// withoutPrefix cuts the prefix from a name below it. The collector is never asked for such a name: it would ask this
// agent.
func (s *Set) withoutPrefix(name string) (string, bool) {
	if s.prefix == "" {
		return "", false
	}
	return strings.CutPrefix(name, s.prefix)
}

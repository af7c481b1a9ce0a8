package check

import "strings"

// inOrder lists all metrics so that each comes after those its definition names, as far as they do not name each
// other in a circle. Checked in this order, definitions do not depend on the order in which they are
// written, and long chains of them are not walked by recursion.
func (s *Set) inOrder() []*Metric {
	type visit struct {
		metric *Metric
		next   []*Metric // named by it and not looked at yet
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

// namedMetrics returns the metrics whose names m's definition contains.
func (s *Set) namedMetrics(m *Metric) []*Metric {
	var found []*Metric
	for name := range m.Definition.Names {
		if other := s.definition(name); other != nil {
			found = append(found, other)
		}
	}
	return found
}

// definition finds a definition by the name it was given or the one it is served under.
func (s *Set) definition(name string) *Metric {
	if own, ok := s.withoutPrefix(name); ok {
		name = own
	}
	return s.names[name]
}

// withoutPrefix cuts the prefix from a name that is below it. Such a name is never asked of the collector: it
// would ask us.
func (s *Set) withoutPrefix(name string) (string, bool) {
	if s.prefix == "" {
		return "", false
	}
	return strings.CutPrefix(name, s.prefix)
}

package derived

import "strings"

// inOrder lists the metrics so that each comes after those its definition names, as far as they do
// not name each other in a circle. Checked in this order, definitions do not depend on the order in
// which they are written, and long chains of them are not walked by recursion.
func (c *checker) inOrder() []*Metric {
	type visit struct {
		metric *Metric
		next   []*Metric // named by it and not looked at yet
	}
	order := make([]*Metric, 0, len(c.set.metrics))
	seen := make(map[*Metric]bool, len(c.set.metrics))
	var path []visit
	enter := func(m *Metric) {
		if !seen[m] {
			seen[m] = true
			path = append(path, visit{m, c.named(m)})
		}
	}
	for _, m := range c.set.metrics {
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

// named returns the metrics whose names m's definition contains.
func (c *checker) named(m *Metric) []*Metric {
	var found []*Metric
	for name := range m.Definition.Names {
		if other := c.definition(name); other != nil {
			found = append(found, other)
		}
	}
	return found
}

// definition finds a definition by the name it was given or the one it is served under.
func (c *checker) definition(name string) *Metric {
	if own, ok := c.own(name); ok {
		name = own
	}
	return c.set.byName[name]
}

// own cuts the prefix from a name that is below it. Such a name is never asked of the collector: it
// would ask us.
func (c *checker) own(name string) (string, bool) {
	if c.prefix == "" {
		return "", false
	}
	return strings.CutPrefix(name, c.prefix)
}

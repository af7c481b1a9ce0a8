package derived

import "pmdaderived/pdu"

// Set is all metrics of one configuration, bound to one state of the collector's name space and
// compiled together. It is immutable; a change of either side means a new Set.
type Set struct {
	metrics []*Metric
	byName  map[string]*Metric
	program *program
}

// Metric is a definition bound to a collector: it has either a descriptor or an error. Immutable.
type Metric struct {
	Name       string
	Definition *Definition
	Err        *Error   // why it cannot be used; everything below is then unset
	Desc       pdu.Desc // its PMID is pdu.NoPMID: identity is the business of whoever serves it
	Tree       *Node

	root  int32 // step that computes it
	needs Needs
}

// NewSet checks and compiles definitions, which should have distinct names; of several with one
// name the last one counts. prefix, if not empty, is the name that the metrics are served below:
// "derived" lets an expression use the definition a.b as derived.a.b, and keeps such names from
// being looked up in the catalog.
func NewSet(defs []*Definition, cat Catalog, prefix string) *Set {
	s := &Set{byName: make(map[string]*Metric, len(defs))}
	for _, d := range defs {
		m := &Metric{Name: d.Name, Definition: d}
		if old := s.byName[d.Name]; old != nil {
			*old = *m
			continue
		}
		s.byName[d.Name] = m
		s.metrics = append(s.metrics, m)
	}
	if prefix != "" {
		prefix += "."
	}
	c := &checker{cat: cat, prefix: prefix, set: s, states: make(map[*Metric]state, len(s.metrics))}
	for _, m := range c.inOrder() {
		c.check(m)
	}
	s.program = compile(s.metrics)
	return s
}

// Metrics returns all metrics, in the order of the definitions; read-only.
func (s *Set) Metrics() []*Metric { return s.metrics }

// Lookup finds a metric by its definition's name.
func (s *Set) Lookup(name string) (*Metric, bool) {
	m, ok := s.byName[name]
	return m, ok
}

// Needs tells what m must find in a sample; read-only.
func (m *Metric) Needs() *Needs { return &m.needs }

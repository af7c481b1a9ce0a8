package derived

import "pmdaderived/pdu"

// Set is all metrics of one configuration, bound to one state of the collector's name space and
// compiled together. It is immutable; a change of either side means a new Set.
type Set struct {
	metrics []*Metric
	names   map[string]*Metric
	program *program
	catalog Catalog
	prefix  string // with its dot, or empty

	language Language

	groupInDoms  map[GroupDomain]pdu.InDom // nil: there are none
	groupDomains map[pdu.InDom]GroupDomain // likewise
}

// Metric is a definition bound to a collector: it has either a descriptor or an error. Immutable.
type Metric struct {
	Err   *Error // why it cannot be used; Desc and Needs are then empty
	tree  *Node  // nil: there is an error
	root  int32  // step that computes it
	index int32  // in the set
	needs Needs

	Name       string
	Definition *Definition
	Desc       pdu.Desc // its PMID is pdu.NoPMID: identity is the business of whoever serves it
	set        *Set
}

// NewSet checks and compiles definitions, in the language as the site has configured it. They should have
// distinct names; of several with one name the last one counts. The set keeps the catalog, whose answers should stay the same. prefix, if
// not empty, is the name that the metrics are served below: "derived" lets an expression use the
// definition a.b as derived.a.b, and keeps such names from being looked up in the catalog.
func (l Language) NewSet(defs []*Definition, cat Catalog, prefix string) *Set {
	s := &Set{catalog: cat, prefix: prefix, language: l, names: make(map[string]*Metric, len(defs))}
	if prefix != "" {
		s.prefix += "."
	}
	metrics := make([]Metric, len(defs))
	s.metrics = make([]*Metric, 0, len(defs))
	for _, d := range defs {
		if old, ok := s.Lookup(d.Name); ok {
			old.Definition = d
			continue
		}
		m := &metrics[len(s.metrics)]
		*m = Metric{Name: d.Name, Definition: d, set: s, index: int32(len(s.metrics))}
		s.metrics = append(s.metrics, m)
		s.names[d.Name] = m
	}
	s.program = s.compile()
	return s
}

// compile checks all metrics and makes their program.
func (s *Set) compile() *program {
	length := 0
	for _, m := range s.metrics {
		length += len(m.Definition.Text)
	}
	const usual = 10 // characters of an expression for each step
	check, compile := newChecker(s), newCompiler(s, length/usual)
	for _, m := range s.inOrder() {
		if check.check(m); m.Err == nil {
			m.Desc = m.tree.Desc
			m.Desc.PMID = pdu.NoPMID
			compile.metric(m)
		}
	}
	return compile.finish()
}

// Metrics returns all metrics, in the order of the definitions; read-only.
func (s *Set) Metrics() []*Metric { return s.metrics }

// Lookup finds a metric by its definition's name.
func (s *Set) Lookup(name string) (*Metric, bool) {
	m, ok := s.names[name]
	return m, ok
}

// Needs tells what m must find in a sample; read-only.
func (m *Metric) Needs() *Needs { return &m.needs }

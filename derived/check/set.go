package check

import (
	"fmt"

	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// Set is all definitions of one configuration, checked against one state of the collector's name space.
type Set struct {
	metrics []*Metric
	ordered []*Metric // the same, each after those that its definition names
	names   map[string]*Metric
	catalog Catalog
	prefix  string // with its dot, or empty

	language Language

	groupInDoms  map[group.Domain]pdu.InDom // nil: there are none
	groupDomains map[pdu.InDom]group.Domain // likewise
}

// Metric is a definition bound to a collector: it has either a descriptor or an error. Immutable.
type Metric struct {
	Err   *Error // why it cannot be used; Desc is then empty
	Tree  *Node  // nil: there is an error
	Index int32  // in the set

	Name       string
	Definition *Definition
	Desc       pdu.Desc // its PMID is pdu.NoPMID: the server of the metric gives it one
	Protected  bool     // its name is protected (Language.Protects), or that of an operand or a definition that it uses
}

// Metrics returns all metrics, in the order of the definitions; read-only.
func (s *Set) Metrics() []*Metric { return s.metrics }

// Ordered returns all metrics, each after those that its definition names, as far as they do not name each other in a
// circle; read-only.
func (s *Set) Ordered() []*Metric { return s.ordered }

// Refuse gives m an error, because it needs too many operands and instances together with the metrics before it in
// Ordered. The numbers say how many those of its file may need, and those of all files. Metrics that use it are to be
// refused, too.
func (m *Metric) Refuse(ofFile, ofAll int) {
	m.Err = &Error{
		Metric: m.Name, What: "operand " + operandText(m.Definition.Expr), Rule: RuleTooDeep, Span: m.Definition.Expr.Span(),
		Detail: fmt.Sprintf(
			"definitions of a file need at most %d operands and instances of each other, those of all files %d", ofFile, ofAll),
	}
	m.Tree, m.Desc = nil, pdu.Desc{}
}

// Lookup finds a metric by its definition's name.
func (s *Set) Lookup(name string) (*Metric, bool) {
	m, ok := s.names[name]
	return m, ok
}

// GroupDomains returns the instance domains of groups that the metrics of the set use; read-only.
func (s *Set) GroupDomains() map[pdu.InDom]group.Domain { return s.groupDomains }

// Language returns the options that the set was made with.
func (s *Set) Language() Language { return s.language }

// NewSet checks definitions, in the language as the site has configured it. They should have distinct names; of several
// with one name the last one counts. The set keeps the catalog, whose answers should stay the same. prefix, if
// not empty, is the name that the metrics are served below.
func NewSet(l Language, defs []*Definition, cat Catalog, prefix string) *Set {
	s := &Set{catalog: cat, prefix: prefix, language: l, names: make(map[string]*Metric, len(defs))}
	if prefix != "" {
		s.prefix += "."
	}
	metrics := make([]Metric, len(defs))
	s.metrics = make([]*Metric, 0, len(defs))
	for _, d := range defs {
		if old, ok := s.names[d.Name]; ok {
			old.Definition = d
			continue
		}
		m := &metrics[len(s.metrics)]
		*m = Metric{
			Name: d.Name, Definition: d, Index: int32(len(s.metrics)),
			Protected: l.protects(d.Name) || l.protects(s.prefix+d.Name),
		}
		s.metrics = append(s.metrics, m)
		s.names[d.Name] = m
	}
	s.ordered = s.inOrder()
	check := newChecker(s)
	for _, m := range s.ordered {
		if check.check(m); m.Err == nil {
			m.Desc = m.Tree.Desc
			m.Desc.PMID = pdu.NoPMID
		}
	}
	return s
}

package engine

import (
	"pmdaderived/derived/check"
	"pmdaderived/derived/group"
	"pmdaderived/pdu"
)

// Set has all metrics of one configuration, bound to one state of the collector's name space and compiled together.
// Immutable: if one of these changes, make a new Set.
type Set struct {
	checked *check.Set
	metrics []*Metric // in the order of checked
	program *program

	groupDomains map[pdu.InDom]group.Domain // those of checked
}

// Metric is a definition bound to a collector, with the steps that compute it. Immutable.
type Metric struct {
	*check.Metric
	root  int32 // the step that computes its value
	needs Needs
	set   *Set
}

// NewSet compiles the metrics of a set that have no error.
func NewSet(checked *check.Set) *Set {
	s := &Set{checked: checked, groupDomains: checked.GroupDomains(), metrics: make([]*Metric, len(checked.Metrics()))}
	metrics := make([]Metric, len(s.metrics))
	length := 0
	for i, m := range checked.Metrics() {
		metrics[i] = Metric{Metric: m, set: s}
		s.metrics[i] = &metrics[i]
		length += len(m.Definition.Text)
	}
	const usual = 10 // characters of an expression per step
	compile := newCompiler(s, length/usual)
	for _, m := range checked.Ordered() {
		if m.Err == nil {
			compile.addMetric(s.metrics[m.Index])
		}
	}
	s.program = compile.finishProgram()
	return s
}

// Metrics returns all metrics, in the order of the definitions; read-only.
func (s *Set) Metrics() []*Metric { return s.metrics }

// Lookup finds a metric by its definition's name.
func (s *Set) Lookup(name string) (*Metric, bool) {
	m, ok := s.checked.Lookup(name)
	if !ok {
		return nil, false
	}
	return s.metrics[m.Index], true
}

// Steps returns the number of steps that compute all metrics.
func (s *Set) Steps() int { return len(s.program.steps) }

// GroupDomains returns the instance domains of groups that the metrics of the set use; read-only.
func (s *Set) GroupDomains() map[pdu.InDom]group.Domain { return s.groupDomains }

// Needs returns what m needs of a sample; read-only. Windows that it uses have needs of their own: see Fetches.
func (m *Metric) Needs() *Needs { return &m.needs }

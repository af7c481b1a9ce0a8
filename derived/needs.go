package derived

import (
	"cmp"
	"slices"

	"pmdaderived/pdu"
)

// Needs is what a sample must hold for a metric to be computed from it. Every list is sorted and
// without repetition. Metrics share lists.
type Needs struct {
	Operands  []pdu.PMID  // values
	Names     []pdu.InDom // external names of the instances, for matchinst()
	Members   []pdu.InDom // list of instances, for constants over a domain
	Selectors []Selector  // instances that a name stands for
	History   int         // earlier samples, 0 without delta() and rate()
}

// Selector is an instance by name: x[name].
type Selector struct {
	InDom pdu.InDom
	Name  string
}

func (s Selector) compare(t Selector) int {
	return cmp.Or(cmp.Compare(s.InDom, t.InDom), cmp.Compare(s.Name, t.Name))
}

// needsOf returns what a step needs of a sample, given that of the steps it takes from. Steps with
// the same needs share them: a long definition has few different ones.
func (c *compiler) needsOf(s *step) *Needs {
	needs := &none
	s.takes(func(i int32) { needs = needs.and(c.needs[i]) })
	switch s.op {
	case opOperand:
		return &Needs{Operands: []pdu.PMID{pdu.PMID(s.id)}}
	case opConstSet:
		return &Needs{Members: []pdu.InDom{pdu.InDom(s.id)}}
	case opMatch:
		return needs.and(&Needs{Names: []pdu.InDom{pdu.InDom(s.id)}})
	case opSelect:
		return needs.and(&Needs{Selectors: []Selector{{pdu.InDom(s.id), c.program.texts[s.b]}}})
	}
	return needs
}

// none is the needs of a constant.
var none Needs //nolint:gochecknoglobals // never changed

// and returns the needs of both: n or m itself if it has them all.
func (n *Needs) and(m *Needs) *Needs {
	switch {
	case n == m || m == &none:
		return n
	case n == &none:
		return m
	}
	both := &Needs{
		Operands:  union(n.Operands, m.Operands, cmp.Compare[pdu.PMID]),
		Names:     union(n.Names, m.Names, cmp.Compare[pdu.InDom]),
		Members:   union(n.Members, m.Members, cmp.Compare[pdu.InDom]),
		Selectors: union(n.Selectors, m.Selectors, Selector.compare),
	}
	switch both.size() {
	case n.size():
		return n
	case m.size():
		return m
	}
	return both
}

func (n *Needs) size() int {
	return len(n.Operands) + len(n.Names) + len(n.Members) + len(n.Selectors)
}

// union merges two sorted lists; it returns the longer one if that has everything.
func union[T comparable](a, b []T, compare func(T, T) int) []T {
	if len(a) < len(b) {
		a, b = b, a
	}
	made := slices.Clip(a)
	for _, item := range b {
		if at, found := slices.BinarySearchFunc(made, item, compare); !found {
			made = slices.Insert(made, at, item)
		}
	}
	return made
}

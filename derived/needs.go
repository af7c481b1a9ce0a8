package derived

import (
	"cmp"
	"slices"

	"pmdaderived/pdu"
)

// Needs is what a sample must hold for a metric to be computed from it. Every list is sorted and
// without repetition. Metrics share lists.
type Needs struct {
	Operands []pdu.PMID // values
	History  int        // earlier samples, 0 without delta() and rate()
	Adds     bool       // there is a delta() that is not within a rate(): the values of successive samples add up
	*Lookups
}

// Lookups is what must be known of instance domains. Few metrics need any: all others share one.
type Lookups struct {
	Names     []pdu.InDom // external names of the instances, for matchinst()
	Members   []pdu.InDom // list of instances, for constants over a domain
	Selectors []Selector  // instances that a name stands for
	Labels    []Selector  // labels of instances, by their names
	Groups    []pdu.InDom // no need: the domains of ours whose groups come from this
	Windows   []uint32    // places in [Set.Windows] of those whose results it is computed from
}

// Selector is an instance by name, x[name], or a label.
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
	switch of := c.set.groupDomains[pdu.InDom(s.id)].Of; s.key {
	case keyPattern:
		needs = c.naming(needs, of)
	case keyLabel:
		needs = needs.and(&Needs{Lookups: &Lookups{Labels: []Selector{{of, c.program.texts[s.b]}}}})
	default:
	}
	switch s.op {
	case opOperand:
		return &Needs{Operands: []pdu.PMID{pdu.PMID(s.id)}, Lookups: none.Lookups}
	case opWindow:
		of := *c.program.windows[s.id].needs.Lookups
		of.Windows = []uint32{s.id}
		return &Needs{Lookups: &of}
	case opConstSet:
		return &Needs{Lookups: &Lookups{Members: []pdu.InDom{pdu.InDom(s.id)}}}
	case opGroup, opSpread, opRename:
		return needs.and(&Needs{Lookups: &Lookups{Groups: []pdu.InDom{pdu.InDom(s.id)}}})
	case opMatch:
		return c.naming(needs, pdu.InDom(s.id))
	case opSelect:
		if _, ours := c.set.groupDomains[pdu.InDom(s.id)]; ours {
			return needs
		}
		return needs.and(&Needs{Lookups: &Lookups{Selectors: []Selector{{pdu.InDom(s.id), c.program.texts[s.b]}}}})
	default:
		return needs
	}
}

// naming adds the names of a domain to what is needed. Those of groups are known.
func (c *compiler) naming(needs *Needs, d pdu.InDom) *Needs {
	if _, ours := c.set.groupDomains[d]; ours {
		return needs
	}
	return needs.and(&Needs{Lookups: &Lookups{Names: []pdu.InDom{d}}})
}

// none is the needs of a constant.
var none = Needs{Lookups: &Lookups{}} //nolint:gochecknoglobals // never changed

// and returns the needs of both: n or m itself if it has them all.
func (n *Needs) and(m *Needs) *Needs {
	switch {
	case n == m || m == &none:
		return n
	case n == &none:
		return m
	}
	both := &Needs{
		Operands: union(n.Operands, m.Operands, cmp.Compare[pdu.PMID]),
		Lookups:  n.Lookups.and(m.Lookups),
	}
	switch both.size() {
	case n.size():
		return n
	case m.size():
		return m
	}
	return both
}

func (n *Needs) size() int { return len(n.Operands) + n.Lookups.size() }

// and returns the lookups of both: l or m itself if it has them all.
func (l *Lookups) and(m *Lookups) *Lookups {
	switch {
	case l == m || m.size() == 0:
		return l
	case l.size() == 0:
		return m
	}
	return &Lookups{
		Names:     union(l.Names, m.Names, cmp.Compare[pdu.InDom]),
		Members:   union(l.Members, m.Members, cmp.Compare[pdu.InDom]),
		Selectors: union(l.Selectors, m.Selectors, Selector.compare),
		Labels:    union(l.Labels, m.Labels, Selector.compare),
		Groups:    union(l.Groups, m.Groups, cmp.Compare[pdu.InDom]),
		Windows:   union(l.Windows, m.Windows, cmp.Compare[uint32]),
	}
}

func (l *Lookups) size() int {
	return len(l.Names) + len(l.Members) + len(l.Selectors) + len(l.Labels) + len(l.Groups) + len(l.Windows)
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

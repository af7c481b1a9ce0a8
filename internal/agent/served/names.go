package served

import (
	"cmp"
	"errors"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pmda"
)

// name makes the name space. Metrics that are not bound can be looked up but are not shown to those who look around. A
// name cannot be a metric and a node above others: of names that clash those that are served already stay, then the
// older ones.
func (b *builder) name() {
	s := b.made
	if s.namedAs(b.Before) {
		s.Names = b.Before.Names
		return
	}
	newcomer := func(m *Metric) int {
		if old := b.old[m.Def.Name]; old != nil && old.Derived != nil {
			return 0
		}
		return 1
	}
	inOrder := slices.SortedStableFunc(slices.Values(s.Metrics), func(x, y *Metric) int {
		return cmp.Or(newcomer(x)-newcomer(y), cmp.Compare(x.Inst, y.Inst))
	})
	entries := slices.Grow(slices.Clone(b.Own), len(inOrder))
	for _, m := range inOrder {
		if !m.Absent {
			entries = append(entries, pmda.Entry{Name: m.FullName(), PMID: m.ID, Hidden: s.hides(m)})
		}
	}
	var err error
	s.Names, err = pmda.NewNamespace(derived.Root, entries)
	s.clashes = err != nil
	for _, clash := range clashesIn(err) {
		if m := s.find(clash.Name); m != nil {
			m.Derived, m.Operands, m.Described, m.proven = nil, nil, false, false
			m.State, m.Problem, m.Reported = Failed, clash.Error(), false
		}
	}
}

// hides reports whether a metric is not shown to those who look around.
func (s *Snapshot) hides(m *Metric) bool { return !m.Described || s.LookedUp && m.Derived == nil }

// namedAs reports whether another snapshot has the name space that this one will have.
func (s *Snapshot) namedAs(before *Snapshot) bool {
	return before.Names != nil && !before.clashes && slices.EqualFunc(s.Metrics, before.Metrics, func(m, old *Metric) bool {
		return m.ID == old.ID && m.Absent == old.Absent && s.hides(m) == before.hides(old) && m.Def.Name == old.Def.Name
	})
}

// clashesIn takes the error of NewNamespace apart.
func clashesIn(err error) []*pmda.NameError {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var all []*pmda.NameError
	for _, one := range joined.Unwrap() {
		if clash, ok := errors.AsType[*pmda.NameError](one); ok {
			all = append(all, clash)
		}
	}
	return all
}

package served

import (
	"cmp"
	"errors"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pmda"
)

// buildNamespace sets Namespace. A metric without descriptor has no name: pmlogger would never record a name that it
// finds without one, and waits for a name that it does not find. A metric that is not bound, but has a descriptor, can
// be looked up and is hidden from traversals: pmlogger exits if it no longer finds a name. A name cannot be a metric
// and a node above other metrics. Of definitions whose names clash, with or without descriptor, those stay that Before
// serves, then the older ones.
func (b *builder) buildNamespace() {
	s := b.snapshot
	if s.hasNamespaceOf(b.Before) {
		s.Namespace = b.Before.Namespace
		return
	}
	newcomer := func(m *Served) int {
		if old := b.servedBefore[m.Def.Name]; old != nil && old.Derived != nil {
			return 0
		}
		return 1
	}
	inOrder := slices.SortedStableFunc(slices.Values(s.Served), func(x, y *Served) int {
		return cmp.Or(newcomer(x)-newcomer(y), cmp.Compare(x.Inst, y.Inst))
	})
	build := func(has func(*Served) bool) (*pmda.Namespace, error) {
		entries := slices.Grow(slices.Clone(b.OwnEntries), len(inOrder))
		for _, m := range inOrder {
			if has(m) {
				entries = append(entries, pmda.Entry{Name: m.FullName(), PMID: m.ID, Hidden: s.isHidden(m)})
			}
		}
		return pmda.NewNamespace(derived.Root, entries)
	}
	_, err := build(func(m *Served) bool { return !m.Unreadable || m.HasDesc })
	s.hasClashes = err != nil
	for _, clash := range nameErrors(err) {
		if m := s.find(clash.Name); m != nil {
			m.Derived, m.Operands, m.HasDesc, m.wasBound = nil, nil, false, false
			m.State, m.Problem, m.Reported = Failed, clash.Error(), false
		}
	}
	s.Namespace, _ = build(func(m *Served) bool { return m.HasDesc }) // without those that clash
}

// isHidden reports whether traversals leave out a metric that has a descriptor.
func (s *Snapshot) isHidden(m *Served) bool { return m.Derived == nil && (s.LookedUp || m.Unreadable) }

// hasNamespaceOf reports whether the namespace of another snapshot fits this one.
func (s *Snapshot) hasNamespaceOf(before *Snapshot) bool {
	same := func(m, old *Served) bool {
		return m.ID == old.ID && m.Unreadable == old.Unreadable && m.HasDesc == old.HasDesc &&
			s.isHidden(m) == before.isHidden(old) && m.Def.Name == old.Def.Name
	}
	return before.Namespace != nil && !before.hasClashes && slices.EqualFunc(s.Served, before.Served, same)
}

// nameErrors returns the errors in the joined error of NewNamespace.
func nameErrors(err error) []*pmda.NameError {
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

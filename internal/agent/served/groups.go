package served

import (
	"fmt"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// GroupInDom is an instance domain of groups that was ever given out.
type GroupInDom struct {
	derived.GroupDomain

	Served    bool // a metric that is bound is computed from groups of it
	Protected bool // one of these is, or was, for known users only
}

// collectGroupInDoms tells the instance domains of groups. Where one is protected, all that is computed from groups of it is: their names are those of
// the others. It stays so while the agent runs, as names last longer than definitions, which may also have no operands for a while.
func (b *builder) collectGroupInDoms() {
	all := make(map[pdu.InDom]*GroupInDom)
	for d, of := range b.IDs.GroupDomains() {
		before := b.Before.Groups[d]
		all[d] = &GroupInDom{GroupDomain: derived.GroupDomain(of), Protected: before != nil && before.Protected}
	}
	b.snapshot.Groups = all
	for again := len(all) > 0; again; {
		again = false
		for _, m := range b.snapshot.Entries {
			if m.Derived == nil {
				continue
			}
			theirs := m.Derived.Needs().Groups
			protected := m.Protected || slices.ContainsFunc(theirs, func(d pdu.InDom) bool { return all[d].Protected })
			again = again || protected != m.Protected
			m.Protected = protected
			for _, d := range theirs {
				again = again || protected != all[d].Protected && protected
				all[d].Served, all[d].Protected = true, all[d].Protected || protected
			}
		}
	}
}

// Text is what the help of the domain says.
func (g *GroupInDom) Text() string {
	return fmt.Sprintf("groups of the instances of %s, by %s", g.Of, g.Label)
}

// Labels are those of groups: which each is.
func (g *GroupInDom) Labels(all []pdu.Instance) []pdu.LabelSet {
	sets, err := pdu.NameLabels(g.Label, all)
	if err != nil { // the name of the label is too long
		return nil
	}
	return sets
}

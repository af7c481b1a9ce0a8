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

	Served    bool // a bound metric has it
	Protected bool // only known users may see it: one of its metrics is, or was, protected
}

// collectGroupInDoms sets Groups. All metrics of a protected instance domain of groups become protected, since each
// shows the names of the groups. A domain stays protected while the agent runs: its names outlast definitions, which
// may also lose their operands for a while.
func (b *builder) collectGroupInDoms() {
	all := make(map[pdu.InDom]*GroupInDom)
	for d, of := range b.IDs.GroupDomains() {
		before := b.Before.Groups[d]
		all[d] = &GroupInDom{GroupDomain: derived.GroupDomain(of), Protected: before != nil && before.Protected}
	}
	b.snapshot.Groups = all
	for again := len(all) > 0; again; {
		again = false
		for _, m := range b.snapshot.Served {
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

// Text returns the help text of the instance domain.
func (g *GroupInDom) Text() string {
	return fmt.Sprintf("groups of the instances of %s, by %s", g.Of, g.Label)
}

// Labels returns the labels of each group, its keys.
func (g *GroupInDom) Labels(all []pdu.Instance) []pdu.LabelSet {
	sets, err := pdu.NameLabels(g.GroupDomain.Labels(), all, g.AppendValues)
	if err != nil { // the name of a label is too long
		return nil
	}
	return sets
}

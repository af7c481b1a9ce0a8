package identity

import (
	"fmt"
	"iter"

	"pmdaderived/pdu"
)

// firstGroupSerial is the serial of the first instance domain of groups. The other instance domains of the agent have
// lower ones.
const firstGroupSerial = 64

// GroupDomain identifies an instance domain of groups: the instance domain that is grouped, and the label of the
// groups.
type GroupDomain struct {
	Of    pdu.InDom `json:"of"`
	Label string    `json:"label"`
}

// GroupInDom returns the instance domain for groups of the instances of another domain by a label. It gives out a new
// one if there is none yet. NoInDom: no more can be given out.
func (r *Registry) GroupInDom(of pdu.InDom, label string) pdu.InDom {
	what := GroupDomain{of, label}
	if d, ok := r.groupInDom[what]; ok {
		return d
	}
	if len(r.state.Groups) >= maxGroupDomains || r.state.NextGroups > pdu.MaxSerial {
		return pdu.NoInDom
	}
	serial := max(r.state.NextGroups, firstGroupSerial)
	d := pdu.NewInDom(r.Domain(), serial)
	r.state.NextGroups = serial + 1
	r.state.Groups[d], r.groupInDom[what] = what, d
	r.changed = true
	return d
}

// GroupDomains yields all instance domains of groups that were ever given out.
func (r *Registry) GroupDomains() iter.Seq2[pdu.InDom, GroupDomain] {
	return func(yield func(pdu.InDom, GroupDomain) bool) {
		for of, d := range r.groupInDom {
			if !yield(d, of) {
				return
			}
		}
	}
}

// indexGroups sets groupInDom from the state.
func (r *Registry) indexGroups() {
	r.groupInDom = make(map[GroupDomain]pdu.InDom, len(r.state.Groups))
	for d, known := range r.state.Groups {
		r.groupInDom[known] = d
	}
}

// checkGroups returns why the groups of a state are inconsistent.
func (s *state) checkGroups() error {
	given := make(map[GroupDomain]pdu.InDom, len(s.Groups))
	for d, known := range s.Groups {
		if other, ok := given[known]; ok {
			return fmt.Errorf("instance domains %s and %s have the same operand domain and label", other, d)
		}
		given[known] = d
		if d.Domain() != s.Domain || d.Serial() < firstGroupSerial || d.Serial() >= s.NextGroups {
			return fmt.Errorf("instance domain %s was never assigned", d)
		}
	}
	return nil
}

// maxGroupDomains limits the instance domains of groups.
const maxGroupDomains = 10_000

package identity

import (
	"fmt"
	"iter"

	"pmdaderived/pdu"
)

// firstGroupSerial is the serial of the first instance domain of groups. The agent's own domains have lower ones.
const firstGroupSerial = 64

// GroupDomain is what an instance domain of groups is for.
type GroupDomain struct {
	Of    pdu.InDom `json:"of"`
	Label string    `json:"label"`
}

// GroupInDom is the instance domain of the groups of a domain's instances that have a label, a new one if there is none
// yet. NoInDom: there are no more.
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
	r.changed, r.mustSave = true, true
	return d
}

// GroupDomains yields all instance domains of groups that were ever given out, with what they are for.
func (r *Registry) GroupDomains() iter.Seq2[pdu.InDom, GroupDomain] {
	return func(yield func(pdu.InDom, GroupDomain) bool) {
		for of, d := range r.groupInDom {
			if !yield(d, of) {
				return
			}
		}
	}
}

// indexGroups makes what is known of groups beside the state.
func (r *Registry) indexGroups() {
	r.groupInDom = make(map[GroupDomain]pdu.InDom, len(r.state.Groups))
	for d, known := range r.state.Groups {
		r.groupInDom[known] = d
	}
}

// checkGroups says why the groups of a state make no sense.
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

// maxGroupDomains is how many instance domains of groups are given out.
const maxGroupDomains = 10_000

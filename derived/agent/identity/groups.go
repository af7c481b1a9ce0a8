package identity

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"pmdaderived/pdu"
)

// firstGroupSerial is the serial of the first instance domain of groups. The agent's own domains have lower ones.
const firstGroupSerial = 64

// groupDomain is what is remembered of an instance domain of groups.
type groupDomain struct {
	Of    pdu.InDom            `json:"of"`
	Label string               `json:"label"`
	Names map[string]groupSeen `json:"names,omitempty"`
}

// groupSeen is the number of a group, and the day when it was used last, counted from 1970.
type groupSeen [2]int64

// GroupDomain is what an instance domain of groups is for.
type GroupDomain struct {
	Of    pdu.InDom
	Label string
}

// Group is a group and its number.
type Group struct {
	InDom pdu.InDom
	Name  string
	Inst  pdu.Inst
	Day   int64 // when it was used last, counted from 1970
	Gone  bool  // it has been forgotten
}

// GroupInDom is the instance domain of the groups of a domain's instances that have a label, a new one if there is none
// yet. NoInDom: there are no more.
func (r *Registry) GroupInDom(of pdu.InDom, label string) pdu.InDom {
	if d, ok := r.groupInDom[GroupDomain{of, label}]; ok {
		return d
	}
	if len(r.state.Groups) >= maxGroupDomains || r.state.NextGroups > pdu.MaxSerial {
		return pdu.NoInDom
	}
	serial := max(r.state.NextGroups, firstGroupSerial)
	d := pdu.NewInDom(r.Domain(), serial)
	r.state.NextGroups = serial + 1
	r.state.Groups[d] = groupDomain{Of: of, Label: label, Names: make(map[string]groupSeen)}
	r.groupInDom[GroupDomain{of, label}] = d
	r.changed, r.promised = true, true
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

// Groups are all groups that are remembered.
func (r *Registry) Groups() iter.Seq[Group] {
	return func(yield func(Group) bool) {
		for _, d := range slices.Sorted(maps.Keys(r.state.Groups)) {
			for name, seen := range r.state.Groups[d].Names {
				if !yield(Group{InDom: d, Name: name, Inst: pdu.Inst(seen[0]), Day: seen[1]}) {
					return
				}
			}
		}
	}
}

// NoteGroup notes that there is a group now, or that it is forgotten. Where all names are too much, those that are new are not
// remembered: their numbers are made from the names.
func (r *Registry) NoteGroup(g Group) {
	known, ok := r.state.Groups[g.InDom]
	_, old := known.Names[g.Name]
	switch {
	case !ok: // of no domain that was given out
		return
	case g.Gone && old:
		delete(known.Names, g.Name)
		r.groupBytes -= sizeOf(g.Name)
	case g.Gone, !old && r.groupBytes >= maxGroupBytes:
		return
	default:
		if !old {
			r.groupBytes += sizeOf(g.Name)
		}
		known.Names[g.Name] = groupSeen{int64(g.Inst), g.Day}
	}
	r.changed = true
}

// sizeOf is about what a group takes in the state file, a name that needs no escapes.
func sizeOf(name string) int { return len(name) + len(`"":[1234567890,12345],`) }

// knowGroups makes what is known of groups beside the state.
func (r *Registry) knowGroups() {
	r.groupInDom = make(map[GroupDomain]pdu.InDom, len(r.state.Groups))
	for d, known := range r.state.Groups {
		r.groupInDom[GroupDomain{known.Of, known.Label}] = d
		for name := range known.Names {
			r.groupBytes += sizeOf(name)
		}
	}
}

// checkGroups says why the groups of a state make no sense.
func (s *state) checkGroups() error {
	given := make(map[GroupDomain]pdu.InDom, len(s.Groups))
	for d, known := range s.Groups {
		if other, ok := given[GroupDomain{known.Of, known.Label}]; ok {
			return fmt.Errorf("instance domains %s and %s have the same operand domain and label", other, d)
		}
		given[GroupDomain{known.Of, known.Label}] = d
		if d.Domain() != s.Domain || d.Serial() < firstGroupSerial || d.Serial() >= s.NextGroups {
			return fmt.Errorf("instance domain %s was never assigned", d)
		}
		numbers := make(map[int64]string, len(known.Names))
		for name, seen := range known.Names {
			if other, ok := numbers[seen[0]]; ok || seen[0] < 0 || seen[0] > lastInst {
				return fmt.Errorf("groups %q and %q of instance domain %s have the same number", other, name, d)
			}
			numbers[seen[0]] = name
		}
	}
	return nil
}

const (
	// maxGroupBytes is what the names of all groups that are remembered may take in the state file, where escapes make them six times as long
	// at most.
	maxGroupBytes = 32 << 20

	// maxGroupDomains is how many instance domains of groups are given out.
	maxGroupDomains = 10_000
)

// lastInst is the largest number of an instance.
const lastInst = 1<<31 - 1

package identity

import (
	"fmt"
	"slices"

	"pmdaderived/pdu"
)

const (
	firstCluster = 1
	perCluster   = pdu.MaxItem + 1
	maxPMIDs     = (pdu.MaxCluster + 1 - firstCluster) * perCluster

	// maxFormer limits the former PMIDs of a name. An agent of operands may change its metadata again and again.
	maxFormer = 16
)

// errUsedUp is returned when every PMID of the domain has been given out.
var errUsedUp = fmt.Errorf("all %d metric identifiers of the domain have been used", maxPMIDs)

// Registry has the identities of names and instance domains of groups. It belongs to one goroutine.
type Registry struct {
	state   state
	path    string // "": the registry is never saved
	disk    disk
	changed bool // the state differs from the file

	groupInDom map[GroupDomain]pdu.InDom // the keys and values of state.Groups swapped
}

// Domain returns the domain of all PMIDs.
func (r *Registry) Domain() int { return r.state.Domain }

// PMID returns the PMID of a name. It gives out a new one if there is none yet. It fails if no PMID is left.
func (r *Registry) PMID(name string) (pdu.PMID, error) {
	if m, ok := r.state.Metrics[name]; ok {
		return m.PMID, nil
	}
	id, err := r.newPMID()
	if err == nil {
		r.state.Metrics[name] = metric{PMID: id}
	}
	return id, err
}

func (r *Registry) newPMID() (pdu.PMID, error) {
	if r.state.Next >= maxPMIDs {
		return pdu.NoPMID, errUsedUp
	}
	id := pdu.NewPMID(r.Domain(), firstCluster+r.state.Next/perCluster, r.state.Next%perCluster)
	r.state.Next++
	r.changed = true
	return id, nil
}

// Instance returns the number of a definition in the domain of definitions: the position of its PMID in the order of
// giving out.
func (r *Registry) Instance(id pdu.PMID) pdu.Inst {
	n, _ := r.state.index(id)
	return pdu.Inst(n)
}

// Bind stores the metadata that a name was bound with, and returns its PMID. If the metadata differs from what the PMID
// stood for, the name gets another PMID. desc.PMID is ignored.
func (r *Registry) Bind(name string, desc pdu.Desc) (pdu.PMID, error) {
	id, err := r.PMID(name)
	if err != nil {
		return id, err
	}
	m, now := r.state.Metrics[name], metadataOf(desc)
	switch {
	case m.Desc == nil:
		own := now // a copy, so that only this case allocates
		m.Desc = &own
	case *m.Desc != now:
		if err := r.switchMetadata(&m, now); err != nil {
			return id, err
		}
	default:
		return id, nil
	}
	r.state.Metrics[name] = m
	r.changed = true
	return m.PMID, nil
}

// switchMetadata gives a metric other metadata, and the PMID that stands for it.
func (r *Registry) switchMetadata(m *metric, desc metadata) error {
	now := former{Desc: desc}
	if i := slices.IndexFunc(m.Former, func(f former) bool { return f.Desc == desc }); i >= 0 {
		now = m.Former[i]
		m.Former = slices.Delete(slices.Clone(m.Former), i, i+1)
	} else {
		var err error
		if now.PMID, err = r.newPMID(); err != nil {
			return err
		}
	}
	m.Former = append(m.Former, former{m.PMID, *m.Desc})
	m.Former = m.Former[max(0, len(m.Former)-maxFormer):]
	m.PMID, m.Desc = now.PMID, &now.Desc
	return nil
}

// Desc returns the descriptor of the last binding; false: the name was never bound.
func (r *Registry) Desc(name string) (pdu.Desc, bool) {
	m := r.state.Metrics[name]
	if m.Desc == nil {
		return pdu.Desc{}, false
	}
	return m.Desc.desc(m.PMID), true
}

// Former returns the descriptors of the former PMIDs of a name, as far as they are remembered, in the order in which
// the name gave them up.
func (r *Registry) Former(name string) []pdu.Desc { return r.state.Metrics[name].former() }

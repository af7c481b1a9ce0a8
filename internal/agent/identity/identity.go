package identity

import (
	"fmt"
	"maps"
	"slices"

	"pmdaderived/pdu"
)

const (
	firstCluster = 1
	perCluster   = pdu.MaxItem + 1
	maxPMIDs     = (pdu.MaxCluster + 1 - firstCluster) * perCluster

	// maxFiles is how many files are remembered besides those that there are.
	maxFiles = 10000

	// maxFormer is how many PMIDs are remembered of a name besides its own. An agent may say that its metrics are others again and again.
	maxFormer = 16
)

// errUsedUp says that every PMID of the domain has been given out.
var errUsedUp = fmt.Errorf("all %d metric identifiers of the domain have been used", maxPMIDs)

// Registry is what is remembered of names and files.
type Registry struct {
	state    state
	path     string // "": not persistent
	disk     disk
	changed  bool // something is not saved
	mustSave bool // something that must be before anybody is told

	groupInDom map[GroupDomain]pdu.InDom // of all that were given out
}

// Domain is the domain of all PMIDs.
func (r *Registry) Domain() int { return r.state.Domain }

// PMID returns the PMID of a name, a new one if it has none yet. An error says that there are no more.
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
	r.changed, r.mustSave = true, true
	return id, nil
}

// Instance is the number of a definition, which is the place of its PMID in the order of giving out.
func (r *Registry) Instance(id pdu.PMID) pdu.Inst {
	n, _ := r.state.index(id)
	return pdu.Inst(n)
}

// Bind notes the expression of a name and what it has turned out to be, and returns its PMID: another one if the
// metadata is not what its PMID stood for so far. The PMID in desc does not count.
func (r *Registry) Bind(name, text string, desc pdu.Desc) (pdu.PMID, error) {
	id, err := r.PMID(name)
	if err != nil {
		return id, err
	}
	m, now := r.state.Metrics[name], metadataOf(desc)
	switch {
	case m.Desc == nil:
		own := now // not in the way of those that have not changed
		m.Desc, r.mustSave = &own, true
	case *m.Desc != now:
		if err := r.switchMetadata(&m, now); err != nil {
			return id, err
		}
		r.mustSave = true
	case m.Text == text:
		return id, nil
	}
	m.Text = text
	r.state.Metrics[name] = m
	r.changed = true
	return m.PMID, nil
}

// switchMetadata gives a metric other metadata, and the PMID that belongs to those.
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

// Desc returns the descriptor that a definition had when it was last bound; false if it never was, or had
// another expression then.
func (r *Registry) Desc(name, text string) (pdu.Desc, bool) {
	m, ok := r.state.Metrics[name]
	if !ok || m.Desc == nil || m.Text != text {
		return pdu.Desc{}, false
	}
	return m.Desc.desc(m.PMID), true
}

// Former are the descriptors of the PMIDs that a name had before, as far as they are remembered, in the order in which it gave them up last.
func (r *Registry) Former(name string) []pdu.Desc { return r.state.Metrics[name].former() }

// FileNumbers returns the numbers of all files that there are now, new ones for those that have none yet.
func (r *Registry) FileNumbers(paths []string) []pdu.Inst {
	if len(r.state.Files) >= len(paths)+maxFiles {
		now := make(map[string]bool, len(paths))
		for _, path := range paths {
			now[path] = true
		}
		maps.DeleteFunc(r.state.Files, func(path string, _ pdu.Inst) bool { return !now[path] })
		r.changed = true
	}
	numbers := make([]pdu.Inst, len(paths))
	for i, path := range paths {
		n, ok := r.state.Files[path]
		if !ok {
			n = r.state.NextFile
			r.state.NextFile++
			r.state.Files[path] = n
			r.changed, r.mustSave = true, true
		}
		numbers[i] = n
	}
	return numbers
}

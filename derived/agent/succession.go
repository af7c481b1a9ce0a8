package agent

import (
	"maps"
	"slices"

	"pmdaderived/pdu"
)

// Succession is a metric whose metadata has changed, which made it another metric each time.
type Succession struct {
	Name   string // full
	Now    pdu.Desc
	Former []pdu.Desc // with the PMIDs that it had, in the order in which they were given up last
}

// Successions reads from a state file ([Options].StateFile) which metrics have had other metadata before,
// by name. It changes nothing; the agent may run.
func Successions(stateFile string) ([]Succession, error) {
	f, err := readIdentityFile(stateFile)
	if err != nil {
		return nil, err
	}
	ids := newIdentities(stateFile, f.Domain)
	if err := ids.adopt(f); err != nil {
		return nil, err
	}
	var all []Succession
	for _, name := range slices.Sorted(maps.Keys(ids.metrics)) {
		m := ids.metrics[name]
		if m.Desc == nil || len(m.Former) == 0 {
			continue
		}
		s := Succession{Name: Root + "." + name, Now: m.Desc.desc(m.PMID)}
		for _, was := range m.Former {
			s.Former = append(s.Former, was.Desc.desc(was.PMID))
		}
		all = append(all, s)
	}
	return all, nil
}

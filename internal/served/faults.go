package served

import (
	"cmp"
	"fmt"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// tooManyOperands returns a message if a definition has more than most operands; most 0: there is no limit.
func tooManyOperands(d *Definition, m *derived.Metric, most int) string {
	n := 0
	for needs := range m.Fetches {
		n = max(n, len(needs.Operands))
	}
	if most == 0 || n <= most {
		return ""
	}
	return fmt.Sprintf("derived metric %s: %d operands, but at most %d can be sampled together", d.Name, n, most)
}

// Fault says why the agent would not serve a definition.
type Fault struct {
	Definition Definition
	Offset     int // in bytes of the definition's text; -1: the name is at fault
	Message    string
	Err        error // a *derived.Error, a *pmda.NameError, or nil
}

// Check returns what the agent would find wrong with definitions, in their order. Their names must be distinct. own
// are the agent's own metrics, operands is the limit of [Input].MaxOperands. With catalog nil, Check looks at names
// only.
func Check(
	defs []Definition, own []pmda.Entry, catalog derived.Catalog, language derived.Language, operands int,
) []Fault {
	order := make(map[string]int, len(defs))
	for i, d := range defs {
		order[d.Name] = i
	}
	faults := nameFaults(defs, own, order)
	if catalog != nil {
		set := Bind(Pointers(defs), catalog, language)
		for _, d := range Pointers(defs) {
			m, _ := set.Lookup(d.Name)
			if m.Err != nil {
				faults = append(faults, Fault{Definition: *d, Offset: m.Err.Offset(), Message: m.Err.Error(), Err: m.Err})
			} else if text := tooManyOperands(d, m, operands); text != "" {
				faults = append(faults, Fault{Definition: *d, Message: text})
			}
		}
	}
	slices.SortStableFunc(faults, func(x, y Fault) int {
		return cmp.Compare(order[x.Definition.Name], order[y.Definition.Name])
	})
	return faults
}

// nameFaults returns the definitions whose name is a node above or below another metric. Of two such metrics the
// first one has no fault.
func nameFaults(defs []Definition, own []pmda.Entry, order map[string]int) []Fault {
	entries := slices.Clone(own)
	for _, d := range defs {
		entries = append(entries, pmda.Entry{Name: derived.FullName(d.Name), PMID: pdu.NewPMID(1, 1, 0)}) // any
	}
	_, err := pmda.NewNamespace(derived.Root, entries)
	var faults []Fault
	for _, clash := range nameErrors(err) {
		name := derived.ShortName(clash.Name)
		if i, ok := order[name]; ok {
			faults = append(faults, Fault{
				Definition: defs[i], Offset: -1, Message: fmt.Sprintf("derived metric %s: %s", name, clash.Reason), Err: clash,
			})
		}
	}
	return faults
}

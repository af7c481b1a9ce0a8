package agent

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
)

// LookUp asks pmcd for the names that definitions use, and for more, and for the descriptors of those it knows.
// Names below [Root] are not asked for. An error means that the catalog is not known at all; a metric that does not
// exist is none.
func LookUp(ctx context.Context, conn *pmapi.Conn, defs []Definition, more ...string) (*operand.Catalog, error) {
	names, _ := operand.NamesIn(textsOf(pointers(defs)), Root, func(string) bool { return true })
	names = append(names, more...)
	slices.Sort(names)
	return operand.LookUp(ctx, conn, slices.Compact(names))
}

// textsOf yields the definitions without what is said about them besides.
func textsOf(defs []*Definition) iter.Seq[*derived.Definition] {
	return func(yield func(*derived.Definition) bool) {
		for _, d := range defs {
			if !yield(d.Definition) {
				return
			}
		}
	}
}

// Fault is why the agent would not serve a definition.
type Fault struct {
	Definition Definition
	Offset     int // of the fault in the definition's text, in bytes; -1: the name is at fault
	Message    string
	Err        error // a *derived.Error, a *pmda.NameError, or nil
}

// Check gives what the agent would find wrong with definitions of distinct names beside the collector
// that the catalog describes, in the order of the definitions. Without a catalog (nil) only names are
// checked. Of the limits that of operands counts.
func Check(defs []Definition, c *operand.Catalog, language derived.Language, limits Limits) []Fault {
	limits = limits.complete()
	order := make(map[string]int, len(defs))
	for i, d := range defs {
		order[d.Name] = i
	}
	faults := nameFaults(defs, order)
	if c != nil {
		set := bind(pointers(defs), c, language)
		for _, d := range pointers(defs) {
			m, _ := set.Lookup(d.Name)
			switch {
			case m.Err != nil:
				faults = append(faults, Fault{Definition: *d, Offset: m.Err.Offset(), Message: m.Err.Error(), Err: m.Err})
			case fault(d, m, limits) != "":
				faults = append(faults, Fault{Definition: *d, Message: fault(d, m, limits)})
			}
		}
	}
	slices.SortStableFunc(faults, func(x, y Fault) int {
		return cmp.Compare(order[x.Definition.Name], order[y.Definition.Name])
	})
	return faults
}

// nameFaults finds definitions whose name is a node above another metric, or below one. The first stays.
func nameFaults(defs []Definition, order map[string]int) []Fault {
	const domain = 1 // any
	entries := control.Entries(domain)
	for _, d := range defs {
		entries = append(entries, pmda.Entry{Name: Root + "." + d.Name, PMID: pdu.NewPMID(domain, control.Cluster+1, 0)})
	}
	_, err := pmda.NewNamespace(Root, entries)
	var faults []Fault
	for _, refused := range nameErrors(err) {
		i, ok := order[strings.TrimPrefix(refused.Name, Root+".")]
		if !ok {
			continue
		}
		faults = append(faults, Fault{
			Definition: defs[i], Offset: -1, Message: fmt.Sprintf("derived metric %s: %s", defs[i].Name, refused.Reason), Err: refused,
		})
	}
	return faults
}

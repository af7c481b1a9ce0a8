package agent

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
)

// Catalog is what a pmcd said about the metrics that definitions use, a [derived.Catalog]. Immutable.
type Catalog struct {
	names    catalog
	operands map[pdu.PMID]pdu.Desc
}

// Desc implements [derived.Catalog]. Names that were not asked for do not exist.
func (c *Catalog) Desc(name string) (pdu.Desc, error) { return c.names.Desc(name) }

// catalog is what pmcd said about each name.
type catalog map[string]operand

type operand struct {
	desc pdu.Desc
	code pdu.Code // < 0: why there is no descriptor
}

// Desc implements derived.Catalog.
func (c catalog) Desc(name string) (pdu.Desc, error) {
	o, ok := c[name]
	switch {
	case !ok:
		return pdu.Desc{}, pdu.ErrName
	case o.code < 0:
		return pdu.Desc{}, o.code
	}
	return o.desc, nil
}

// LookUp asks pmcd for the names that definitions use, and for more, and for the descriptors of those it knows.
// Names below [Root] are not asked for: pmcd would ask the agent. An error means that the catalog is not
// known at all; a metric that does not exist is none.
func LookUp(ctx context.Context, conn *pmapi.Conn, defs []Definition, more ...string) (*Catalog, error) {
	names, _ := operandNames(pointers(defs), func(string) bool { return true })
	names = append(names, more...)
	slices.Sort(names)
	return lookUp(ctx, conn, slices.Compact(names))
}

// operandNames are the names to ask pmcd for that are wanted, sorted and without repetition, and how
// many there are of all, with repetition.
func operandNames(defs []*Definition, wanted func(name string) bool) (names []string, all int) {
	for _, d := range defs {
		for name := range d.Names {
			if rest, ours := strings.CutPrefix(name, Root); ours && (rest == "" || rest[0] == '.') {
				continue
			}
			all++
			if wanted(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), all
}

func lookUp(ctx context.Context, conn *pmapi.Conn, names []string) (*Catalog, error) {
	c := &Catalog{names: make(catalog, len(names)), operands: make(map[pdu.PMID]pdu.Desc, len(names))}
	if len(names) == 0 {
		return c, nil
	}
	found, err := conn.LookupNames(ctx, names)
	if err != nil {
		return nil, err
	}
	ids := make([]pdu.PMID, 0, len(found))
	for _, f := range found {
		if f.Code >= 0 {
			ids = append(ids, f.PMID)
		}
	}
	descs, err := conn.Descs(ctx, ids)
	if err != nil {
		return nil, err
	}
	next := 0
	for i, f := range found {
		if f.Code < 0 {
			c.names[names[i]] = operand{code: f.Code}
			continue
		}
		d := descs[next]
		next++
		c.add(names[i], operand{desc: d.Desc, code: d.Code})
	}
	return c, nil
}

func (c *Catalog) add(name string, o operand) {
	c.names[name] = o
	if o.code >= 0 {
		c.operands[o.desc.PMID] = o.desc
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
func Check(defs []Definition, c *Catalog, language derived.Language, limits Limits) []Fault {
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
	entries := controlEntries(domain)
	for _, d := range defs {
		entries = append(entries, pmda.Entry{Name: Root + "." + d.Name, PMID: pdu.NewPMID(domain, controlCluster+1, 0)})
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

// domainsOf gathers the instance domains whose names or members metrics need, with their selectors.
func domainsOf(metrics iter.Seq[*derived.Metric]) map[pdu.InDom]map[string]bool {
	needed := make(map[pdu.InDom]map[string]bool)
	add := func(d pdu.InDom) map[string]bool {
		if needed[d] == nil {
			needed[d] = make(map[string]bool)
		}
		return needed[d]
	}
	for m := range metrics {
		needs := m.Needs()
		if len(needs.Names)+len(needs.Members)+len(needs.Selectors) == 0 {
			continue // most
		}
		for _, d := range slices.Concat(needs.Names, needs.Members) {
			add(d)
		}
		for _, s := range needs.Selectors {
			add(s.InDom)[s.Name] = true
		}
	}
	return needed
}

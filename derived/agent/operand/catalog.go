package operand

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Catalog is what a pmcd said about the metrics that definitions use, a [derived.Catalog]. Immutable.
type Catalog struct {
	names    map[string]operand
	operands map[pdu.PMID]pdu.Desc
}

type operand struct {
	desc pdu.Desc
	code pdu.Code // < 0: why there is no descriptor
}

// Desc implements [derived.Catalog]. Names that were not asked for do not exist.
func (c *Catalog) Desc(name string) (pdu.Desc, error) {
	o, ok := c.names[name]
	switch {
	case !ok:
		return pdu.Desc{}, pdu.ErrName
	case o.code < 0:
		return pdu.Desc{}, o.code
	}
	return o.desc, nil
}

// Descs are the descriptors of all operands that there are. They must not be changed.
func (c *Catalog) Descs() map[pdu.PMID]pdu.Desc { return c.operands }

// Len is how many names were asked for.
func (c *Catalog) Len() int { return len(c.names) }

// Equal reports whether two catalogs say the same of the same names; nil says nothing.
func (c *Catalog) Equal(other *Catalog) bool {
	return c == other || c != nil && other != nil && maps.Equal(c.names, other.names)
}

// With returns a catalog that has what was found besides.
func (c *Catalog) With(found *Catalog) *Catalog {
	if len(found.names) == 0 {
		return c
	}
	both := &Catalog{maps.Clone(c.names), maps.Clone(c.operands)}
	for name, o := range found.names {
		both.add(name, o)
	}
	return both
}

// Only returns a catalog of some names, as far as they were asked for.
func (c *Catalog) Only(names []string) *Catalog {
	some := newCatalog(len(names))
	for _, name := range names {
		if o, ok := c.names[name]; ok {
			some.add(name, o)
		}
	}
	return some
}

func newCatalog(n int) *Catalog {
	return &Catalog{make(map[string]operand, n), make(map[pdu.PMID]pdu.Desc, n)}
}

func (c *Catalog) add(name string, o operand) {
	c.names[name] = o
	if o.code >= 0 {
		c.operands[o.desc.PMID] = o.desc
	}
}

// NamesIn are the names that definitions use and that are wanted, sorted and without repetition, and how many there
// are of all, with repetition. Names at or below own are left out: pmcd would ask the agent.
func NamesIn(defs iter.Seq[*derived.Definition], own string, wanted func(name string) bool) (names []string, all int) {
	for d := range defs {
		for name := range d.Names {
			if rest, ours := strings.CutPrefix(name, own); ours && (rest == "" || rest[0] == '.') {
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

// LookUp asks pmcd for names, and for the descriptors of those it knows. An error means that nothing is known at all; a
// metric that does not exist is none.
func LookUp(ctx context.Context, conn *pmapi.Conn, names []string) (*Catalog, error) {
	c := newCatalog(len(names))
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

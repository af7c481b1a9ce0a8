package operand

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Catalog is what a pmcd said about the metrics that definitions use, a [derived.Catalog]. Immutable.
type Catalog struct {
	entries map[string]catalogEntry
}

type catalogEntry struct {
	desc      pdu.Desc
	code      pdu.Code // < 0: why there is no descriptor
	retryCode pdu.Code // < 0: why the agent has not told it again
}

// refused tells why there was no answer the last time: neither that the metric is there, nor that it is not, nor that its agent is
// not. 0: there was one.
func (o catalogEntry) refusal() pdu.Code {
	switch o.code {
	case 0, pdu.ErrName, pdu.ErrNonLeaf, pdu.ErrPMID, pdu.ErrNoAgent, pdu.ErrPMDAFenced:
		return o.retryCode
	}
	return o.code
}

// Desc implements [derived.Catalog]. Names that were not asked for do not exist.
func (c *Catalog) Desc(name string) (pdu.Desc, error) {
	o, ok := c.entries[name]
	switch {
	case !ok:
		return pdu.Desc{}, pdu.ErrName
	case o.code < 0:
		return pdu.Desc{}, o.code
	}
	return o.desc, nil
}

// Descs makes a table of the descriptors of all operands that there are.
func (c *Catalog) Descs() map[pdu.PMID]pdu.Desc {
	descs := make(map[pdu.PMID]pdu.Desc, len(c.entries))
	for _, o := range c.entries {
		if o.code >= 0 {
			descs[o.desc.PMID] = o.desc
		}
	}
	return descs
}

// Equal reports whether two catalogs say the same of the same names; nil says nothing.
func (c *Catalog) Equal(other *Catalog) bool {
	return c == other || c != nil && other != nil && maps.Equal(c.entries, other.entries)
}

// hasAll reports whether there are metrics with all these names.
func (c *Catalog) hasAll(names iter.Seq[string]) bool {
	for name := range names {
		if o, known := c.entries[name]; !known || o.code < 0 {
			return false
		}
	}
	return true
}

// namesToLookUp are those of the names to ask for: if not afresh, those that are not known or not there. Refused ones are not
// among them: [MetadataCache]. Of no catalog (nil) it is all.
func (c *Catalog) namesToLookUp(names []string, afresh bool) []string {
	if c == nil {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		o, known := c.entries[name]
		return known && (o.refusal() < 0 || !afresh && o.code >= 0)
	})
}

// refusedNames are the names that agents refuse to tell anything of, sorted.
func (c *Catalog) refusedNames() []string {
	var refused []string
	for name, o := range c.entries {
		if o.refusal() < 0 {
			refused = append(refused, name)
		}
	}
	slices.Sort(refused)
	return refused
}

// merge returns a catalog of names: what was found of them, else what is known, by no catalog (nil) nothing. What is known stays if its agent
// only says that this is not the time to ask.
func (c *Catalog) merge(found *Catalog, names []string) *Catalog {
	if c == nil {
		return found
	}
	both := newCatalog(len(names))
	for _, name := range names {
		known, had := c.entries[name]
		now, has := found.entries[name]
		switch {
		case had && known.code >= 0 && now.code == pdu.ErrAgain:
			both.entries[name] = catalogEntry{desc: known.desc, retryCode: now.code}
		case has:
			both.entries[name] = now
		case had:
			both.entries[name] = known
		}
	}
	return both
}

func newCatalog(n int) *Catalog {
	return &Catalog{make(map[string]catalogEntry, n)}
}

// NamesIn yields the names that definitions use, as often as they do. Names at or below own are left out: pmcd would ask the
// agent.
func NamesIn(defs iter.Seq[*derived.Definition], own string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for d := range defs {
			for name := range d.Names {
				if rest, ours := strings.CutPrefix(name, own); ours && (rest == "" || rest[0] == '.') {
					continue
				}
				if !yield(name) {
					return
				}
			}
		}
	}
}

// distinct are names sorted and without repetition.
func distinct(names iter.Seq[string]) []string { return slices.Compact(slices.Sorted(names)) }

// LookUp asks for names, and for the descriptors of those that there are. An error means that nothing is known at all; a
// metric that does not exist, or that its agent refuses, is none.
func LookUp(ctx context.Context, source MetadataSource, names []string) (*Catalog, error) {
	c := newCatalog(len(names))
	if len(names) == 0 {
		return c, nil
	}
	found, err := source.LookupNames(ctx, names)
	if err != nil {
		return nil, err
	}
	ids := make([]pdu.PMID, 0, len(found))
	for _, f := range found {
		if f.Code >= 0 {
			ids = append(ids, f.PMID)
		}
	}
	descs, err := source.Descs(ctx, ids)
	if err != nil {
		return nil, err
	}
	next := 0
	for i, f := range found {
		if f.Code < 0 {
			c.entries[names[i]] = catalogEntry{code: f.Code}
			continue
		}
		d := descs[next]
		next++
		c.entries[names[i]] = catalogEntry{desc: d.Desc, code: d.Code}
	}
	return c, nil
}

package operand

import (
	"context"
	"iter"
	"maps"
	"slices"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// Catalog has the descriptors of the metrics that definitions use, or the errors of their lookups. It implements
// [derived.Catalog] and is immutable.
type Catalog struct {
	entries map[string]catalogEntry
}

type catalogEntry struct {
	desc      pdu.Desc
	code      pdu.Code // < 0: there is no descriptor, because of this error
	retryCode pdu.Code // < 0: desc is from an earlier lookup, because the last one got this error
}

// refusal returns the error of the last lookup if it does not say whether the metric exists, such as
// PM_ERR_PERMISSION. It returns 0 if the lookup said that the metric exists, that it does not, or that its agent
// is away, in which case pmcd announces when the agent comes back, or fenced.
func (o catalogEntry) refusal() pdu.Code {
	if last := o.last(); !o.answered() && last != pdu.ErrNoAgent && last != pdu.ErrPMDAFenced {
		return last
	}
	return 0
}

// answered reports whether the last lookup said that the metric exists, or that it does not. Any other error says nothing
// about a metric that existed before.
func (o catalogEntry) answered() bool {
	last := o.last()
	return last >= 0 || last == pdu.ErrName || last == pdu.ErrNonLeaf || last == pdu.ErrPMID
}

// last returns the error of the last lookup, 0 or more if there was none.
func (o catalogEntry) last() pdu.Code { return min(o.code, o.retryCode) }

// Desc implements [derived.Catalog]. It returns PM_ERR_NAME for a name that was not looked up.
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

// Descs returns the descriptors of all operands that exist, by PMID.
func (c *Catalog) Descs() map[pdu.PMID]pdu.Desc {
	descs := make(map[pdu.PMID]pdu.Desc, len(c.entries))
	for _, o := range c.entries {
		if o.code >= 0 {
			descs[o.desc.PMID] = o.desc
		}
	}
	return descs
}

// Equal reports whether two catalogs have the same entries. Either may be nil, which equals only nil.
func (c *Catalog) Equal(other *Catalog) bool {
	return c == other || c != nil && other != nil && maps.Equal(c.entries, other.entries)
}

// hasAll reports whether the catalog has a descriptor for each name.
func (c *Catalog) hasAll(names iter.Seq[string]) bool {
	for name := range names {
		if o, known := c.entries[name]; !known || o.code < 0 {
			return false
		}
	}
	return true
}

// namesToLookUp returns the names to ask pmcd for: with afresh all that are not refused, otherwise those without a
// descriptor that are not refused. A nil catalog returns all names. [MetadataCache] asks for refused names separately.
func (c *Catalog) namesToLookUp(names []string, afresh bool) []string {
	if c == nil {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		o, known := c.entries[name]
		return known && (o.refusal() < 0 || !afresh && o.code >= 0)
	})
}

// refusedNames returns the names with a refusal, sorted.
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

// distinguishAway replaces PM_ERR_NAME in found for names of c whose agent is away, by PM_ERR_NOAGENT or another error that
// does not say whether they exist. pmcd forwards lookups of dynamic names to their agent. Only the answer for one name
// alone says that the agent is away, so it asks for one lost name of each agent. c may be nil.
func (c *Catalog) distinguishAway(ctx context.Context, source MetadataSource, found *Catalog) error {
	if c == nil {
		return nil
	}
	lost := make(map[int][]string) // by domain
	for name, o := range found.entries {
		if known, had := c.entries[name]; had && known.code >= 0 && o.code == pdu.ErrName {
			domain := known.desc.PMID.Domain()
			lost[domain] = append(lost[domain], name)
		}
	}
	for _, names := range lost {
		alone, err := source.LookupNames(ctx, names[:1])
		if err != nil {
			return err
		}
		now := catalogEntry{code: alone[0].Code}
		switch {
		case now.code >= 0: // the agent has come back between the two lookups
			now.code = pdu.ErrAgain
		case now.answered():
			continue
		}
		for _, name := range names {
			found.entries[name] = now
		}
	}
	return nil
}

// merge returns a catalog of names with the entries of found, and those of c where found has none; c may be nil. A
// descriptor of c also stays where the lookup does not say whether the metric exists.
func (c *Catalog) merge(found *Catalog, names []string) *Catalog {
	if c == nil {
		return found
	}
	both := newCatalog(len(names))
	for _, name := range names {
		known, had := c.entries[name]
		now, has := found.entries[name]
		switch {
		case had && known.code >= 0 && !now.answered():
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

// NamesIn yields the names of operands in definitions, with repetitions. It leaves out names at or below own, the root
// of the agent's metrics: pmcd would forward a lookup of them to this agent.
func NamesIn(defs iter.Seq[*derived.Definition], own string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for d := range defs {
			for name := range d.Names {
				if !pdu.AtOrBelow(name, own) && !yield(name) {
					return
				}
			}
		}
	}
}

// distinct returns names sorted and without repetitions.
func distinct(names iter.Seq[string]) []string { return slices.Compact(slices.Sorted(names)) }

// LookUp asks the source for the PMIDs and the descriptors of names. It returns an error only if the requests as a
// whole failed: the error of a single name is in its entry.
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

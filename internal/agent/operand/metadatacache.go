package operand

import (
	"context"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pmdaderived/pdu"
)

// MetadataCache keeps what pmcd says of names, and knows what to ask it for again, and when. For one goroutine.
//
//	a name is     and is asked for
//	unknown       at once
//	known         when everything is asked for afresh
//	not there     with each look-up: it may appear
//	refused       apart, ever more seldom: its agent has a reason that says nothing about the metric (AGAIN, PERMISSION, ...)
type MetadataCache struct {
	Catalog *Catalog    // nil: nothing has been looked up yet
	Queue   LookupQueue // domains that are to be looked up

	source  MetadataSource // that the catalog is from
	refused []string       // sorted
	retry   retry          // of asking for them
}

// LookUp asks for those names in use that it must, or afresh for all but those that are refused; on another connection for all. If there
// is nothing to ask for and nothing is refused, the catalog stays as it is, with names that are not used any more. An error means that
// nothing is known that was not.
func (c *MetadataCache) LookUp(ctx context.Context, source MetadataSource, used iter.Seq[string], afresh bool) error {
	known := c.Catalog
	if source != c.source {
		known = nil // that may be another pmcd
	}
	if known != nil && !afresh && len(c.refused) == 0 && known.hasAll(used) {
		return nil
	}
	names := distinct(used)
	found, err := LookUp(ctx, source, known.namesToLookUp(names, afresh))
	if err != nil {
		return err
	}
	c.source, c.Catalog = source, known.merge(found, names)
	before := c.refused
	c.refused = c.Catalog.refusedNames()
	if afresh || !slices.Equal(before, c.refused) {
		c.retry.restart(time.Now())
	}
	return nil
}

// LookUpRefused asks for the names that agents refuse, and reports whether anything else is known of them now.
func (c *MetadataCache) LookUpRefused(ctx context.Context, source MetadataSource, used iter.Seq[string]) (changed bool, err error) {
	began := time.Now()
	found, err := lookUpRefused(ctx, source, c.refused)
	if err != nil {
		return false, err
	}
	before := c.Catalog
	c.Catalog = before.merge(found, distinct(used))
	c.refused = c.Catalog.refusedNames()
	why := pdu.ErrPermission // or another code that says nothing of a time
	if slices.ContainsFunc(c.refused, func(name string) bool { return c.Catalog.entries[name].refusal() == pdu.ErrAgain }) {
		why = pdu.ErrAgain
	}
	c.retry.recordAnswer(time.Now(), time.Since(began), why)
	return !c.Catalog.Equal(before), nil
}

// Refused is how many names agents refuse, and the first of them with the reason.
func (c *MetadataCache) Refused() (n int, name string, why error) {
	if len(c.refused) == 0 {
		return 0, "", nil
	}
	return len(c.refused), c.refused[0], c.Catalog.entries[c.refused[0]].refusal()
}

// RefusedDue reports whether LookUpRefused is due.
func (c *MetadataCache) RefusedDue(now time.Time) bool {
	return len(c.refused) > 0 && !c.retry.next.After(now)
}

// Next is when something is due, a name or a domain; zero: nothing is waiting.
func (c *MetadataCache) NextDue() time.Time {
	next := c.Queue.NextDue()
	if len(c.refused) > 0 && (next.IsZero() || c.retry.next.Before(next)) {
		next = c.retry.next
	}
	return next
}

// maxProbes is how many names of an agent are asked for alone, to learn whether it still refuses them.
const maxProbes = 16

// lookUpRefused is LookUp for names that were refused, sorted. Who refuses one name refuses others as a rule, and names with the same first
// component have the same owner as a rule: a few of those are asked for alone, any of them, and the rest only if one is
// answered. The catalog has those that were asked for.
func lookUpRefused(ctx context.Context, source MetadataSource, names []string) (*Catalog, error) {
	found := newCatalog(0)
	ask := func(names ...string) error {
		some, err := LookUp(ctx, source, names)
		if err == nil {
			maps.Copy(found.entries, some.entries)
		}
		return err
	}
	for len(names) > 0 {
		end := slices.IndexFunc(names, func(name string) bool { return firstComponent(name) != firstComponent(names[0]) })
		if end < 0 {
			end = len(names)
		}
		group := slices.Clone(names[:end])
		names = names[end:]
		rand.Shuffle(len(group), func(i, j int) { group[i], group[j] = group[j], group[i] })
		for i, name := range group[:min(len(group), maxProbes)] {
			if err := ask(name); err != nil {
				return nil, err
			}
			if found.entries[name].refusal() == 0 {
				rest := group[i+1:]
				slices.Sort(rest)
				if err := ask(rest...); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	return found, nil
}

func firstComponent(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

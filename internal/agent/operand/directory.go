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

// Directory keeps what pmcd says of names, and knows what to ask it for again, and when. For one goroutine.
//
//	a name is     and is asked for
//	unknown       at once
//	known         when everything is asked for afresh
//	not there     with each look-up: it may appear
//	refused       apart, ever more seldom: its agent has a reason that says nothing about the metric (AGAIN, PERMISSION, ...)
type Directory struct {
	Catalog *Catalog // nil: nothing has been looked up yet
	Waiting Waiting  // domains that are to be looked up

	source  Metadata // that the catalog is from
	refused []string // sorted
	pace    Pace     // of asking for them
}

// LookUp asks for those names in use that it must, or afresh for all but those that are refused; on another connection for all. If there
// is nothing to ask for and nothing is refused, the catalog stays as it is, with names that are not used any more. An error means that
// nothing is known that was not.
func (d *Directory) LookUp(ctx context.Context, source Metadata, used iter.Seq[string], afresh bool) error {
	known := d.Catalog
	if source != d.source {
		known = nil // that may be another pmcd
	}
	if known != nil && !afresh && len(d.refused) == 0 && known.hasAll(used) {
		return nil
	}
	names := distinct(used)
	found, err := LookUp(ctx, source, known.toAsk(names, afresh))
	if err != nil {
		return err
	}
	d.source, d.Catalog = source, known.with(found, names)
	before := d.refused
	d.refused = d.Catalog.refused()
	if afresh || !slices.Equal(before, d.refused) {
		d.pace.Begin(time.Now())
	}
	return nil
}

// LookUpRefused asks for the names that agents refuse, and reports whether anything else is known of them now.
func (d *Directory) LookUpRefused(ctx context.Context, source Metadata, used iter.Seq[string]) (changed bool, err error) {
	began := time.Now()
	found, err := lookUpAgain(ctx, source, d.refused)
	if err != nil {
		return false, err
	}
	before := d.Catalog
	d.Catalog = before.with(found, distinct(used))
	d.refused = d.Catalog.refused()
	why := pdu.ErrPermission // or another code that says nothing of a time
	if slices.ContainsFunc(d.refused, func(name string) bool { return d.Catalog.names[name].refused() == pdu.ErrAgain }) {
		why = pdu.ErrAgain
	}
	d.pace.Asked(time.Now(), time.Since(began), why)
	return !d.Catalog.Equal(before), nil
}

// Refused is how many names agents refuse, and the first of them with the reason.
func (d *Directory) Refused() (n int, name string, why error) {
	if len(d.refused) == 0 {
		return 0, "", nil
	}
	return len(d.refused), d.refused[0], d.Catalog.names[d.refused[0]].refused()
}

// RefusedDue reports whether LookUpRefused is due.
func (d *Directory) RefusedDue(now time.Time) bool {
	return len(d.refused) > 0 && !d.pace.Next.After(now)
}

// Next is when something is due, a name or a domain; zero: nothing is waiting.
func (d *Directory) Next() time.Time {
	next := d.Waiting.Next()
	if len(d.refused) > 0 && (next.IsZero() || d.pace.Next.Before(next)) {
		next = d.pace.Next
	}
	return next
}

// probes is how many names of an agent are asked for alone, to learn whether it still refuses them.
const probes = 16

// lookUpAgain is LookUp for names that were refused, sorted. Who refuses one name refuses others as a rule, and names with the same first
// component have the same owner as a rule: a few of those are asked for alone, any of them, and the rest only if one is
// answered. The catalog has those that were asked for.
func lookUpAgain(ctx context.Context, source Metadata, names []string) (*Catalog, error) {
	found := newCatalog(0)
	ask := func(names ...string) error {
		some, err := LookUp(ctx, source, names)
		if err == nil {
			maps.Copy(found.names, some.names)
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
		for i, name := range group[:min(len(group), probes)] {
			if err := ask(name); err != nil {
				return nil, err
			}
			if found.names[name].refused() == 0 {
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

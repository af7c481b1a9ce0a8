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

// MetadataCache keeps a Catalog up to date, and knows what to look up again and when. It belongs to one goroutine.
//
//	state of a name    is looked up
//	unknown            at once
//	known              when everything is looked up afresh; its descriptor alone also by turns with all others. It stays
//	                   known while its agent is away or refuses it: the windows of its definitions keep their values
//	doubted            with the refused ones: its values do not fit its descriptor
//	does not exist     with each lookup, since it may appear
//	refused            separately, with longer and longer gaps: the error (PM_ERR_AGAIN, PM_ERR_PERMISSION, ...) says
//	                   nothing about the metric, which stays known if it was
type MetadataCache struct {
	Catalog *Catalog    // nil: nothing has been looked up yet
	Queue   LookupQueue // instance domains to look up

	source  MetadataSource      // where the catalog is from
	refused []string            // sorted
	doubted map[string]struct{} // known names whose values do not fit
	retry   retry               // of the refused and the doubted names
	old     []string            // names whose descriptors LookUpOld looks up next
}

// LookUp looks up the used names that are unknown or do not exist; with afresh, or on another connection, all but the
// refused ones. If there is nothing to ask for and no name is refused, the catalog stays, even with names that are no
// longer used. After an error the catalog is unchanged.
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
	if err == nil {
		err = known.distinguishAway(ctx, source, found)
	}
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

// Doubt has the descriptors of some metrics looked up with the refused names, because their values do not fit. The
// gaps between these lookups begin again if there was no doubt for as long as the last one.
func (c *MetadataCache) Doubt(ids map[pdu.PMID]struct{}, now time.Time) {
	if len(ids) == 0 || c.Catalog == nil {
		return
	}
	if len(c.refused)+len(c.doubted) == 0 && now.Sub(c.retry.next) > c.retry.backoff.Last() {
		c.retry.backoff.Reset()
	}
	if c.doubted == nil {
		c.doubted = make(map[string]struct{})
	}
	for name, o := range c.Catalog.entries {
		if _, doubted := ids[o.desc.PMID]; doubted && o.code >= 0 {
			c.doubted[name] = struct{}{}
		}
	}
}

// oldMost is the number of descriptors in one turn. The descriptors of all names are looked up by turns, because an agent
// can change them without a word. pmcd asks the agent for each of them.
const oldMost = 50

// LookUpOld looks up the descriptors of the names whose turn it is, and reports whether one has changed. Names with an
// error, or whose agent refuses to answer, stay as they are.
func (c *MetadataCache) LookUpOld(ctx context.Context, source MetadataSource) (changed bool, err error) {
	if c.Catalog == nil || source != c.source {
		return false, nil
	}
	if len(c.old) == 0 {
		c.old = slices.Collect(maps.Keys(c.Catalog.entries)) // in random order, so that agents take turns
	}
	n := min(len(c.old), oldMost)
	var names []string
	var ids []pdu.PMID
	for _, name := range c.old[:n] {
		if o, known := c.Catalog.entries[name]; known && o.code >= 0 && o.refusal() >= 0 {
			names, ids = append(names, name), append(ids, o.desc.PMID)
		}
	}
	c.old = c.old[n:]
	descs, err := source.Descs(ctx, ids)
	for i, d := range descs {
		if d.Code < 0 || d.Desc == c.Catalog.entries[names[i]].desc {
			continue
		}
		if !changed {
			changed, c.Catalog = true, &Catalog{maps.Clone(c.Catalog.entries)}
		}
		c.Catalog.entries[names[i]] = catalogEntry{desc: d.Desc}
	}
	return changed, err
}

// LookUpRefused looks up the refused and the doubted names, and reports whether the catalog has changed.
func (c *MetadataCache) LookUpRefused(
	ctx context.Context, source MetadataSource, used iter.Seq[string],
) (changed bool, err error) {
	began := time.Now()
	names := slices.AppendSeq(slices.Clone(c.refused), maps.Keys(c.doubted))
	slices.Sort(names)
	found, err := lookUpRefused(ctx, source, names)
	if err == nil {
		err = c.Catalog.distinguishAway(ctx, source, found)
	}
	if err != nil {
		return false, err
	}
	c.doubted = nil
	before := c.Catalog
	c.Catalog = before.merge(found, distinct(used))
	c.refused = c.Catalog.refusedNames()
	why := pdu.ErrPermission // or another code that says nothing of a time
	again := func(name string) bool { return c.Catalog.entries[name].refusal() == pdu.ErrAgain }
	if slices.ContainsFunc(c.refused, again) {
		why = pdu.ErrAgain
	}
	c.retry.recordAnswer(time.Now(), time.Since(began), why)
	return !c.Catalog.Equal(before), nil
}

// Refused returns the number of refused names, and the first of them with its error.
func (c *MetadataCache) Refused() (n int, name string, why error) {
	if len(c.refused) == 0 {
		return 0, "", nil
	}
	return len(c.refused), c.refused[0], c.Catalog.entries[c.refused[0]].refusal()
}

// RefusedDue reports whether LookUpRefused is due.
func (c *MetadataCache) RefusedDue(now time.Time) bool {
	return len(c.refused)+len(c.doubted) > 0 && !c.retry.next.After(now)
}

// NextDue returns when the next lookup is due, of refused or doubted names or of an instance domain; zero: none is.
func (c *MetadataCache) NextDue() time.Time {
	next := c.Queue.NextDue()
	if len(c.refused)+len(c.doubted) > 0 && (next.IsZero() || c.retry.next.Before(next)) {
		next = c.retry.next
	}
	return next
}

// maxProbes limits the names of an agent that are asked for one by one, to learn whether it still refuses them.
const maxProbes = 16

// lookUpRefused looks up names that were refused, which must be sorted. Names with the same first component usually
// belong to the same agent, and an agent that refuses one name usually refuses all. So it asks for a few names of
// each first component one by one, in random order, and for the rest only after an answer. The catalog has the names
// that it asked for.
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

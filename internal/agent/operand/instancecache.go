package operand

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// InDomNeeds are the instance domains that expressions need, and what of them. That of singular metrics is none.
type InDomNeeds map[pdu.InDom]*InDomNeed

// InDomNeed is what of a domain is needed besides its instances.
type InDomNeed struct {
	Selectors map[string]bool // the instances that these mean: metric[name]
	Labels    map[string]bool // the values of these
}

// InDomNeedsOf gathers the domains whose names or members metrics need.
func InDomNeedsOf(metrics iter.Seq[*derived.Metric]) InDomNeeds {
	needed := make(InDomNeeds)
	for m := range metrics {
		needs := m.Needs()
		if len(needs.Names)+len(needs.Members)+len(needs.Selectors)+len(needs.Labels) == 0 {
			continue // most
		}
		for _, d := range slices.Concat(needs.Names, needs.Members) {
			needed.Add(d)
		}
		for _, s := range needs.Selectors {
			needed.Add(s.InDom).Selectors[s.Name] = true
		}
		for _, l := range needs.Labels {
			needed.Add(l.InDom).Labels[l.Name] = true
		}
	}
	delete(needed, pdu.NoInDom)
	return needed
}

// Add adds a domain, and returns what of it is needed.
func (d InDomNeeds) Add(indom pdu.InDom) *InDomNeed {
	if d[indom] == nil {
		d[indom] = &InDomNeed{make(map[string]bool), make(map[string]bool)}
	}
	return d[indom]
}

// InstanceCache holds what is known of the instance domains whose names or members matter to an expression. One goroutine
// looks up and forgets, everybody reads.
type InstanceCache struct {
	known atomic.Pointer[InstanceSnapshot]
}

// InstanceSnapshot is all domains as they were known at one time. Immutable: another one is another pointer.
type InstanceSnapshot map[pdu.InDom]*inDomData

// unknown is a domain that has not been looked up.
var unknown = &inDomData{}

// inDomData is one domain as it was when it was last looked up. Immutable.
type inDomData struct {
	table      *derived.NameTable // nil: nobody has told its instances yet
	members    *derived.InstSet
	names      map[pdu.Inst]string            // of the table
	selections map[string]selection           // what the owner takes selectors for
	labels     map[string]map[pdu.Inst]string // those that are needed, by name
	source     MetadataSource                 // that it is known from
	err        error                          // why the last look-up got less than all
}

// selection is what an owner takes a selector for.
type selection struct {
	inst pdu.Inst
	ok   bool // there is such an instance
}

// Snapshot is what is known now; nil: nothing yet.
func (c *InstanceCache) Snapshot() *InstanceSnapshot { return c.known.Load() }

// Has reports whether a domain has been looked up.
func (c *InstanceCache) Has(d pdu.InDom) bool { return c.inDom(d).table != nil }

// Table is the names of a domain's instances; nil if it is not known.
func (c *InstanceCache) Table(d pdu.InDom) *derived.NameTable { return c.inDom(d).table }

// Members is the instances of a domain; nil if it is not known.
func (c *InstanceCache) Members(d pdu.InDom) *derived.InstSet { return c.inDom(d).members }

// Err tells why a domain, or some of its selectors, could not be had the last time; nil: they could.
func (c *InstanceCache) Err(d pdu.InDom) error { return c.inDom(d).err }

// Problem says which of the domains that a metric needs could not be had, and why; "": all could.
func (c *InstanceCache) Problem(m *derived.Metric) string {
	for d := range InDomNeedsOf(func(yield func(*derived.Metric) bool) { yield(m) }) {
		if err := c.Err(d); err != nil {
			return fmt.Sprintf("instances of domain %s: %v", d, err)
		}
	}
	return ""
}

func (c *InstanceCache) inDom(d pdu.InDom) *inDomData {
	if all := c.known.Load(); all != nil {
		if known := (*all)[d]; known != nil {
			return known
		}
	}
	return unknown
}

func (c *InstanceCache) store(d pdu.InDom, known *inDomData) {
	now := make(InstanceSnapshot)
	if old := c.known.Load(); old != nil {
		maps.Copy(now, *old)
	}
	now[d] = known
	c.known.Store(&now)
}

// Missing are the domains that are not known with what all their selectors mean, and the labels.
func (c *InstanceCache) Missing(needed InDomNeeds) []pdu.InDom {
	var lacking []pdu.InDom
	for d, wanted := range needed {
		known := c.inDom(d)
		ok := known.table != nil
		for name := range wanted.Selectors {
			_, asked := known.selections[name]
			ok = ok && asked
		}
		for name := range wanted.Labels {
			_, asked := known.labels[name]
			ok = ok && asked
		}
		if !ok {
			lacking = append(lacking, d)
		}
	}
	return lacking
}

// LookUp asks the owners of domains for their instances, and for what the needed selectors mean to them where that may
// have changed. Domains that are not needed are passed over. One whose owner cannot answer keeps the names it had, and its error
// is that domain's ([InstanceCache.Err]). looked, if it is not nil, is told of each domain. An error is one of the connection.
func (c *InstanceCache) LookUp(
	ctx context.Context, source MetadataSource, needed InDomNeeds, domains []pdu.InDom, looked func(d pdu.InDom, took time.Duration, err error),
) error {
	for _, d := range domains {
		if needed[d] == nil {
			continue
		}
		began := time.Now()
		old := c.inDom(d)
		known, err := lookUpInDom(ctx, source, d, needed[d], old)
		if err != nil && (source.Err() != nil || ctx.Err() != nil) {
			return fmt.Errorf("instances of %s: %w", d, err)
		}
		if known != old {
			c.store(d, known)
		}
		if looked != nil {
			looked(d, time.Since(began), err)
		}
	}
	return nil
}

// DropUnneeded drops the domains that are not needed any more.
func (c *InstanceCache) DropUnneeded(needed InDomNeeds) {
	old := c.known.Load()
	if old == nil {
		return
	}
	now := maps.Clone(*old)
	maps.DeleteFunc(now, func(d pdu.InDom, _ *inDomData) bool { return needed[d] == nil })
	if len(now) < len(*old) {
		c.known.Store(&now)
	}
}

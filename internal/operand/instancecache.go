package operand

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// InDomNeeds has the instance domains that expressions need, each with the parts of it that they need. It never has
// pdu.NoInDom.
type InDomNeeds map[pdu.InDom]*InDomNeed

// InDomNeed says which selectors and labels of an instance domain are needed, besides its instances.
type InDomNeed struct {
	Selectors map[string]bool // the NAME of metric[NAME]
	Labels    map[string]bool // names of labels
}

// InDomNeedsOf collects the instance domains whose names, members, selectors or labels metrics need.
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

// Add adds an instance domain if it is missing, and returns its needs.
func (d InDomNeeds) Add(indom pdu.InDom) *InDomNeed {
	if d[indom] == nil {
		d[indom] = &InDomNeed{make(map[string]bool), make(map[string]bool)}
	}
	return d[indom]
}

// InstanceCache has the names and members of the instance domains that expressions need. One goroutine calls LookUp
// and DropUnneeded; any goroutine reads.
type InstanceCache struct {
	known atomic.Pointer[InstanceSnapshot]
}

// InstanceSnapshot has all instance domains as they were at one time. It is immutable: after a change there is
// another pointer.
type InstanceSnapshot map[pdu.InDom]*inDomData

// unknown is a domain that has not been looked up.
var unknown = &inDomData{} //nolint:gochecknoglobals // it never changes

// inDomData has the result of the last lookup of one instance domain. It is immutable.
type inDomData struct {
	table      *derived.NameTable             // nil: the instances have never been asked for
	members    *derived.InstSet               // nil: they have never been received
	names      map[pdu.Inst]string            // those of table
	selections map[string]selection           // by selector: the instance that the agent matches
	labels     map[string]map[pdu.Inst]string // by name of the label; those that are not known are not in it
	source     MetadataSource                 // where the data is from

	// Why the last lookup is incomplete.
	instancesErr error // the instances are those of a lookup before
	selectionErr error // a selection is missing
	labelsErr    error // a label is not known, or that of a lookup before
}

// err returns why the last lookup is incomplete; nil: it is complete.
func (known *inDomData) err() error {
	return cmp.Or(known.instancesErr, known.labelsErr, known.selectionErr)
}

// lack returns why the data lacks something that is needed; nil: it has all of it.
func (known *inDomData) lack(needed *InDomNeed) error {
	namesDo := errors.Is(known.labelsErr, pdu.ErrNoLabels) && onlyBounds(needed.Labels)
	if known.instancesErr == nil && known.labelsErr != nil && len(needed.Labels) > 0 && !namesDo {
		return known.labelsErr
	}
	for name := range needed.Selectors {
		if _, asked := known.selections[name]; !asked {
			return cmp.Or(known.instancesErr, known.selectionErr)
		}
	}
	return known.instancesErr
}

// selection is the instance that an agent matches with a selector.
type selection struct {
	inst pdu.Inst
	ok   bool // false: the agent knows no such instance
}

// Snapshot returns the current data; nil: no instance domain has been looked up.
func (c *InstanceCache) Snapshot() *InstanceSnapshot { return c.known.Load() }

// Has reports whether the instances of an instance domain are known.
func (c *InstanceCache) Has(d pdu.InDom) bool { return c.inDom(d).members != nil }

// Table returns the names of the instances; nil: they are not known.
func (c *InstanceCache) Table(d pdu.InDom) *derived.NameTable { return c.inDom(d).table }

// Members returns the set of instances; nil: it is not known.
func (c *InstanceCache) Members(d pdu.InDom) *derived.InstSet { return c.inDom(d).members }

// Err returns why the last lookup of an instance domain is incomplete; nil: it is complete.
func (c *InstanceCache) Err(d pdu.InDom) error { return c.inDom(d).err() }

// Problem returns of which instance domain a metric lacks something that it needs, and why; "": of none.
func (c *InstanceCache) Problem(m *derived.Metric) string {
	if !c.anyFails(m.Needs()) { // mostly
		return ""
	}
	for d, needed := range InDomNeedsOf(func(yield func(*derived.Metric) bool) { yield(m) }) {
		if err := c.inDom(d).lack(needed); err != nil {
			return fmt.Sprintf("instances of domain %s: %v", d, err)
		}
	}
	return ""
}

// anyFails reports whether the last lookup of a needed instance domain is incomplete.
func (c *InstanceCache) anyFails(n *derived.Needs) bool {
	last := pdu.NoInDom // selectors and labels of a domain follow each other
	fails := func(d pdu.InDom) bool {
		same := d == last
		last = d
		return !same && c.Err(d) != nil
	}
	ofSelector := func(s derived.Selector) bool { return fails(s.InDom) }
	return slices.ContainsFunc(n.Names, fails) || slices.ContainsFunc(n.Members, fails) ||
		slices.ContainsFunc(n.Selectors, ofSelector) || slices.ContainsFunc(n.Labels, ofSelector)
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

// Missing returns the needed instance domains of which the instances, the selection of a selector, or a label is not
// known.
func (c *InstanceCache) Missing(needed InDomNeeds) []pdu.InDom {
	var lacking []pdu.InDom
	for d, wanted := range needed {
		known := c.inDom(d)
		ok := known.members != nil
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

// LookUp asks for the instances of domains, for the needed labels, and for the needed selectors whose selection may
// have changed. It skips domains that are not needed. If the agent of a domain cannot answer, the domain keeps its
// former data, and Err returns the error. looked, if it is not nil, is called after each domain. LookUp fails only if
// the connection does.
func (c *InstanceCache) LookUp(
	ctx context.Context, source MetadataSource, needed InDomNeeds, domains []pdu.InDom,
	looked func(d pdu.InDom, took time.Duration, err error),
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

// DropUnneeded drops the instance domains that are not in needed.
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

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

// Domains are the instance domains that expressions need, and what of them. That of singular metrics is none.
type Domains map[pdu.InDom]*Wanted

// Wanted is what of a domain is needed besides its instances.
type Wanted struct {
	Selectors map[string]bool // the instances that these mean: metric[name]
	Labels    map[string]bool // the values of these
}

// DomainsOf gathers the domains whose names or members metrics need.
func DomainsOf(metrics iter.Seq[*derived.Metric]) Domains {
	needed := make(Domains)
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
func (d Domains) Add(indom pdu.InDom) *Wanted {
	if d[indom] == nil {
		d[indom] = &Wanted{make(map[string]bool), make(map[string]bool)}
	}
	return d[indom]
}

// Names holds what is known of the instance domains whose names or members matter to an expression. One goroutine
// looks up and forgets, everybody reads.
type Names struct {
	known atomic.Pointer[NameSet]
}

// NameSet is all domains as they were known at one time. Immutable: another one is another pointer.
type NameSet map[pdu.InDom]*domain

// unknown is a domain that has not been looked up.
var unknown = &domain{}

// domain is one domain as it was when it was last looked up. Immutable.
type domain struct {
	table   *derived.NameTable // nil: nobody has told its instances yet
	members *derived.InstSet
	names   map[pdu.Inst]string            // of the table
	means   map[string]answer              // what the owner takes selectors for
	labels  map[string]map[pdu.Inst]string // those that are needed, by name
	of      Metadata                       // that it is known from
	err     error                          // why the last look-up got less than all
}

// answer is what an owner takes a selector for.
type answer struct {
	id pdu.Inst
	ok bool // there is such an instance
}

// Now is what is known now; nil: nothing yet.
func (n *Names) Now() *NameSet { return n.known.Load() }

// Knows reports whether a domain has been looked up.
func (n *Names) Knows(d pdu.InDom) bool { return n.domain(d).table != nil }

// Table is the names of a domain's instances; nil if it is not known.
func (n *Names) Table(d pdu.InDom) *derived.NameTable { return n.domain(d).table }

// Members is the instances of a domain; nil if it is not known.
func (n *Names) Members(d pdu.InDom) *derived.InstSet { return n.domain(d).members }

// Err tells why a domain, or some of its selectors, could not be had the last time; nil: they could.
func (n *Names) Err(d pdu.InDom) error { return n.domain(d).err }

// Problem says which of the domains that a metric needs could not be had, and why; "": all could.
func (n *Names) Problem(m *derived.Metric) string {
	for d := range DomainsOf(func(yield func(*derived.Metric) bool) { yield(m) }) {
		if err := n.Err(d); err != nil {
			return fmt.Sprintf("instances of domain %s: %v", d, err)
		}
	}
	return ""
}

func (n *Names) domain(d pdu.InDom) *domain {
	if all := n.known.Load(); all != nil {
		if known := (*all)[d]; known != nil {
			return known
		}
	}
	return unknown
}

func (n *Names) set(d pdu.InDom, known *domain) {
	now := make(NameSet)
	if old := n.known.Load(); old != nil {
		maps.Copy(now, *old)
	}
	now[d] = known
	n.known.Store(&now)
}

// Lacking are the domains that are not known with what all their selectors mean, and the labels.
func (n *Names) Lacking(needed Domains) []pdu.InDom {
	var lacking []pdu.InDom
	for d, wanted := range needed {
		known := n.domain(d)
		ok := known.table != nil
		for name := range wanted.Selectors {
			_, asked := known.means[name]
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
// is that domain's ([Names.Err]). looked, if it is not nil, is told of each domain. An error is one of the connection.
func (n *Names) LookUp(
	ctx context.Context, source Metadata, needed Domains, domains []pdu.InDom, looked func(d pdu.InDom, took time.Duration, err error),
) error {
	for _, d := range domains {
		if needed[d] == nil {
			continue
		}
		began := time.Now()
		old := n.domain(d)
		known, err := lookUpDomain(ctx, source, d, needed[d], old)
		if err != nil && (source.Err() != nil || ctx.Err() != nil) {
			return fmt.Errorf("instances of %s: %w", d, err)
		}
		if known != old {
			n.set(d, known)
		}
		if looked != nil {
			looked(d, time.Since(began), err)
		}
	}
	return nil
}

// Forget drops the domains that are not needed any more.
func (n *Names) Forget(needed Domains) {
	old := n.known.Load()
	if old == nil {
		return
	}
	now := maps.Clone(*old)
	maps.DeleteFunc(now, func(d pdu.InDom, _ *domain) bool { return needed[d] == nil })
	if len(now) < len(*old) {
		n.known.Store(&now)
	}
}

package operand

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"pmdaderived/derived"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Domains are the instance domains that expressions need, by the selectors (metric[name]) whose instances they need.
type Domains map[pdu.InDom]map[string]bool

// DomainsOf gathers the domains whose names or members metrics need.
func DomainsOf(metrics iter.Seq[*derived.Metric]) Domains {
	needed := make(Domains)
	for m := range metrics {
		needs := m.Needs()
		if len(needs.Names)+len(needs.Members)+len(needs.Selectors) == 0 {
			continue // most
		}
		for _, d := range slices.Concat(needs.Names, needs.Members) {
			needed.Add(d)
		}
		for _, s := range needs.Selectors {
			needed.Add(s.InDom)
			needed[s.InDom][s.Name] = true
		}
	}
	return needed
}

// Add adds a domain.
func (d Domains) Add(indom pdu.InDom) {
	if d[indom] == nil {
		d[indom] = make(map[string]bool)
	}
}

// Names holds what is known of the instance domains whose names or members matter to an expression. One goroutine
// looks up and forgets, everybody reads.
type Names struct {
	known atomic.Pointer[NameSet]
}

// NameSet is all domains as they were known at one time. Immutable: another one is another pointer.
type NameSet map[pdu.InDom]domain

// domain is one domain as it was when it was last looked up; the zero value: it is not known. Immutable.
type domain struct {
	table   *derived.NameTable
	members *derived.InstSet
}

// Now is what is known now; nil: nothing yet.
func (n *Names) Now() *NameSet { return n.known.Load() }

// Knows reports whether a domain has been looked up.
func (n *Names) Knows(d pdu.InDom) bool { return n.domain(d).table != nil }

// Table is the names of a domain's instances; nil if it is not known.
func (n *Names) Table(d pdu.InDom) *derived.NameTable { return n.domain(d).table }

// Members is the instances of a domain; nil if it is not known.
func (n *Names) Members(d pdu.InDom) *derived.InstSet { return n.domain(d).members }

func (n *Names) domain(d pdu.InDom) domain {
	if known := n.known.Load(); known != nil {
		return (*known)[d]
	}
	return domain{}
}

// Lacking are the domains that are not known with all their selectors.
func (n *Names) Lacking(needed Domains) []pdu.InDom {
	var lacking []pdu.InDom
	for d, selectors := range needed {
		table, ok := n.Table(d), n.Knows(d)
		for name := range selectors {
			_, selected := table.Select(name)
			ok = ok && selected
		}
		if !ok {
			lacking = append(lacking, d)
		}
	}
	return lacking
}

// LookUp asks the owners of domains for their instances, and for what the needed selectors mean to them. Domains that are
// not needed are passed over; one whose owner cannot answer keeps the names it had and is among the failed. An error is
// one of the connection.
func (n *Names) LookUp(
	ctx context.Context, conn *pmapi.Conn, needed Domains, domains []pdu.InDom,
) (failed map[pdu.InDom]error, err error) {
	domains = slices.DeleteFunc(slices.Clone(domains), func(d pdu.InDom) bool { return needed[d] == nil })
	if len(domains) == 0 {
		return nil, nil
	}
	now := make(NameSet, len(needed))
	if old := n.known.Load(); old != nil {
		maps.Copy(now, *old)
	}
	failed = make(map[pdu.InDom]error)
	for _, d := range domains {
		known, err := lookUpDomain(ctx, conn, d, needed[d])
		switch {
		case err == nil:
			now[d] = known
		case conn.Err() != nil || ctx.Err() != nil:
			return nil, fmt.Errorf("instances of %s: %w", d, err)
		default:
			failed[d] = err
		}
	}
	n.known.Store(&now)
	return failed, nil
}

// Forget drops the domains that are not needed any more.
func (n *Names) Forget(needed Domains) {
	old := n.known.Load()
	if old == nil {
		return
	}
	now := maps.Clone(*old)
	maps.DeleteFunc(now, func(d pdu.InDom, _ domain) bool { return needed[d] == nil })
	if len(now) < len(*old) {
		n.known.Store(&now)
	}
}

func lookUpDomain(ctx context.Context, conn *pmapi.Conn, d pdu.InDom, selectors map[string]bool) (domain, error) {
	instances, err := conn.Instances(ctx, d)
	if err != nil {
		return domain{}, err
	}
	table := make(map[pdu.Inst]string, len(instances))
	members := make([]pdu.Inst, len(instances))
	for i, inst := range instances {
		table[inst.ID] = inst.Name
		members[i] = inst.ID
	}
	selected := make(map[string]pdu.Inst, len(selectors))
	for name := range selectors {
		id, err := conn.InstanceID(ctx, d, name)
		switch {
		case err == nil:
			selected[name] = id
		case conn.Err() != nil:
			return domain{}, err
		}
	}
	return domain{derived.NewNameTable(table, selected), derived.NewInstSet(members)}, nil
}

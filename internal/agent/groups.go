package agent

import (
	"slices"
	"time"

	"pmdaderived/internal/agent/freshness"
	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/agent/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// refreshGap is the age up to which listed groups are not computed again.
const refreshGap = time.Second

// findGroups finds an instance domain of groups, and reports whether its instances are visible to a client. If no
// served definition says whether they are protected, they are visible only to clients with a user identifier.
func (a *Agent) findGroups(c pmda.Client, d pdu.InDom) (g *served.GroupInDom, visible bool, err error) {
	cl := a.clients[c]
	known := cl != nil && cl.authenticated
	switch g = a.snapshot.Load().Groups[d]; {
	case g == nil:
		return nil, false, pdu.ErrInDom
	case g.Protected && !known:
		return g, false, pdu.ErrPermission
	case cl != nil && cl.container: // the groups are those of the host
		return g, false, pdu.ErrNoContainer
	}
	return g, known || g.Served || len(a.options.Protected) == 0, nil
}

// listGroups returns the instances of a domain of groups that are visible to a client.
func (a *Agent) listGroups(c pmda.Client, d pdu.InDom) ([]pdu.Instance, *served.GroupInDom, error) {
	g, visible, err := a.findGroups(c, d)
	if err != nil || !visible {
		return nil, g, err
	}
	a.refreshGroups(d)
	return a.groups.Members(d), g, nil
}

// Instance implements pmda.InstanceFinder. It finds a group as long as derived.Groups remembers it.
func (a *Agent) Instance(c pmda.Client, d pdu.InDom, id pdu.Inst, name string) (pdu.Instance, error) {
	_, visible, err := a.findGroups(c, d)
	if err != nil {
		return pdu.Instance{}, err
	}
	found, ok := a.groups.Find(d, id, name)
	if !ok && name != "" { // a client that requests a name may not have fetched yet
		a.refreshGroups(d)
		found, ok = a.groups.Find(d, id, name)
	}
	if !ok || !visible {
		return pdu.Instance{}, pdu.ErrInst
	}
	return found, nil
}

// refreshGroups evaluates all metrics with groups of a domain from the newest samples, unless it has done so just
// before. So a client that requests instances before values gets the present ones.
func (a *Agent) refreshGroups(d pdu.InDom) {
	now := a.options.Now()
	if last, ok := a.groupsRefreshed[d]; ok && now.Sub(last) < refreshGap {
		return
	}
	a.groupsRefreshed[d] = now
	snap := a.snapshot.Load()
	a.upstream.Drain()
	results := snap.Results.Latest().Shared()
	a.groups.SetTime(now)
	a.evaluations.BeginFetch()
	for i := range snap.EntryStates {
		m := &snap.EntryStates[i]
		if m.Derived == nil || m.Series == nil || !slices.Contains(m.Derived.Needs().Groups, d) {
			continue
		}
		if m.Series.Constant() { // all of it is functions over time
			a.evaluate(snap, a.constantSamples[:1], m, results)
			continue
		}
		newest, _ := a.upstream.State(m.Series, now)
		if newest == nil {
			continue
		}
		var h history.History
		a.advanceHistory(&h, m.OlderSamples+1, m.Series, newest, now.Sub(newest.Taken), freshness.NeverServed)
		if len(h.Samples) > 0 {
			a.evaluate(snap, h.Samples, m, results)
		}
		a.contexts.sampleBytes.Drop(h.Samples...)
	}
}

// groupLabels returns the labels of the groups of a domain that the profile includes.
func (a *Agent) groupLabels(c pmda.Client, d pdu.InDom, p *pdu.Profile) ([]pdu.LabelSet, error) {
	all, g, err := a.listGroups(c, d)
	if g == nil { // the labels of other instances come from their agents
		return nil, nil
	}
	if sel := p.Selects(d); !sel.All() {
		all = slices.DeleteFunc(all, func(one pdu.Instance) bool { return !sel.Includes(one.ID) })
	}
	return g.Labels(all), err
}

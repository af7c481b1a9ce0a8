package agent

import (
	"slices"
	"time"

	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// refreshGap is how old the groups that are listed may be.
const refreshGap = time.Second

// groupsFor is what is known of an instance domain of groups, and whether a client may see its instances. Where no definition that is served
// says whether they are protected, only known users see them.
func (a *Agent) findGroups(c pmda.Client, d pdu.InDom) (g *served.Groups, visible bool, err error) {
	cl := a.clients[c]
	known := cl != nil && cl.authenticated
	switch g = a.snapshot.Load().Groups[d]; {
	case g == nil:
		return nil, false, pdu.ErrInDom
	case g.Protected && !known:
		return g, false, pdu.ErrPermission
	}
	return g, known || g.Served || len(a.options.Protected) == 0, nil
}

// listed are the groups of a domain that a client may see.
func (a *Agent) listGroups(c pmda.Client, d pdu.InDom) ([]pdu.Instance, *served.Groups, error) {
	g, visible, err := a.findGroups(c, d)
	if err != nil || !visible {
		return nil, g, err
	}
	a.refreshGroups(d)
	return a.groups.Members(d), g, nil
}

// Instance implements pmda.InstanceFinder: a group is found as long as it is remembered.
func (a *Agent) Instance(c pmda.Client, d pdu.InDom, id pdu.Inst, name string) (pdu.Instance, error) {
	_, visible, err := a.findGroups(c, d)
	if err != nil {
		return pdu.Instance{}, err
	}
	found, ok := a.groups.Find(d, id, name)
	if !ok && name != "" { // who asks by name may not have fetched yet
		a.refreshGroups(d)
		found, ok = a.groups.Find(d, id, name)
	}
	if !ok || !visible {
		return pdu.Instance{}, pdu.ErrInst
	}
	return found, nil
}

// refresh computes all that has groups of a domain from the newest samples, unless it did just before: who asks for the instances before
// the values gets those of now.
func (a *Agent) refreshGroups(d pdu.InDom) {
	now := a.options.Now()
	if last, ok := a.groupsRefreshed[d]; ok && now.Sub(last) < refreshGap {
		return
	}
	a.groupsRefreshed[d] = now
	snap := a.snapshot.Load()
	a.upstream.Drain()
	results := snap.Results.Latest().Shared()
	a.groups.Begin(now)
	a.evaluations.BeginFetch()
	for i := range snap.Beside {
		m := &snap.Beside[i]
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
		a.advanceHistory(&h, m.Older+1, m.Series, newest, now.Sub(newest.Taken), operand.OldEnough)
		if len(h.Samples) > 0 {
			a.evaluate(snap, h.Samples, m, results)
		}
		a.contexts.sampleBytes.Drop(h.Samples...)
	}
}

// labelsOfGroups are the labels of the groups of a domain that a profile includes.
func (a *Agent) groupLabels(c pmda.Client, d pdu.InDom, p *pdu.Profile) ([]pdu.LabelSet, error) {
	all, g, err := a.listGroups(c, d)
	if g == nil { // instances of others have labels from their agents
		return nil, nil
	}
	if sel := p.Selects(d); !sel.All() {
		all = slices.DeleteFunc(all, func(one pdu.Instance) bool { return !sel.Includes(one.ID) })
	}
	return g.Labels(all), err
}

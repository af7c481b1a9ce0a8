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
func (a *Agent) groupsFor(c pmda.Client, d pdu.InDom) (g *served.Groups, shown bool, err error) {
	who := a.clients[c]
	known := who != nil && who.known
	switch g = a.snapshot.Load().Groups[d]; {
	case g == nil:
		return nil, false, pdu.ErrInDom
	case g.Protected && !known:
		return g, false, pdu.ErrPermission
	}
	return g, known || g.Served || len(a.options.Protected) == 0, nil
}

// listed are the groups of a domain that a client may see.
func (a *Agent) listed(c pmda.Client, d pdu.InDom) ([]pdu.Instance, *served.Groups, error) {
	g, shown, err := a.groupsFor(c, d)
	if err != nil || !shown {
		return nil, g, err
	}
	a.refresh(d)
	return a.groups.Members(d), g, nil
}

// Instance implements pmda.InstanceFinder: a group is found as long as it is remembered.
func (a *Agent) Instance(c pmda.Client, d pdu.InDom, id pdu.Inst, name string) (pdu.Instance, error) {
	_, shown, err := a.groupsFor(c, d)
	if err != nil {
		return pdu.Instance{}, err
	}
	found, ok := a.groups.Find(d, id, name)
	if !ok && name != "" { // who asks by name may not have fetched yet
		a.refresh(d)
		found, ok = a.groups.Find(d, id, name)
	}
	if !ok || !shown {
		return pdu.Instance{}, pdu.ErrInst
	}
	return found, nil
}

// refresh computes all that has groups of a domain from the newest samples, unless it did just before: who asks for the instances before
// the values gets those of now.
func (a *Agent) refresh(d pdu.InDom) {
	now := a.options.Now()
	if last, ok := a.refreshed[d]; ok && now.Sub(last) < refreshGap {
		return
	}
	a.refreshed[d] = now
	snap := a.snapshot.Load()
	a.upstream.Drain()
	a.windows = snap.Results.Latest()
	a.groups.Begin(now)
	a.evaluations.BeginFetch()
	for i := range snap.Beside {
		m := &snap.Beside[i]
		if m.Derived == nil || m.Series == nil || !slices.Contains(m.Derived.Needs().Groups, d) {
			continue
		}
		if m.Series.Constant() { // all of it is functions over time
			a.evaluate(snap, a.constant[:1], m, a.windows.Shared())
			continue
		}
		newest, _ := a.upstream.State(m.Series, now)
		if newest == nil {
			continue
		}
		var h history.History
		a.advance(&h, m.Older+1, m.Series, newest, now.Sub(newest.Taken), operand.OldEnough)
		if len(h.Samples) > 0 {
			a.evaluate(snap, h.Samples, m, a.windows.Shared())
		}
		a.contexts.held.Drop(h.Samples...)
	}
}

// labelsOfGroups are the labels of the groups of a domain that a profile includes.
func (a *Agent) labelsOfGroups(c pmda.Client, d pdu.InDom, p *pdu.Profile) ([]pdu.LabelSet, error) {
	all, g, err := a.listed(c, d)
	if g == nil { // instances of others have labels from their agents
		return nil, nil
	}
	if sel := p.Selects(d); !sel.All() {
		all = slices.DeleteFunc(all, func(one pdu.Instance) bool { return !sel.Includes(one.ID) })
	}
	return g.Labels(all), err
}

package agent

import (
	"time"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Desc implements pmda.Agent.
func (a *Agent) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	if desc, ok := a.control.Desc(id); ok {
		return desc, nil
	}
	snap := a.snapshot.Load()
	m := snap.ServedState(id)
	if m == nil {
		if desc, ok := snap.Retired[id]; ok {
			return desc, nil
		}
		return pdu.Desc{}, pdu.ErrPMID
	}
	a.sampleForLookup(m, time.Time{})
	if !m.Served.HasDesc {
		return pdu.Desc{}, m.Served.Code()
	}
	return m.Served.Desc, nil
}

// Instances implements pmda.Agent. Instance domains of operands belong to other agents: pmcd sends requests for them
// there.
func (a *Agent) Instances(c pmda.Client, d pdu.InDom) ([]pdu.Instance, error) {
	if own, ok := a.control.Instances(d); ok {
		return own, nil
	}
	all, _, err := a.listGroups(c, d)
	return all, err
}

// Text implements pmda.Texter.
func (a *Agent) Text(_ pmda.Client, ident uint32, t pdu.TextType) (string, error) {
	if text, ok := a.control.Text(ident, t); ok {
		return text, nil
	}
	if t&pdu.TextInDom != 0 {
		if g := a.snapshot.Load().Groups[pdu.InDom(ident)]; g != nil {
			return g.Text(), nil
		}
		return "", pdu.ErrText
	}
	m := a.snapshot.Load().ServedState(pdu.PMID(ident))
	if m == nil {
		return "", pdu.ErrPMID
	}
	a.sampleForLookup(m, time.Time{})
	return m.Served.Text(t&pdu.TextOneLine != 0), nil
}

// Labels implements pmda.Labeler.
func (a *Agent) Labels(c pmda.Client, ident uint32, t pdu.LabelType, p *pdu.Profile) ([]pdu.LabelSet, error) {
	switch t {
	case pdu.LabelDomain:
		return served.DomainLabels(), nil
	case pdu.LabelInstances:
		return a.groupLabels(c, pdu.InDom(ident), p)
	case pdu.LabelItem:
		if m := a.snapshot.Load().ServedState(pdu.PMID(ident)); m != nil {
			a.sampleForLookup(m, time.Time{})
			return m.Served.Labels(), nil
		}
	}
	return nil, nil
}

// Lookup implements pmda.Namer.
func (a *Agent) Lookup(c pmda.Client, name string) (pdu.PMID, error) {
	snap := a.snapshot.Load()
	id, err := snap.Namespace.Lookup(c, name)
	if err != nil {
		a.lookUpOperandsOf(name)
	} else if m := snap.ServedState(id); m != nil {
		a.sampleForLookup(m, a.client(c, a.options.Now()).lastFetch, a.recordLookup(c, m)...)
	}
	return id, err
}

// lookUpOperandsOf requests a lookup of missing operands if a name waits for them.
func (a *Agent) lookUpOperandsOf(name string) {
	if a.snapshot.Load().Awaits(name) {
		a.reloader.RequestLookup()
	}
}

// Names implements pmda.Namer.
func (a *Agent) Names(c pmda.Client, id pdu.PMID) ([]string, error) {
	snap := a.snapshot.Load()
	if m := snap.ServedState(id); m != nil {
		a.sampleForLookup(m, time.Time{})
	}
	return snap.Namespace.Names(c, id)
}

// Children implements pmda.Namer.
func (a *Agent) Children(c pmda.Client, name string, dst []pmda.Child) ([]pmda.Child, error) {
	return a.snapshot.Load().Namespace.Children(c, name, dst)
}

// Traverse implements pmda.Namer. It requests samples of all metrics below the name: tools that traverse fetch them
// next.
func (a *Agent) Traverse(c pmda.Client, name string) ([]string, error) {
	snap := a.snapshot.Load()
	var series []*upstream.Series
	for m := range snap.Under(name) {
		if s := snap.ServedStates[m.Index].Series; s != nil {
			series = append(series, s)
		}
	}
	now := a.options.Now()
	a.upstream.Drain()
	a.upstream.Want(now, freshness.Need{Gap: freshness.MinAge, After: a.client(c, now).lastFetch, Burst: true}, series...)
	names, err := snap.Namespace.Traverse(c, name)
	if err != nil {
		a.lookUpOperandsOf(name)
	}
	return names, err
}

// sampleForLookup requests a sample of a metric that a client has looked up, since most clients fetch it next. The
// request is written before the reply, so pmcd serves it before the client's own fetch. Samples from before after are
// not new enough. In a repeated look-up, recent has the series of the client's recent look-ups: an older sample is new
// enough, and one request samples them all.
func (a *Agent) sampleForLookup(m *reload.ServedState, after time.Time, recent ...*upstream.Series) {
	if m.Served.Derived == nil {
		a.reloader.RequestLookup()
		return
	}
	now, n := a.options.Now(), freshness.Need{Gap: freshness.MinAge, After: after, Burst: true}
	a.upstream.Drain()
	if len(recent) == 0 {
		a.upstream.Want(now, n, m.Series)
		return
	}
	if n.Gap = freshness.RepeatedLookupAge; !a.upstream.Fresh(now, n, m.Series) {
		n.Gap = freshness.RepeatedLookupAge / 2
		a.upstream.Want(now, n, recent...)
	}
}

// Store implements pmda.Storer. A value for derived.control.reload has the configuration read again; one for
// derived.control.debug switches debug messages in the log on or off.
func (a *Agent) Store(c pmda.Client, sets []pdu.ValueSet) error {
	for i := range sets {
		if a.snapshot.Load().ServedState(sets[i].PMID) != nil {
			return pdu.ErrPermission
		}
		if err := a.control.CheckStore(&sets[i]); err != nil {
			return err
		}
	}
	if cl := a.clients[c]; cl == nil || !cl.authenticated || cl.uid != 0 && cl.uid != a.options.StoreUser {
		return pdu.ErrPermission
	}
	for i := range sets {
		switch sets[i].PMID.Item() {
		case control.Reload:
			a.ReloadAll()
		case control.Debug:
			on := sets[i].Values[0].Bits != 0
			a.figures.Debug.Store(on)
			a.options.Debug(on)
		}
	}
	return nil
}

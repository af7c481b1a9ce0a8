package agent

import (
	"maps"
	"slices"
	"time"

	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// maxListBytes bounds the names in a list of groups: pmcd serves nobody else while it passes the list on.
const maxListBytes = 8 << 20

// groupListing has what the groups that a client has listed were computed from. The client's first fetch is answered from
// the same, so that no value has an instance that the client does not know.
//
//	a client               the agent
//	lists groups, labels,  refreshGroups evaluates the newest samples, which makes the groups. At first it makes the
//	or requests a name     client's listing of what it reads; later it adds samples of series that have none in it.
//	fetches                startFetch reads the listing if it is valid and the client has not fetched these metrics
//	                       before: takeSamples uses its samples in place of newer ones. Fetch drops it, read or not.
//	lists again, but the   refreshGroups drops the listing and makes another.
//	listing is not valid
//	does neither           Before drops the listing, with the first request of any client after 10 s.
//	ends                   EndContext drops the listing.
//
// The samples of all listings count in contexts.sampleBytes, as those of histories do.
type groupListing struct {
	at         time.Time     // the first request for a list
	blockedSum time.Duration // fetch.blockedSum then
	snapshot   *reload.Snapshot
	windows    *window.State // of functions over time; nil: there are none
	names      *operand.InstanceSnapshot
	samples    map[*upstream.Series]*operand.Sample // of all requests; only samples that were new enough to be served
}

// valid reports whether a fetch is answered from the listing: no reload came after it, and it is not older than a
// sample may be for every client. Nil is not valid.
func (l *groupListing) valid(s *reload.Snapshot, now time.Time, blockedSum time.Duration) bool {
	return l != nil && l.snapshot == s && freshness.Served(now.Sub(l.at), freshness.AlwaysServed+blockedSum-l.blockedSum)
}

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
	if a.refreshGroups(c, d); a.groups.MemberBytes(d) > maxListBytes {
		return nil, g, pdu.ErrTooBig
	}
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
		a.refreshGroups(c, d)
		found, ok = a.groups.Find(d, id, name)
	}
	if !ok || !visible {
		return pdu.Instance{}, pdu.ErrInst
	}
	return found, nil
}

// refreshGroups evaluates all metrics with groups of a domain from the newest samples, as a first fetch does. So a
// client that requests instances before values gets the present ones. The samples become part of its listing, which
// keeps the first one of each series: the groups of that are still listed when the listing is no longer valid.
func (a *Agent) refreshGroups(c pmda.Client, d pdu.InDom) {
	now, snap, bytes := a.options.Now(), a.snapshot.Load(), &a.contexts.sampleBytes
	_, blockedSum := a.upstream.Drain()
	a.groups.SetTime(now)
	a.evaluations.BeginFetch()
	in := history.Inputs{Names: a.names.Snapshot()}
	windows := snap.Published.Latest()
	a.windows.BeginRequest()
	l := a.groupListings[c]
	if !l.valid(snap, now, blockedSum) {
		a.dropListing(c)
		l = &groupListing{
			at: now, blockedSum: blockedSum, snapshot: snap, windows: windows, names: in.Names,
			samples: make(map[*upstream.Series]*operand.Sample),
		}
		a.groupListings[c] = l
	}
	for i := range snap.ServedStates {
		m := &snap.ServedStates[i]
		if m.Served.Derived == nil || m.Series == nil || !slices.Contains(m.Served.Derived.Needs().Groups, d) {
			continue
		}
		if windows != nil {
			in.Windows = a.windows.First(windows, m.PerClientWindows)
		}
		if m.Series.Constant() { // all of it is functions over time
			in.Samples = a.emptySamples(m.Served.Derived, now)[:1]
			a.evaluate(snap, m, in)
			continue
		}
		newest, _ := a.upstream.State(m.Series, now)
		if newest == nil {
			continue
		}
		age, depth := now.Sub(newest.Taken), m.Served.OlderSamples+1
		var h history.History
		if h.Advance(newest, depth, age, freshness.NeverServed, bytes) {
			a.backfill(&h, depth, m.Series)
		}
		if in.Samples = h.Samples; len(h.Samples) > 0 {
			a.evaluate(snap, m, in)
			if depth > 1 { // new instances have no rate yet, but soon: their groups are listed, too
				in.Samples = newest.Unchanging()
				a.evaluate(snap, m, in)
			}
		}
		bytes.Drop(h.Samples...)
		if l.samples[m.Series] == nil && bytes.Total < a.contexts.maxBytes/2 &&
			freshness.Served(age, freshness.AlwaysServed+blockedSum-newest.BlockedSum) {
			bytes.Add(newest)
			l.samples[m.Series] = newest
		}
	}
}

// dropListing drops the listing of a client.
func (a *Agent) dropListing(c pmda.Client) {
	if l := a.groupListings[c]; l != nil {
		a.contexts.sampleBytes.Drop(slices.Collect(maps.Values(l.samples))...)
		delete(a.groupListings, c)
	}
}

// dropOldListings drops the listings of clients that have not fetched.
func (a *Agent) dropOldListings(now time.Time) {
	for c, l := range a.groupListings {
		if now.Sub(l.at) > freshness.LookupTime {
			a.dropListing(c)
		}
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

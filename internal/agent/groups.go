package agent

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"pmdaderived/internal/agent/freshness"
	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// maxListBytes bounds the names in a list of groups: pmcd serves nobody else while it passes the list on.
const maxListBytes = 8 << 20

// listing has what the groups that a client has listed were computed from. The client's first fetch is answered from
// the same, so that no value has an instance that the client does not know.
type listing struct {
	at        time.Time     // the first request for a list
	blocked   time.Duration // fetch.blockedTotal then
	snapshot  *reload.Snapshot
	published *sampler.Published
	names     *operand.InstanceSnapshot
	samples   map[*upstream.Series]*operand.Sample // of all requests; only samples that were new enough to be served
}

// valid reports whether the listing is new enough for a fetch. Nil is not.
func (l *listing) valid(s *reload.Snapshot, now time.Time, blocked time.Duration) bool {
	return l != nil && l.snapshot == s && freshness.Served(now.Sub(l.at), freshness.AlwaysServed+blocked-l.blocked)
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

// refreshGroups evaluates all metrics with groups of a domain from the newest samples. So a client that requests
// instances before values gets the present ones. A client that has listed groups just before fetches from its listing:
// the metrics are evaluated from this, too.
func (a *Agent) refreshGroups(c pmda.Client, d pdu.InDom) {
	now, snap := a.options.Now(), a.snapshot.Load()
	_, blocked := a.upstream.Drain()
	a.groups.SetTime(now)
	a.evaluations.BeginFetch()
	newest := &listing{
		at: now, blocked: blocked, snapshot: snap, published: snap.Results.Latest(), names: a.names.Snapshot(),
		samples: make(map[*upstream.Series]*operand.Sample),
	}
	first := a.listings[c]
	if !first.valid(snap, now, blocked) {
		a.dropListing(c)
		first = newest
		a.listings[c] = first
	}
	bytes := &a.contexts.sampleBytes
	for i := range snap.EntryStates {
		m := &snap.EntryStates[i]
		if m.Derived == nil || m.Series == nil || !slices.Contains(m.Derived.Needs().Groups, d) {
			continue
		}
		sample, _ := a.upstream.State(m.Series, now)
		a.evaluateGroups(newest, m, sample, now)
		if m.OlderSamples > 0 && sample != nil {
			a.evaluateFrom(newest, m, sample.Unchanging())
		}
		if first != newest {
			a.evaluateGroups(first, m, cmp.Or(first.samples[m.Series], sample), now)
		}
		if first.samples[m.Series] == nil && sample != nil && bytes.Total < a.contexts.maxBytes/2 &&
			freshness.Served(now.Sub(sample.Taken), freshness.AlwaysServed+blocked-sample.BlockedBefore) {
			bytes.Add(sample)
			first.samples[m.Series] = sample
		}
	}
}

// evaluateGroups evaluates a metric from a sample, as the first fetch of a client does.
func (a *Agent) evaluateGroups(l *listing, m *reload.EntryState, sample *operand.Sample, now time.Time) {
	samples := a.constantSamples[:1]
	if !m.Series.Constant() { // else all of it is functions over time
		if sample == nil {
			return
		}
		var h history.History
		depth := m.OlderSamples + 1
		if h.Advance(sample, depth, now.Sub(sample.Taken), freshness.NeverServed, &a.contexts.sampleBytes) {
			a.backfill(&h, depth, m.Series)
		}
		samples = h.Samples
		defer a.contexts.sampleBytes.Drop(samples...)
	}
	if len(samples) > 0 {
		a.evaluateFrom(l, m, samples)
	}
}

// evaluateFrom evaluates a metric from samples, newest first.
func (a *Agent) evaluateFrom(l *listing, m *reload.EntryState, samples []*operand.Sample) {
	a.evaluate(l.snapshot, m, history.Inputs{Samples: samples, Names: l.names, Windows: l.published.Shared()})
}

// dropListing drops the listing of a client.
func (a *Agent) dropListing(c pmda.Client) {
	if l := a.listings[c]; l != nil {
		a.contexts.sampleBytes.Drop(slices.Collect(maps.Values(l.samples))...)
		delete(a.listings, c)
	}
}

// dropOldListings drops the listings of clients that have not fetched.
func (a *Agent) dropOldListings(now time.Time) {
	for c, l := range a.listings {
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

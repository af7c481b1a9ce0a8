package agent

import (
	"os"
	"slices"
	"strconv"
	"time"

	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/freshness"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const (
	// maxClients bounds the number of clients. pmcd has far fewer: each needs a file descriptor.
	maxClients = 1 << 16

	// maxLookups bounds the number of metrics that are sampled for clients that have looked them up and not fetched yet.
	// Beyond it the client with most of them loses its own.
	maxLookups = 1 << 16

	// A look-up of a name that is among the last recentLookups of the client is a repeated one. For it a
	// sample is new enough that is younger than freshness.RepeatedLookupAge.
	recentLookups = 16
)

// client is a client of pmcd.
type client struct {
	authenticated bool // uid is valid
	uid           int
	container     bool      // it asks for the values of a container
	lastFetch     time.Time // its last FETCH, or its first request; a sample from before may lack what it has stored then
	lookups       lookups   // after lastFetch
}

// lookups has the metrics that a client has looked up and not fetched yet.
type lookups struct {
	series []*upstream.Series // in the order of the look-ups
	last   time.Time          // the last look-up; zero: there is none
	timer  upstream.Planned   // has the schedule of samples until the client fetches
}

// client finds a client, or adds it.
func (a *Agent) client(c pmda.Client, now time.Time) *client {
	cl := a.clients[c]
	if cl == nil {
		for other := range a.clients {
			if len(a.clients) < maxClients {
				break
			}
			a.EndContext(other) // any one: no pmcd has that many clients
		}
		cl = &client{lastFetch: now}
		a.clients[c] = cl
	}
	return cl
}

// recordLookup schedules samples for a client that has looked up a metric and does not fetch at once. If the look-up is
// a repeated one, it returns the series of the client's recent look-ups.
func (a *Agent) recordLookup(c pmda.Client, m *reload.ServedState) (recent []*upstream.Series) {
	if m.Series == nil {
		return nil
	}
	now := a.options.Now()
	l := &a.client(c, now).lookups
	if now.Sub(l.last) > freshness.LookupTime {
		a.lookedUp -= len(l.series)
		l.series = nil // the client has given up on these
	}
	if last := l.series[max(0, len(l.series)-recentLookups):]; slices.Contains(last, m.Series) {
		recent = last
	}
	if n := len(l.series); n == 0 || l.series[n-1] != m.Series {
		l.series = append(l.series, m.Series)
		a.lookedUp++
	}
	l.last = now
	a.upstream.Plan(&l.timer, predict.AfterLookup(now), l.series)
	for a.lookedUp > maxLookups {
		most := a.clients[c]
		for _, cl := range a.clients {
			if now.Sub(cl.lookups.last) > freshness.LookupTime { // it has given up on these
				a.forgetLookups(cl)
			} else if len(cl.lookups.series) > len(most.lookups.series) {
				most = cl
			}
		}
		if a.lookedUp > maxLookups {
			a.forgetLookups(most)
		}
	}
	return recent
}

// forgetLookups ends the samples for the look-ups of a client, which has fetched or disconnected, or has too many.
func (a *Agent) forgetLookups(cl *client) {
	if !cl.lookups.last.IsZero() {
		a.upstream.Unplan(&cl.lookups.timer)
		a.lookedUp -= len(cl.lookups.series)
		cl.lookups = lookups{}
	}
}

// Attribute implements pmda.AttributeWatcher.
func (a *Agent) Attribute(c pmda.Client, attr pdu.Attribute, value string) {
	cl := a.client(c, a.options.Now())
	switch attr {
	case pdu.AttrUserID:
		uid, err := strconv.ParseUint(value, 10, 32)
		cl.authenticated, cl.uid = err == nil, int(uid)
	case pdu.AttrContainer:
		cl.container = value != ""
	case pdu.AttrProcessID:
		if value == strconv.Itoa(os.Getpid()) {
			a.upstream.RecordSlot(int(c))
		}
	}
}

// EndContext implements pmda.ContextEnder.
func (a *Agent) EndContext(c pmda.Client) {
	if cl := a.clients[c]; cl != nil {
		a.forgetLookups(cl)
	}
	delete(a.clients, c)
	a.dropListing(c)
	a.contexts.removeClient(c)
	if len(a.contexts.byKey) == 0 { // it may be long until the next fetch
		a.evaluations.DropAll()
	}
	a.contexts.updateReaders(a.options.Now(), false)
	a.upstream.RecordFreedSlot(int(c))
}

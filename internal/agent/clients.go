package agent

import (
	"os"
	"slices"
	"strconv"
	"time"

	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const (
	// maxClients bounds how many clients are remembered. pmcd has fewer, by far: one for each descriptor.
	maxClients = 1 << 16

	// maxLookups bounds for how many metrics that a client has looked up there are samples before it fetches.
	maxLookups = 1 << 16

	// A client that looks up once more what is among the last recentLookups names that it looked up is content with a sample
	// that is repeatGap old.
	recentLookups = 16
	repeatGap     = 10 * time.Millisecond
)

// client is what pmcd has told about one of its clients.
type client struct {
	authenticated bool // it has a user identifier
	uid           int
	lastFetch     time.Time // when its last FETCH came, or it was heard of first: it may have changed something then
	lookups       lookups   // since then
}

// lookups is what a client has looked up and not fetched yet.
type lookups struct {
	series []*upstream.Series // in this order
	last   time.Time
	timer  upstream.Planned
}

// client returns what is known of a client, who may be new.
func (a *Agent) client(c pmda.Client, now time.Time) *client {
	cl := a.clients[c]
	if cl == nil {
		for other := range a.clients {
			if len(a.clients) < maxClients {
				break
			}
			a.EndContext(other) // any: nobody has that many
		}
		cl = &client{lastFetch: now}
		a.clients[c] = cl
	}
	return cl
}

// recordLookup prepares for a client that does not fetch what it looks up at once. If the client has looked up the
// same before and not fetched since, it returns the series of all that the client looked up just before.
func (a *Agent) recordLookup(c pmda.Client, m *reload.Metric) (before []*upstream.Series) {
	if m.Series == nil {
		return nil
	}
	now := a.options.Now()
	l := &a.client(c, now).lookups
	if now.Sub(l.last) > predict.LookupTime {
		l.series = nil // what is looked up now is another matter
	}
	if last := l.series[max(0, len(l.series)-recentLookups):]; slices.Contains(last, m.Series) {
		before = last
	}
	if n := len(l.series); n < maxLookups && (n == 0 || l.series[n-1] != m.Series) {
		l.series = append(l.series, m.Series)
	}
	l.last = now
	a.upstream.Plan(&l.timer, predict.AfterLookup(now), l.series)
	return before
}

func (a *Agent) forgetLookups(cl *client) {
	if !cl.lookups.last.IsZero() {
		a.upstream.Unplan(&cl.lookups.timer)
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
	case pdu.AttrProcessID:
		if value == strconv.Itoa(os.Getpid()) {
			a.upstream.Place(int(c))
		}
	}
}

// EndContext implements pmda.ContextEnder.
func (a *Agent) EndContext(c pmda.Client) {
	if cl := a.clients[c]; cl != nil {
		a.forgetLookups(cl)
	}
	delete(a.clients, c)
	a.contexts.removeClient(c)
	if len(a.contexts.byKey) == 0 { // it may be long until somebody comes
		a.evaluations.DropAll()
	}
	a.upstream.Freed(int(c))
}

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

	// maxLookedUp bounds for how many metrics that a client has looked up there are samples before it fetches.
	maxLookedUp = 1 << 16

	// A client that looks up once more what is among the last lookedBack names that it looked up is content with a sample
	// that is repeatGap old.
	lookedBack = 16
	repeatGap  = 10 * time.Millisecond
)

// client is what pmcd has told about one of its clients.
type client struct {
	known  bool // it has a user identifier
	uid    int
	since  time.Time // when its last FETCH came, or it was heard of first: it may have changed something then
	looked lookUps   // since then
}

// lookUps is what a client has looked up and not fetched yet.
type lookUps struct {
	series  []*upstream.Series // in this order
	last    time.Time
	planned upstream.Planned
}

// client returns what is known of a client, who may be new.
func (a *Agent) client(c pmda.Client, now time.Time) *client {
	who := a.clients[c]
	if who == nil {
		for other := range a.clients {
			if len(a.clients) < maxClients {
				break
			}
			a.EndContext(other) // any: nobody has that many
		}
		who = &client{since: now}
		a.clients[c] = who
	}
	return who
}

// lookedUp prepares for a client that does not fetch what it looks up at once. If the client has looked up the
// same before and not fetched since, it returns the series of all that the client looked up just before.
func (a *Agent) lookedUp(c pmda.Client, m *reload.Metric) (before []*upstream.Series) {
	if m.Series == nil {
		return nil
	}
	now := a.options.Now()
	l := &a.client(c, now).looked
	if now.Sub(l.last) > predict.LookupTime {
		l.series = nil // what is looked up now is another matter
	}
	if last := l.series[max(0, len(l.series)-lookedBack):]; slices.Contains(last, m.Series) {
		before = last
	}
	if n := len(l.series); n < maxLookedUp && (n == 0 || l.series[n-1] != m.Series) {
		l.series = append(l.series, m.Series)
	}
	l.last = now
	a.upstream.Plan(&l.planned, predict.AfterLookup(now), l.series)
	return before
}

func (a *Agent) forgetLookUps(who *client) {
	if !who.looked.last.IsZero() {
		a.upstream.Unplan(&who.looked.planned)
		who.looked = lookUps{}
	}
}

// Attribute implements pmda.AttributeWatcher.
func (a *Agent) Attribute(c pmda.Client, attr pdu.Attribute, value string) {
	who := a.client(c, a.options.Now())
	switch attr {
	case pdu.AttrUserID:
		uid, err := strconv.ParseUint(value, 10, 32)
		who.known, who.uid = err == nil, int(uid)
	case pdu.AttrProcessID:
		if value == strconv.Itoa(os.Getpid()) {
			a.upstream.Place(int(c))
		}
	}
}

// EndContext implements pmda.ContextEnder.
func (a *Agent) EndContext(c pmda.Client) {
	if who := a.clients[c]; who != nil {
		a.forgetLookUps(who)
	}
	delete(a.clients, c)
	a.contexts.end(c)
	if len(a.contexts.byKey) == 0 { // it may be long until somebody comes
		a.evaluations.DropAll()
	}
	a.upstream.Freed(int(c))
}

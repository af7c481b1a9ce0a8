package agent

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const (
	// maxContexts bounds the number of contexts. Beyond it some are removed: see makeRoom.
	maxContexts = 4096

	// maxPlaces bounds the number of metrics in all contexts, some 80 bytes each.
	maxPlaces = 1 << 20

	// maxSampleBytes bounds the bytes of the samples in all histories. Contexts that fetch at the same time share
	// samples.
	maxSampleBytes = 1 << 30
)

// contextKey is a context of a client with one list of metrics. A context that fetches two lists, as that of a pmlogger
// with two groups does, has two histories.
type contextKey struct {
	client  pmda.Client
	context pdu.ContextID
	list    uint64 // hash of the PMIDs
}

// cursorKey is a metric that a context fetches, in one or several lists.
type cursorKey struct {
	client  pmda.Client
	context pdu.ContextID
	metric  pdu.PMID
}

// clientContext has the histories of one context with one list of metrics.
type clientContext struct {
	key              contextKey
	holder           *holder
	snapshot         *reload.Snapshot   // the one that places are of; nil: released
	places           []place            // one for each PMID of the list that is or was a definition, in order
	series           []*upstream.Series // of the places that have one, in order
	predictor        predict.Predictor
	timer            upstream.Planned // has the schedule of samples for the next fetch
	fetchedAt        time.Time        // the last fetch
	expectedUntil    time.Time        // the list is expected to be fetched again until then
	anyExpectedUntil time.Time        // the latest expectedUntil of the context's lists; zero: not computed in this fetch
}

// holder has all contexts of a client.
type holder struct {
	contexts []*clientContext // in the order of their last fetches

	// evicted reports whether a context was removed to make room, until the client goes. A new context may continue
	// that one. So in its first fetch a change that covers another time than that since the last one has no value.
	evicted bool
}

// place is one metric of a context, with its history.
type place struct {
	id             pdu.PMID
	state          reload.ServedState // its Served is nil if the PMID is no definition, or the snapshot is released
	depth          int                // number of samples that the metric is computed from
	fetchedBefore  bool               // used for metrics made of constants alone: see constantHistory
	cursor         *cursor            // shared by all lists of the context; nil: no per-client window was read
	value          *derived.Vector    // the value in the fetch that is not finished; nil: none
	evaluationTime time.Duration      // of the last measured evaluation
	unmeasured     int                // number of evaluations that are not measured from now on
	history        history.History
}

// cursor is the position of a context in the ticks of a metric with per-client windows.
type cursor struct {
	window.Cursor
	places int // number of places that share it
}

// contexts has all contexts that fetch. It belongs to the request loop.
type contexts struct {
	upstream    *upstream.Upstream
	figures     *control.Figures
	maxCount    int // bounds the number of contexts
	maxBytes    int // bounds sampleBytes
	seed        maphash.Seed
	places      int // number of places in all contexts
	sampleBytes history.SampleBytes
	byKey       map[contextKey]*clientContext
	ofClient    map[pmda.Client]*holder
	cursors     map[cursorKey]*cursor
	readersOf   *window.State // the state at the last call of updateReaders; nil: a cursor was dropped since

	newest   *reload.Snapshot // the newest snapshot that a context has adopted
	outdated []*clientContext // contexts that may still have an older one
}

func newContexts(u *upstream.Upstream, figures *control.Figures) *contexts {
	return &contexts{
		upstream: u, figures: figures, cursors: make(map[cursorKey]*cursor),
		maxCount: maxContexts, maxBytes: maxSampleBytes, seed: maphash.MakeSeed(),
		byKey: make(map[contextKey]*clientContext), ofClient: make(map[pmda.Client]*holder),
	}
}

// find returns the context of a request, or makes it. The context has adopted the snapshot.
func (cs *contexts) find(s *reload.Snapshot, req *pmda.FetchRequest) *clientContext {
	key := contextKey{req.Client, req.Context, cs.hashList(req.PMIDs)}
	c := cs.byKey[key]
	if c == nil {
		h := cs.ofClient[key.client]
		if h == nil {
			h = &holder{}
			cs.ofClient[key.client] = h
		}
		c = &clientContext{key: key, holder: h}
		cs.byKey[key] = c
		cs.figures.Contexts.Add(1)
	}
	c.holder.contexts = append(without(c.holder.contexts, c), c)
	c.fetchedAt, c.expectedUntil, c.anyExpectedUntil = req.Arrived, c.nextExpectedUntil(req.Arrived), time.Time{}
	cs.adopt(c, s, req.PMIDs)
	cs.makeRoom(c, func() bool { return len(cs.byKey) > cs.maxCount }, (*holder).countContexts)
	cs.makeRoom(c, func() bool { return cs.places > maxPlaces }, (*holder).countPlaces)
	cs.releaseOutdated(s)
	return c
}

// limitBytes removes contexts until the samples of the others have at most maxBytes. One context is not removed.
func (cs *contexts) limitBytes(except *clientContext) {
	cs.makeRoom(except, func() bool { return cs.sampleBytes.Total > cs.maxBytes }, (*holder).countBytes)
}

// makeRoom removes contexts while there is too much of something. They are those of the client that holds most of it,
// and of these the ones that were idle longest. So a client that floods the agent loses what it holds itself. A client
// that holds no more than an equal share loses nothing. One context is not removed: the one that is fetched now.
func (cs *contexts) makeRoom(except *clientContext, exceeds func() bool, held func(*holder) int) {
	for len(cs.byKey) > 1 && exceeds() {
		var from *holder
		most := 0
		for _, h := range cs.ofClient {
			if len(h.contexts) == 0 || h.contexts[0] == except {
				continue
			}
			n := held(h)
			if from == nil || n > most || n == most && h.contexts[0].fetchedAt.Before(from.contexts[0].fetchedAt) {
				from, most = h, n
			}
		}
		from.evicted = true
		cs.evict(from.contexts[0])
		for len(from.contexts) > 1 && exceeds() { // counting again for each takes long
			cs.evict(from.contexts[0])
		}
	}
}

func (cs *contexts) evict(c *clientContext) {
	cs.figures.ContextsDropped.Add(1)
	cs.remove(c)
}

func (h *holder) countContexts() int { return len(h.contexts) }

func (h *holder) countPlaces() (n int) {
	for _, c := range h.contexts {
		n += len(c.places)
	}
	return n
}

// countBytes returns the bytes of the samples in all histories of the client. A sample that several have counts once.
func (h *holder) countBytes() (n int) {
	seen := make(map[*operand.Sample]struct{})
	for _, c := range h.contexts {
		var last []*operand.Sample // most metrics have the same samples as the one before
		for i := range c.places {
			if samples := c.places[i].history.Samples; !slices.Equal(samples, last) {
				last = samples
				for _, sample := range samples {
					if _, ok := seen[sample]; !ok {
						seen[sample] = struct{}{}
						n += sample.Size
					}
				}
			}
		}
	}
	return n
}

// without removes a context from those of a client.
func without(all []*clientContext, c *clientContext) []*clientContext {
	return slices.DeleteFunc(all, func(x *clientContext) bool { return x == c })
}

// releasesPerFetch is the number of contexts that release their snapshot in one fetch.
const releasesPerFetch = 32

// releaseOutdated has contexts release older snapshots, a few at each fetch. Otherwise an idle context would keep all
// definitions of its time in memory.
func (cs *contexts) releaseOutdated(s *reload.Snapshot) {
	if cs.newest != s {
		cs.newest = s
		cs.outdated = slices.AppendSeq(cs.outdated[:0], maps.Values(cs.byKey))
	}
	for range min(releasesPerFetch, len(cs.outdated)) {
		last := len(cs.outdated) - 1
		if c := cs.outdated[last]; c.snapshot != s {
			c.releaseSnapshot()
		}
		cs.outdated[last] = nil
		cs.outdated = cs.outdated[:last]
	}
}

// releaseSnapshot drops the references to the snapshot. The histories stay.
func (c *clientContext) releaseSnapshot() {
	c.snapshot = nil
	for i := range c.places {
		c.places[i].state.Served, c.places[i].state.Usage, c.places[i].state.Why = nil, nil, nil
	}
}

// hashList returns the hash of a list of metrics.
func (cs *contexts) hashList(ids []pdu.PMID) uint64 {
	var h maphash.Hash
	h.SetSeed(cs.seed)
	var some [128]byte
	for len(ids) > 0 {
		n := min(len(ids), len(some)/4)
		for i, id := range ids[:n] {
			binary.LittleEndian.PutUint32(some[4*i:], uint32(id))
		}
		_, _ = h.Write(some[:4*n]) // it never fails
		ids = ids[n:]
	}
	return h.Sum64()
}

// adopt sets the snapshot of a context with a list. Metrics keep their history if they have the same series as before.
func (cs *contexts) adopt(c *clientContext, s *reload.Snapshot, list []pdu.PMID) {
	if c.snapshot == s {
		return
	}
	cs.addPlaces(c, s, list)
	c.snapshot = s
	c.series = nil
	for i := range c.places {
		p := &c.places[i]
		oldSeries := p.state.Series
		p.state = reload.ServedState{}
		if m := s.ServedState(p.id); m != nil {
			p.state, p.depth = *m, m.Served.OlderSamples+1
		}
		if p.state.Series != oldSeries {
			cs.sampleBytes.Drop(p.history.Samples...)
			p.history.Samples = nil
		}
		if p.state.Series != nil {
			c.series = append(c.series, p.state.Series)
		}
	}
}

// addPlaces adds the PMIDs of the list that are new definitions. Other PMIDs cost no memory, however many a client
// requests.
func (cs *contexts) addPlaces(c *clientContext, s *reload.Snapshot, list []pdu.PMID) {
	present := c.places
	all := make([]place, 0, len(present))
	for _, id := range list {
		switch {
		case len(present) > 0 && present[0].id == id:
			all, present = append(all, present[0]), present[1:]
		case s.ServedState(id) != nil:
			all = append(all, place{id: id})
		}
	}
	cs.places += len(all) - len(c.places)
	c.places = all
}

// remove removes a context, and the cursors that no other list of it shares.
func (cs *contexts) remove(c *clientContext) {
	cs.upstream.Unplan(&c.timer)
	for i := range c.places {
		p := &c.places[i]
		cs.sampleBytes.Drop(p.history.Samples...)
		if p.cursor == nil {
			continue
		}
		if p.cursor.places--; p.cursor.places == 0 {
			delete(cs.cursors, cursorKey{c.key.client, c.key.context, p.id})
			cs.readersOf = nil
		}
	}
	cs.places -= len(c.places)
	cs.figures.Contexts.Add(-1)
	delete(cs.byKey, c.key)
	c.holder.contexts = without(c.holder.contexts, c)
}

// removeClient removes all contexts of a client that has disconnected.
func (cs *contexts) removeClient(c pmda.Client) {
	h := cs.ofClient[c]
	if h == nil {
		return
	}
	all := h.contexts
	h.contexts = nil // so that remove need not find each
	for _, context := range all {
		cs.remove(context)
	}
	delete(cs.ofClient, c)
}

// startsAgain reports whether a metric with per-client windows has no cursor, and may have lost one.
func (cs *contexts) startsAgain(c *clientContext, p *place) bool {
	return c.holder.evicted && len(p.state.PerClientWindows) > 0 && p.cursor == nil &&
		cs.cursors[cursorKey{c.key.client, c.key.context, p.id}] == nil
}

// cursorOf returns the cursor of a metric with per-client windows. All lists of the context share it.
func (cs *contexts) cursorOf(c *clientContext, p *place) *cursor {
	if p.cursor == nil {
		key := cursorKey{c.key.client, c.key.context, p.id}
		if p.cursor = cs.cursors[key]; p.cursor == nil {
			p.cursor = &cursor{}
			cs.cursors[key] = p.cursor
		}
		p.cursor.places++
	}
	return p.cursor
}

// updateReaders tells the per-client windows of the newest snapshot about all cursors: once in each of their states,
// since that takes long, and whenever there may be a new cursor.
func (cs *contexts) updateReaders(now time.Time, isNew bool) {
	if cs.newest == nil {
		return
	}
	state := cs.newest.Published.Latest()
	if state == nil || state == cs.readersOf && !isNew {
		return
	}
	cs.readersOf = state
	state.SetCursors(func(yield func(*window.Cursor) bool) {
		for _, c := range cs.cursors {
			if !yield(&c.Cursor) {
				return
			}
		}
	}, now)
}

const (
	// A context is expected to fetch again within expectedIntervals of its intervals, at least minExpected. After its
	// first fetch it is expected within expectedAfterFirst.
	expectedIntervals  = 3
	minExpected        = time.Minute
	expectedAfterFirst = 10 * time.Minute
)

// expectedUntil returns the latest time until which a list of the context is expected to be fetched again. Lists share
// cursors, so a cursor is kept as long as one of them is expected.
func (cs *contexts) expectedUntil(c *clientContext) time.Time {
	if !c.anyExpectedUntil.IsZero() {
		return c.anyExpectedUntil
	}
	for _, other := range c.holder.contexts {
		if other.key.context == c.key.context && other.expectedUntil.After(c.anyExpectedUntil) {
			c.anyExpectedUntil = other.expectedUntil
		}
	}
	return c.anyExpectedUntil
}

// nextExpectedUntil returns the time until which the list is expected to be fetched again after a fetch now.
func (c *clientContext) nextExpectedUntil(now time.Time) time.Time {
	if c.predictor.Fetches() == 0 {
		return now.Add(expectedAfterFirst)
	}
	interval := max(c.predictor.Interval(), now.Sub(c.predictor.Last()))
	return now.Add(max(expectedIntervals*interval, minExpected))
}

// maxAge returns the age up to which a sample is served in a fetch now ([freshness.MaxAge]). At the second fetch the
// interval is the time since the first.
func (c *clientContext) maxAge(now time.Time) time.Duration {
	interval := c.predictor.Interval()
	if last := c.predictor.Last(); interval == 0 && !last.IsZero() {
		interval = now.Sub(last)
	}
	return freshness.MaxAge(interval)
}

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
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const (
	// maxContexts bounds how many contexts have a history. Beyond it the one that was idle longest starts anew.
	maxContexts = 4096

	// maxEntries bounds the metrics in all these histories together, some 80 bytes each.
	maxEntries = 1 << 20

	// maxSampleBytes bounds the bytes of the samples that these histories hold, which contexts that fetch at the same time share.
	maxSampleBytes = 1 << 30

	// youngEnough is the age up to which a sample may always be served.
	youngEnough = time.Second
)

// contextKey is a client context and what it fetches together. A context that fetches two lists of
// metrics, as a pmlogger with two groups does, is two clients to us.
type contextKey struct {
	client  pmda.Client
	context pdu.ContextID
	list    uint64 // hash of the PMIDs
}

// cursorKey is a metric that a client context fetches, in whatever lists.
type cursorKey struct {
	client  pmda.Client
	context pdu.ContextID
	metric  pdu.PMID
}

// clientContext is what one context has seen.
type clientContext struct {
	key              contextKey
	snapshot         *reload.Snapshot
	entries          []entry            // one for each PMID of the list, in order
	series           []*upstream.Series // of all entries that have one
	predictor        predict.Predictor
	timer            upstream.Planned // for the next fetch
	fetchedAt        time.Time
	expectedUntil    time.Time // to come again, until then
	anyExpectedUntil time.Time // likewise all lists of the context; zero: not asked for since the fetch came
}

// entry is one metric of a context, with its history.
type entry struct {
	id            pdu.PMID
	reload.Metric                 // its Metric is nil if it is none of ours, or the snapshot has been let go of
	depth         int             // how many samples the metric is computed from
	fetchedBefore bool            // of a metric made of constants alone: this is not the first fetch
	cursor        *cursor         // shared by all lists of the context; nil: not needed yet
	served        *derived.Vector // in the fetch that is not finished; nil: nothing
	history.History
}

// look is what a context has seen of a metric.
type cursor struct {
	sampler.Cursor
	entries int // that share it
}

// contexts are all that fetch. They belong to the request loop.
type contexts struct {
	upstream    *upstream.Upstream
	sampler     *sampler.Sampler
	figures     *control.Figures
	maxCount    int // contexts
	maxBytes    int // bytes
	seed        maphash.Seed
	entries     int // of all
	sampleBytes history.SampleBytes
	byKey       map[contextKey]*clientContext
	ofClient    map[pmda.Client][]*clientContext
	cursors     map[cursorKey]*cursor

	newest   *reload.Snapshot // the newest that one has followed
	outdated []*clientContext // those that may still hold an older one
}

func newContexts(u *upstream.Upstream, k *sampler.Sampler, figures *control.Figures) *contexts {
	return &contexts{
		upstream: u, sampler: k, figures: figures, cursors: make(map[cursorKey]*cursor), maxCount: maxContexts, maxBytes: maxSampleBytes, seed: maphash.MakeSeed(),
		byKey: make(map[contextKey]*clientContext), ofClient: make(map[pmda.Client][]*clientContext),
	}
}

// of returns the context of a request, up to date with the snapshot.
func (cs *contexts) find(s *reload.Snapshot, req *pmda.FetchRequest) *clientContext {
	key := contextKey{req.Client, req.Context, cs.hashList(req.PMIDs)}
	c := cs.byKey[key]
	if c == nil {
		for len(cs.byKey) >= cs.maxCount || len(cs.byKey) > 0 && cs.entries+len(req.PMIDs) > maxEntries {
			cs.evictIdlest(nil)
		}
		cs.entries += len(req.PMIDs)
		c = &clientContext{key: key, entries: make([]entry, len(req.PMIDs))}
		for i, id := range req.PMIDs {
			c.entries[i].id = id
		}
		cs.byKey[key], cs.ofClient[key.client] = c, append(cs.ofClient[key.client], c)
		cs.figures.Contexts.Add(1)
	}
	c.fetchedAt, c.expectedUntil, c.anyExpectedUntil = req.Arrived, c.nextExpectedUntil(req.Arrived), time.Time{}
	c.adopt(s, &cs.sampleBytes)
	cs.releaseOutdated(s)
	return c
}

// bound makes those start anew that were idle longest while all together hold too much, but for one.
func (cs *contexts) limitBytes(except *clientContext) {
	for cs.sampleBytes.Total > cs.maxBytes && len(cs.byKey) > 1 {
		cs.evictIdlest(except)
	}
}

// releasesPerFetch is how many contexts one fetch makes let go of a snapshot that has been replaced.
const releasesPerFetch = 32

// release makes contexts let go of older snapshots, a few at each fetch: one that is idle would
// keep all definitions of its time in memory.
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

// release lets go of the snapshot. The history stays.
func (c *clientContext) releaseSnapshot() {
	c.snapshot = nil
	for i := range c.entries {
		c.entries[i].Metric.Metric, c.entries[i].Usage = nil, nil
	}
}

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

// follow brings a context to a new snapshot. The history of a metric goes on if its series does.
func (c *clientContext) adopt(s *reload.Snapshot, bytes *history.SampleBytes) {
	if c.snapshot == s {
		return
	}
	c.snapshot = s
	c.series = nil
	for i := range c.entries {
		e := &c.entries[i]
		oldSeries := e.Series
		e.Metric = reload.Metric{}
		if m := s.Metric(e.id); m != nil {
			e.Metric, e.depth = *m, m.Older+1
		}
		if e.Series != oldSeries {
			bytes.Drop(e.Samples...)
			e.Samples = nil
		}
		if e.Series != nil {
			c.series = append(c.series, e.Series)
		}
	}
}

// evict ends the context that was idle longest, but for one; there is another.
func (cs *contexts) evictIdlest(except *clientContext) {
	var oldest *clientContext
	for _, c := range cs.byKey {
		if c != except && (oldest == nil || c.fetchedAt.Before(oldest.fetchedAt)) {
			oldest = c
		}
	}
	cs.figures.ContextsDropped.Add(1)
	cs.remove(oldest)
}

func (cs *contexts) remove(c *clientContext) {
	cs.upstream.Unplan(&c.timer)
	for i := range c.entries {
		e := &c.entries[i]
		cs.sampleBytes.Drop(e.Samples...)
		if e.cursor == nil {
			continue
		}
		if e.cursor.entries--; e.cursor.entries == 0 {
			cs.sampler.DropCursor(&e.cursor.Cursor)
			delete(cs.cursors, cursorKey{c.key.client, c.key.context, e.id})
		}
	}
	cs.entries -= len(c.entries)
	cs.figures.Contexts.Add(-1)
	delete(cs.byKey, c.key)
	cs.ofClient[c.key.client] = slices.DeleteFunc(cs.ofClient[c.key.client], func(x *clientContext) bool { return x == c })
}

// end forgets all contexts of a client that has gone.
func (cs *contexts) removeClient(c pmda.Client) {
	all := cs.ofClient[c]
	cs.ofClient[c] = nil // none is taken out one by one
	for _, context := range all {
		cs.remove(context)
	}
	delete(cs.ofClient, c)
}

// look is what a context has seen of a metric with functions over time that are since its last look.
func (cs *contexts) cursorOf(c *clientContext, e *entry) *cursor {
	if e.cursor == nil {
		key := cursorKey{c.key.client, c.key.context, e.id}
		if e.cursor = cs.cursors[key]; e.cursor == nil {
			e.cursor = &cursor{}
			cs.cursors[key] = e.cursor
		}
		e.cursor.entries++
	}
	return e.cursor
}

const (
	// A context is expected to come again within so many of its intervals, and minExpected; before its second fetch within expectedAfterFirst.
	expectedIntervals  = 3
	minExpected        = time.Minute
	expectedAfterFirst = 10 * time.Minute
)

// expected is when none of the lists of a context is expected any more to come again: they share looks.
func (cs *contexts) expectedUntil(c *clientContext) time.Time {
	if !c.anyExpectedUntil.IsZero() {
		return c.anyExpectedUntil
	}
	for _, other := range cs.ofClient[c.key.client] {
		if other.key.context == c.key.context && other.expectedUntil.After(c.anyExpectedUntil) {
			c.anyExpectedUntil = other.expectedUntil
		}
	}
	return c.anyExpectedUntil
}

// until is when it is not expected any more that a list comes again.
func (c *clientContext) nextExpectedUntil(now time.Time) time.Time {
	if c.predictor.Fetches() == 0 {
		return now.Add(expectedAfterFirst)
	}
	interval := max(c.predictor.Interval(), now.Sub(c.predictor.Last()))
	return now.Add(max(expectedIntervals*interval, minExpected))
}

// maxAge is how old a sample may be for this fetch: 1 s, or 1.5 times the context's interval, which
// before the second fetch is taken to be the time since the first.
func (c *clientContext) maxAge(now time.Time) time.Duration {
	interval := c.predictor.Interval()
	if last := c.predictor.Last(); interval == 0 && !last.IsZero() {
		interval = now.Sub(last)
	}
	return max(youngEnough, min(interval+interval/2, operand.OldEnough))
}

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

	// maxHeld bounds the bytes of the samples that these histories hold, which contexts that fetch at the same time share.
	maxHeld = 1 << 30

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

// lookKey is a metric that a client context fetches, in whatever lists.
type lookKey struct {
	client  pmda.Client
	context pdu.ContextID
	metric  pdu.PMID
}

// clientContext is what one context has seen.
type clientContext struct {
	key      contextKey
	snapshot *reload.Snapshot
	entries  []entry            // one for each PMID of the list, in order
	series   []*upstream.Series // of all entries that have one
	fetches  predict.Predictor
	planned  upstream.Planned // for the next fetch
	used     time.Time
	expected time.Time // to come again, until then
	lists    time.Time // likewise all lists of the context; zero: not asked for since the fetch came
}

// entry is one metric of a context, with its history.
type entry struct {
	id            pdu.PMID
	reload.Metric                 // its Metric is nil if it is none of ours, or the snapshot has been let go of
	depth         int             // how many samples the metric is computed from
	asked         bool            // of a metric made of constants alone: this is not the first fetch
	look          *look           // shared by all lists of the context; nil: not needed yet
	served        *derived.Vector // in the fetch that is not finished; nil: nothing
	history.History
}

// look is what a context has seen of a metric.
type look struct {
	sampler.Cursor
	entries int // that share it
}

// contexts are all that fetch. They belong to the request loop.
type contexts struct {
	upstream *upstream.Upstream
	sampler  *sampler.Sampler
	figures  *control.Figures
	most     int // contexts
	mostHeld int // bytes
	seed     maphash.Seed
	entries  int // of all
	held     history.SampleBytes
	byKey    map[contextKey]*clientContext
	ofClient map[pmda.Client][]*clientContext
	looks    map[lookKey]*look

	snapshot *reload.Snapshot // the newest that one has followed
	behind   []*clientContext // those that may still hold an older one
}

func newContexts(u *upstream.Upstream, k *sampler.Sampler, figures *control.Figures) *contexts {
	return &contexts{
		upstream: u, sampler: k, figures: figures, looks: make(map[lookKey]*look), most: maxContexts, mostHeld: maxHeld, seed: maphash.MakeSeed(),
		byKey: make(map[contextKey]*clientContext), ofClient: make(map[pmda.Client][]*clientContext),
	}
}

// of returns the context of a request, up to date with the snapshot.
func (cs *contexts) of(s *reload.Snapshot, req *pmda.FetchRequest) *clientContext {
	key := contextKey{req.Client, req.Context, cs.hash(req.PMIDs)}
	c := cs.byKey[key]
	if c == nil {
		for len(cs.byKey) >= cs.most || len(cs.byKey) > 0 && cs.entries+len(req.PMIDs) > maxEntries {
			cs.evict(nil)
		}
		cs.entries += len(req.PMIDs)
		c = &clientContext{key: key, entries: make([]entry, len(req.PMIDs))}
		for i, id := range req.PMIDs {
			c.entries[i].id = id
		}
		cs.byKey[key], cs.ofClient[key.client] = c, append(cs.ofClient[key.client], c)
		cs.figures.Contexts.Add(1)
	}
	c.used, c.expected, c.lists = req.Arrived, c.until(req.Arrived), time.Time{}
	c.follow(s, &cs.held)
	cs.release(s)
	return c
}

// bound makes those start anew that were idle longest while all together hold too much, but for one.
func (cs *contexts) bound(but *clientContext) {
	for cs.held.Total > cs.mostHeld && len(cs.byKey) > 1 {
		cs.evict(but)
	}
}

// releases is how many contexts one fetch makes let go of a snapshot that has been replaced.
const releases = 32

// release makes contexts let go of older snapshots, a few at each fetch: one that is idle would
// keep all definitions of its time in memory.
func (cs *contexts) release(s *reload.Snapshot) {
	if cs.snapshot != s {
		cs.snapshot = s
		cs.behind = slices.AppendSeq(cs.behind[:0], maps.Values(cs.byKey))
	}
	for range min(releases, len(cs.behind)) {
		last := len(cs.behind) - 1
		if c := cs.behind[last]; c.snapshot != s {
			c.release()
		}
		cs.behind[last] = nil
		cs.behind = cs.behind[:last]
	}
}

// release lets go of the snapshot. The history stays.
func (c *clientContext) release() {
	c.snapshot = nil
	for i := range c.entries {
		c.entries[i].Metric.Metric, c.entries[i].Usage = nil, nil
	}
}

func (cs *contexts) hash(ids []pdu.PMID) uint64 {
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
func (c *clientContext) follow(s *reload.Snapshot, h *history.SampleBytes) {
	if c.snapshot == s {
		return
	}
	c.snapshot = s
	c.series = nil
	for i := range c.entries {
		e := &c.entries[i]
		former := e.Series
		e.Metric = reload.Metric{}
		if m := s.Metric(e.id); m != nil {
			e.Metric, e.depth = *m, m.Older+1
		}
		if e.Series != former {
			h.Drop(e.Samples...)
			e.Samples = nil
		}
		if e.Series != nil {
			c.series = append(c.series, e.Series)
		}
	}
}

// evict ends the context that was idle longest, but for one; there is another.
func (cs *contexts) evict(but *clientContext) {
	var oldest *clientContext
	for _, c := range cs.byKey {
		if c != but && (oldest == nil || c.used.Before(oldest.used)) {
			oldest = c
		}
	}
	cs.figures.ContextsDropped.Add(1)
	cs.remove(oldest)
}

func (cs *contexts) remove(c *clientContext) {
	cs.upstream.Unplan(&c.planned)
	for i := range c.entries {
		e := &c.entries[i]
		cs.held.Drop(e.Samples...)
		if e.look == nil {
			continue
		}
		if e.look.entries--; e.look.entries == 0 {
			cs.sampler.DropCursor(&e.look.Cursor)
			delete(cs.looks, lookKey{c.key.client, c.key.context, e.id})
		}
	}
	cs.entries -= len(c.entries)
	cs.figures.Contexts.Add(-1)
	delete(cs.byKey, c.key)
	cs.ofClient[c.key.client] = slices.DeleteFunc(cs.ofClient[c.key.client], func(x *clientContext) bool { return x == c })
}

// end forgets all contexts of a client that has gone.
func (cs *contexts) end(c pmda.Client) {
	theirs := cs.ofClient[c]
	cs.ofClient[c] = nil // none is taken out one by one
	for _, context := range theirs {
		cs.remove(context)
	}
	delete(cs.ofClient, c)
}

// look is what a context has seen of a metric with functions over time that are since its last look.
func (cs *contexts) look(c *clientContext, e *entry) *look {
	if e.look == nil {
		key := lookKey{c.key.client, c.key.context, e.id}
		if e.look = cs.looks[key]; e.look == nil {
			e.look = &look{}
			cs.looks[key] = e.look
		}
		e.look.entries++
	}
	return e.look
}

const (
	// A context is expected to come again within so many of its intervals, and anyLook; before its second fetch within firstLook.
	lookIntervals = 3
	anyLook       = time.Minute
	firstLook     = 10 * time.Minute
)

// expected is when none of the lists of a context is expected any more to come again: they share looks.
func (cs *contexts) expected(c *clientContext) time.Time {
	if !c.lists.IsZero() {
		return c.lists
	}
	for _, other := range cs.ofClient[c.key.client] {
		if other.key.context == c.key.context && other.expected.After(c.lists) {
			c.lists = other.expected
		}
	}
	return c.lists
}

// until is when it is not expected any more that a list comes again.
func (c *clientContext) until(now time.Time) time.Time {
	if c.fetches.Fetches() == 0 {
		return now.Add(firstLook)
	}
	interval := max(c.fetches.Interval(), now.Sub(c.fetches.Last()))
	return now.Add(max(lookIntervals*interval, anyLook))
}

// patience is how old a sample may be for this fetch: 1 s, or 1.5 times the context's interval, which
// before the second fetch is taken to be the time since the first.
func (c *clientContext) patience(now time.Time) time.Duration {
	interval := c.fetches.Interval()
	if last := c.fetches.Last(); interval == 0 && !last.IsZero() {
		interval = now.Sub(last)
	}
	return max(youngEnough, min(interval+interval/2, operand.OldEnough))
}

package agent

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"time"

	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const (
	// minStep is how much older the sample must be at least that a first rate or delta is computed from, where none
	// is as old as it should be.
	minStep = 10 * time.Millisecond

	// maxViews bounds how many contexts have a history, unless Limits.Contexts says otherwise. Beyond it the one
	// that was idle longest starts anew.
	maxViews = 4096

	// maxEntries bounds the metrics in all these histories together, some 60 bytes each.
	maxEntries = 1 << 20

	// maxHeld bounds the bytes of the samples that these histories hold, which contexts that fetch at the same time share,
	// unless Limits.Samples says otherwise.
	maxHeld = 1 << 30

	// youngEnough is the age up to which a sample may always be served.
	youngEnough = time.Second

	// oldEnough is the age beyond which no sample is served, however seldom its context fetches.
	oldEnough = 90 * time.Second

	// missedAge is the age of a sample from which it was not made for the fetch it is served to.
	missedAge = 4 * lead

	// warmEnough is how old the previous value of a context's first fetch may be, if windows are not longer.
	warmEnough = time.Minute
)

// viewKey is a client context and what it fetches together. A context that fetches two lists of
// metrics, as a pmlogger with two groups does, is two clients to us.
type viewKey struct {
	client  pmda.Client
	context pdu.ContextID
	list    uint64 // hash of the PMIDs
}

// view is what one context has seen. It belongs to the request loop.
type view struct {
	key      viewKey
	snapshot *snapshot
	entries  []entry // one for each PMID of the list, in order
	feeds    []*feed // of all entries that have one
	plan     plan
	used     time.Time
}

// entry is one metric of a view.
type entry struct {
	id     pdu.PMID
	metric *metric // nil: none of ours
	feed   *feed
	seen   []*operand.Sample // those that the context was served from, newest first
	stale  bool              // nothing young enough this time
	same   bool              // nothing new since the fetch before
	missed bool              // what was foretold for this fetch did not come
	asked  bool              // of a metric made of constants alone: this is not the first fetch
}

// views are all contexts that fetch.
type views struct {
	figures  *control.Figures
	limits   Limits
	seed     maphash.Seed
	entries  int // of all views
	held     holdings
	byKey    map[viewKey]*view
	ofClient map[pmda.Client]map[viewKey]struct{}

	snapshot *snapshot // the newest that a view has followed
	behind   []*view   // those that may still hold an older one
}

func newViews(figures *control.Figures, limits Limits) *views {
	return &views{
		figures: figures, limits: limits, seed: maphash.MakeSeed(), byKey: make(map[viewKey]*view),
		ofClient: make(map[pmda.Client]map[viewKey]struct{}),
	}
}

// of returns the view of a request, up to date with the snapshot.
func (vs *views) of(s *snapshot, req *pmda.FetchRequest, end func(*view)) *view {
	key := viewKey{req.Client, req.Context, vs.hash(req.PMIDs)}
	v := vs.byKey[key]
	if v == nil {
		for int64(len(vs.byKey)) >= vs.limits.Contexts || len(vs.byKey) > 0 && vs.entries+len(req.PMIDs) > maxEntries {
			vs.evict(nil, end)
		}
		vs.entries += len(req.PMIDs)
		v = &view{key: key, entries: make([]entry, len(req.PMIDs)), plan: plan{index: -1}}
		for i, id := range req.PMIDs {
			v.entries[i].id = id
		}
		vs.byKey[key] = v
		vs.figures.Contexts.Add(1)
		if vs.ofClient[key.client] == nil {
			vs.ofClient[key.client] = make(map[viewKey]struct{})
		}
		vs.ofClient[key.client][key] = struct{}{}
	}
	v.used = req.Arrived
	v.follow(s, &vs.held)
	vs.release(s)
	return v
}

// bound makes those start anew that were idle longest while all together hold too much, but for one.
func (vs *views) bound(but *view, end func(*view)) {
	for int64(vs.held.bytes) > vs.limits.Samples && len(vs.byKey) > 1 {
		vs.evict(but, end)
	}
}

// holdings counts the bytes of all samples that are part of a history.
type holdings struct{ bytes int }

func (h *holdings) add(s *operand.Sample) {
	if s.Holders++; s.Holders == 1 {
		h.bytes += s.Size
	}
}

func (h *holdings) drop(all ...*operand.Sample) {
	for _, s := range all {
		if s.Holders--; s.Holders == 0 {
			h.bytes -= s.Size
		}
	}
}

// releases is how many views one fetch makes let go of a snapshot that has been replaced.
const releases = 32

// release makes views let go of older snapshots, a few at each fetch: one whose context is idle would
// keep all definitions of its time in memory.
func (vs *views) release(s *snapshot) {
	if vs.snapshot != s {
		vs.snapshot = s
		vs.behind = slices.AppendSeq(vs.behind[:0], maps.Values(vs.byKey))
	}
	for range min(releases, len(vs.behind)) {
		last := len(vs.behind) - 1
		if v := vs.behind[last]; v.snapshot != s {
			v.release()
		}
		vs.behind[last] = nil
		vs.behind = vs.behind[:last]
	}
}

// release lets go of the snapshot. The history stays.
func (v *view) release() {
	v.snapshot = nil
	for i := range v.entries {
		v.entries[i].metric = nil
	}
}

func (vs *views) hash(ids []pdu.PMID) uint64 {
	var h maphash.Hash
	h.SetSeed(vs.seed)
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

// follow brings a view to a new snapshot. The history of a metric goes on if its feed does.
func (v *view) follow(s *snapshot, h *holdings) {
	if v.snapshot == s {
		return
	}
	v.snapshot = s
	v.feeds = nil
	for i := range v.entries {
		e := &v.entries[i]
		e.metric = s.metric(e.id)
		var f *feed
		if e.metric != nil {
			f = e.metric.feed
		}
		if f != e.feed {
			h.drop(e.seen...)
			e.feed, e.seen = f, nil
		}
		if f != nil {
			v.feeds = append(v.feeds, f)
		}
	}
}

// evict ends the view that was idle longest, but for one; there is another.
func (vs *views) evict(but *view, end func(*view)) {
	var oldest *view
	for _, v := range vs.byKey {
		if v != but && (oldest == nil || v.used.Before(oldest.used)) {
			oldest = v
		}
	}
	vs.figures.ContextsDropped.Add(1)
	vs.remove(oldest, end)
}

func (vs *views) remove(v *view, end func(*view)) {
	end(v)
	for i := range v.entries {
		vs.held.drop(v.entries[i].seen...)
	}
	vs.entries -= len(v.entries)
	vs.figures.Contexts.Add(-1)
	delete(vs.byKey, v.key)
	delete(vs.ofClient[v.key.client], v.key)
	if len(vs.ofClient[v.key.client]) == 0 {
		delete(vs.ofClient, v.key.client)
	}
}

// end forgets all contexts of a client that has gone.
func (vs *views) end(c pmda.Client, end func(*view)) {
	for key := range vs.ofClient[c] {
		vs.remove(vs.byKey[key], end)
	}
}

// patience is how old a sample may be for this fetch: 1 s, or 1.5 times the context's interval, which
// before the second fetch is taken to be the time since the first.
func (v *view) patience(now time.Time) time.Duration {
	interval := v.plan.typical()
	if interval == 0 && !v.plan.last.IsZero() {
		interval = now.Sub(v.plan.last)
	}
	return max(youngEnough, min(interval+interval/2, oldEnough))
}

// reach is how far the previous value of a first fetch may be from it: windows are covered up to half as often again, and
// an agent that rests may take longer.
func reach(window time.Duration) time.Duration { return max(warmEnough, 2*window) }

// advance makes the newest sample of the feed part of the entry's history. The sampler's lock is
// held. Without history only the newest sample counts; a context that fetches for the first time continues from
// what the feed has kept, if there is a window.
func (e *entry) advance(now time.Time, patience, window time.Duration, h *holdings) {
	cur := e.feed.latest
	e.stale = cur == nil || now.Sub(cur.Taken) > patience
	e.missed = e.stale || len(e.seen) > 0 && cur == e.seen[0] || now.Sub(cur.Taken) > missedAge
	e.same = false
	if e.stale {
		return
	}
	depth := e.metric.History + 1
	switch {
	case depth == 1:
		if len(e.seen) != 1 || e.seen[0] != cur {
			e.begin(cur, h)
		}
	case len(e.seen) == 0 || !cur.Continues(e.seen[0]): // new, or pmcd's clock was set
		e.begin(cur, h)
		if window > 0 {
			e.warm(cur, depth, window, h)
		}
	case cur.At.After(e.seen[0].At):
		if len(e.seen) < depth {
			e.seen = append(e.seen, nil)
		} else {
			h.drop(e.seen[len(e.seen)-1])
		}
		h.add(cur)
		copy(e.seen[1:], e.seen)
		e.seen[0] = cur
	default:
		e.same = true
	}
}

// begin begins the history of a metric anew.
func (e *entry) begin(cur *operand.Sample, h *holdings) {
	h.add(cur)
	h.drop(e.seen...)
	e.seen = append(e.seen[:0], cur)
}

// warm continues a history with samples that the feed has kept: each the youngest that is a window older than the
// one after it. Where a history has just begun and there is none so old, right after a start, it is the oldest there is.
func (e *entry) warm(cur *operand.Sample, depth int, window time.Duration, h *holdings) {
	var oldest *operand.Sample
	last := cur
	for _, s := range e.feed.kept {
		gap := last.At.Sub(s.At)
		if len(e.seen) == depth || !cur.Continues(s) || gap > reach(window) {
			break
		}
		if gap >= minStep {
			oldest = s
		}
		if gap >= window {
			e.seen = append(e.seen, s)
			h.add(s)
			last = s
		}
	}
	if len(e.seen) == 1 && depth > 1 && oldest != nil {
		e.seen = append(e.seen, oldest)
		h.add(oldest)
	}
}

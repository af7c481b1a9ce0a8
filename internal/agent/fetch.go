package agent

import (
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Fetch implements pmda.Agent.
func (a *Agent) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	cl := a.client(req.Client, req.Arrived)
	cl.lastFetch = req.Arrived
	a.forgetLookups(cl)
	snap := a.snapshot.Load()
	a.evaluations.BeginFetch()
	a.groups.Begin(req.Arrived)
	a.busy, a.stood = a.upstream.Drain()
	a.windows = snap.Results.Latest()
	c := a.contexts.find(snap, req)
	if len(c.series) > 0 {
		a.takeSamples(c, req)
		a.contexts.limitBytes(c)
	}
	a.fetched = c
	for i := range c.entries {
		a.serveMetric(snap, req, c, &c.entries[i], w)
	}
	a.figures.Values.Add(a.values)
	a.values = 0
	return nil
}

// finish does what the reply to a fetch need not wait for: it starts sampling, which pmcd has no time for before the reply, counts what
// was served, which touches much memory, and plans the sample for the next fetch, which may wake a thread.
func (a *Agent) finishFetch() {
	c := a.fetched
	if c == nil {
		return
	}
	a.fetched = nil
	if len(c.series) > 0 {
		a.requestSamples(c)
	}
	var sample *operand.Sample
	metrics := uint64(0) // that were served from it
	count := func(next *operand.Sample) {
		if metrics > 0 {
			a.figures.SampleAge[fetchKind(&c.predictor)].Record(c.fetchedAt.Sub(sample.Taken), metrics)
		}
		sample, metrics = next, 0
	}
	for i := range c.entries {
		e := &c.entries[i]
		if e.served == nil {
			continue
		}
		e.Usage.Fetched, e.Usage.Values, e.served = c.fetchedAt, e.served.Len(), nil
		if len(e.Samples) == 0 { // made of constants alone
			continue
		}
		if e.Samples[0] != sample {
			count(e.Samples[0])
		}
		metrics++
	}
	count(nil)
	if len(c.series) > 0 {
		a.upstream.Plan(&c.timer, c.predictor.RecordFetch(c.fetchedAt, a.busy), c.series)
	}
}

// want starts sampling what was not made for a fetch of a context.
func (a *Agent) requestSamples(c *clientContext) {
	wanted, gap := a.wanted, upstream.MinGap
	if c.predictor.Quick() { // each fetch asks for the sample of the next one
		wanted = c.series
		if !a.deep { // none is missed when it has become no older than for other clients
			gap = predict.Lead
		}
	}
	a.upstream.Want(c.fetchedAt, operand.Need{Gap: gap}, wanted...)
}

// takeSamples moves the histories of a context on and leaves in a.wanted the series that should have had a
// newer sample, and in a.deep whether a metric needs older ones, too.
func (a *Agent) takeSamples(c *clientContext, req *pmda.FetchRequest) {
	maxAge := c.maxAge(req.Arrived)
	a.wanted, a.deep = a.wanted[:0], false
	a.newest = a.upstream.Newest(a.newest[:0], c.series)
	newest := a.newest
	var last *operand.Sample       // most have the same
	var age, allowed time.Duration // of it; that it may have
	for i := range c.entries {
		e := &c.entries[i]
		if e.Series == nil {
			continue
		}
		sample := newest[0]
		newest = newest[1:]
		if sample != nil && sample != last {
			last, age = sample, req.Arrived.Sub(sample.Taken)
			allowed = maxAge + a.stood - sample.Before // while pmcd served nobody there was nothing newer
		}
		a.deep = a.deep || e.depth > 1
		a.advanceHistory(&e.History, e.depth, e.Series, sample, age, allowed)
		if e.Missed {
			a.wanted = append(a.wanted, e.Series)
		}
	}
	clear(a.newest) // histories hold what is needed
}

// advance makes the newest sample of a series part of a history, which continues with those that are kept where it begins.
func (a *Agent) advanceHistory(h *history.History, depth int, series *upstream.Series, newest *operand.Sample, age, maxAge time.Duration) {
	bytes := &a.contexts.sampleBytes
	if h.Advance(newest, depth, age, maxAge, bytes) && a.options.Interval > 0 {
		a.kept = a.upstream.Kept(a.kept[:0], series)
		h.Backfill(a.kept, depth, a.options.Interval, operand.Reach(a.options.Interval), bytes)
		clear(a.kept)
	}
}

// kindOf is what the fetch that is there now is to its context.
func fetchKind(p *predict.Predictor) control.FetchKind {
	switch {
	case p.Fetches() == 0:
		return control.FirstFetch
	case p.Fetches() == 1:
		return control.SecondFetch
	case p.Expected().IsZero():
		return control.IrregularFetch
	}
	return control.RegularFetch
}

// serve writes the value set of one metric.
func (a *Agent) serveMetric(snap *reload.Snapshot, req *pmda.FetchRequest, c *clientContext, e *entry, w *pdu.ResultWriter) {
	m := &e.Metric
	switch {
	case m.Metric == nil:
		a.serveOther(snap, req, e.id, w)
	case m.Derived == nil:
		w.Fail(e.id, m.Code())
	case m.Protected && !a.clients[req.Client].authenticated:
		w.Fail(e.id, pdu.ErrPermission)
	case e.Series.Constant(): // made of constants, and of functions over time
		a.writeValues(e, a.evaluate(snap, a.constantHistory(e), m, a.windowResults(snap, c, e)), req, w)
	case e.Stale:
		a.extendCursor(c, e)
		a.figures.Stale.Add(1)
		w.Fail(e.id, pdu.ErrAgain)
	case e.Unchanged && m.Derived.Needs().Adds: // it would count twice what it counted last time
		a.extendCursor(c, e)
		a.figures.Repeated.Add(1)
		w.Fail(e.id, 0)
	default:
		a.writeValues(e, a.evaluate(snap, e.Samples, m, a.windowResults(snap, c, e)), req, w)
	}
}

// seen is what functions over time come to for a metric of a context, which sees that now.
func (a *Agent) windowResults(snap *reload.Snapshot, c *clientContext, e *entry) *derived.Results {
	if len(e.Since) == 0 {
		return a.windows.Shared()
	}
	cur := a.contexts.cursorOf(c, e)
	return a.sampler.ReadSince(snap.Results, a.windows, &cur.Cursor, e.Since, a.contexts.expectedUntil(c))
}

// expect has a context kept in mind that fetches a metric, and cannot be told what functions over time come to.
func (a *Agent) extendCursor(c *clientContext, e *entry) {
	if e.cursor != nil {
		a.sampler.ExtendCursor(&e.cursor.Cursor, a.contexts.expectedUntil(c))
	}
}

func (a *Agent) evaluate(snap *reload.Snapshot, seen []*operand.Sample, m *reload.Metric, windows *derived.Results) *derived.Vector {
	from := history.Inputs{Samples: seen, Names: a.names.Now(), Windows: windows}
	return a.evaluations.Value(m.Derived, snap.Set, from, &snap.Spare, &a.figures.Evaluations)
}

// constants is the history of a metric made of constants alone: the same sample for ever.
func (a *Agent) constantHistory(e *entry) []*operand.Sample {
	first := !e.fetchedBefore
	e.fetchedBefore = true
	if first && a.options.Interval == 0 {
		return a.constantSamples[:1]
	}
	return a.constantSamples
}

// serveOther answers for what is not a definition.
func (a *Agent) serveOther(snap *reload.Snapshot, req *pmda.FetchRequest, id pdu.PMID, w *pdu.ResultWriter) {
	if a.control.Fetch(id, req.Profile, req.Arrived, w) {
		return
	}
	code := pdu.ErrPMID
	if _, ok := snap.Retired[id]; ok {
		code = 0
	}
	w.Fail(id, code)
}

// write puts the values that the profile selects into the reply.
func (a *Agent) writeValues(e *entry, v *derived.Vector, req *pmda.FetchRequest, w *pdu.ResultWriter) {
	m := e.Metric
	if v.Code < 0 {
		w.Fail(m.ID, v.Code)
		return
	}
	e.served = v
	insts, bits, blobs := v.Insts.IDs(), v.Bits, v.Blobs
	if insts != nil {
		if sel := req.Profile.Selects(m.Desc.InDom); !sel.All() {
			insts, bits, blobs = a.selectedValues(v, sel)
		}
	}
	if !a.options.NonFinite && !v.Finite() {
		insts, bits = a.finiteValues(v.Type, insts, bits)
	}
	a.values += uint64(max(len(bits), len(blobs)))
	switch {
	case len(blobs) > 0:
		w.Strings(m.ID, m.Desc.Type, insts, blobs)
	case len(bits) == 0:
		w.Fail(m.ID, 0)
	case insts == nil:
		w.Number(m.ID, m.Desc.Type, bits[0])
	default:
		w.Numbers(m.ID, m.Desc.Type, insts, bits)
	}
}

// finite copies the values that are finite into scratch space, where they may be already.
func (a *Agent) finiteValues(t pdu.Type, insts []pdu.Inst, bits []uint64) ([]pdu.Inst, []uint64) {
	a.insts, a.bits = a.insts[:0], a.bits[:0]
	for i, b := range bits {
		if !derived.Finite(t, b) {
			continue
		}
		a.bits = append(a.bits, b)
		if insts != nil {
			a.insts = append(a.insts, insts[i])
		}
	}
	if insts == nil {
		return nil, a.bits
	}
	return a.insts, a.bits
}

// filter copies the selected values into scratch space.
func (a *Agent) selectedValues(v *derived.Vector, sel pdu.Selection) ([]pdu.Inst, []uint64, [][]byte) {
	a.insts, a.bits, a.blobs = a.insts[:0], a.bits[:0], a.blobs[:0]
	ids := v.Insts.IDs()
	a.selected = sel.AppendSelected(a.selected[:0], ids)
	for _, i := range a.selected {
		a.insts = append(a.insts, ids[i])
		if v.Type.Numeric() {
			a.bits = append(a.bits, v.Bits[i])
		} else {
			a.blobs = append(a.blobs, v.Blobs[i])
		}
	}
	return a.insts, a.bits, a.blobs
}

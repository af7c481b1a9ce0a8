package agent

import (
	"slices"
	"time"

	"pmdaderived/derived"
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

// fetch has the state of the FETCH that the agent serves. The agent has one, and reuses it for each fetch, so that a
// fetch in the steady state allocates nothing. It belongs to the request loop.
//
//	Fetch         startFetch      sets the fields of the first two groups
//	              takeSamples     adds samples to the histories of the context, sets wanted and needsOlder
//	              serveMetric     writes to the reply, once for each metric
//	              release         drops what is not valid after Fetch
//	the server sends the reply
//	Replied       finishFetch     requests samples, counts, plans the next sample; sets context to nil
//
// Before calls finishFetch, too: if the next request has arrived already, the server does not call Replied in between.
type fetch struct {
	// These are valid until Fetch returns.
	client      *client
	profile     *pdu.Profile // selects instances
	reply       *pdu.ResultWriter
	snapshot    *reload.Snapshot
	windows     *window.State // of functions over time when the fetch arrived; nil: there are none
	names       *operand.InstanceSnapshot
	fromListing map[*upstream.Series]*operand.Sample // of the client's listing: served instead of the newest samples

	// These are valid until finishFetch returns.
	arrived    time.Time
	context    *clientContext     // nil: no fetch is to be finished
	blocked    predict.TimeRange  // the last time that pmcd was busy with a request of ours
	blockedSum time.Duration      // the sum of all such times
	wanted     []*upstream.Series // series without a sample that was made for this fetch
	needsOlder bool               // a metric is computed from several samples
	values     uint64             // number of values in the reply
	firstRead  bool               // a per-client window was read for the first time

	// Scratch space.
	newest   []*operand.Sample
	selected []int
	insts    []pdu.Inst
	bits     []uint64
	blobs    [][]byte
}

// release drops the references that the server reuses, or that would keep an old snapshot in memory.
func (f *fetch) release() {
	f.client, f.profile, f.reply, f.snapshot, f.windows, f.names, f.fromListing = nil, nil, nil, nil, nil, nil, nil
}

// Fetch implements pmda.Agent. It answers from memory and never waits for pmcd. The functions that it calls follow
// in the order of the calls.
func (a *Agent) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	f := &a.fetch
	a.startFetch(f, req, w)
	if len(f.context.series) > 0 {
		a.takeSamples(f)
		a.contexts.limitBytes(f.context)
	}
	places := f.context.places
	for _, id := range req.PMIDs {
		if len(places) > 0 && places[0].id == id {
			a.serveMetric(f, &places[0])
			places = places[1:]
		} else {
			a.serveOther(f, id)
		}
	}
	a.figures.Values.Add(f.values)
	f.release()
	a.dropListing(req.Client)
	return nil
}

// startFetch loads what the fetch is served from. It reads the answers of pmcd that have arrived, without waiting:
// pmcd often answers the agent's own fetch just before it passes on that of the client.
func (a *Agent) startFetch(f *fetch, req *pmda.FetchRequest, w *pdu.ResultWriter) {
	f.client = a.client(req.Client, req.Arrived)
	f.client.lastFetch = req.Arrived
	a.forgetLookups(f.client)
	f.profile, f.reply, f.arrived, f.values, f.firstRead = req.Profile, w, req.Arrived, 0, false
	f.snapshot = a.snapshot.Load()
	a.evaluations.BeginFetch()
	a.groups.SetTime(req.Arrived)
	f.blocked, f.blockedSum = a.upstream.Drain()
	f.windows, f.names = f.snapshot.Published.Latest(), a.names.Snapshot()
	a.windows.BeginRequest()
	f.context = a.contexts.find(f.snapshot, req)
	l := a.groupListings[req.Client]
	if l.valid(f.snapshot, f.arrived, f.blockedSum) && f.context.predictor.Fetches() == 0 {
		f.windows, f.names, f.fromListing = l.windows, l.names, l.samples
	}
}

// takeSamples adds the newest samples to the histories of the context. It sets f.wanted to the series without a
// sample that was made for this fetch.
func (a *Agent) takeSamples(f *fetch) {
	c := f.context
	maxAge := c.maxAge(f.arrived)
	f.wanted, f.needsOlder = f.wanted[:0], false
	f.newest = a.upstream.Newest(f.newest[:0], c.series)
	newest := f.newest
	var last *operand.Sample       // most series have the same one
	var age, allowed time.Duration // of last
	for i := range c.places {
		p := &c.places[i]
		if p.state.Series == nil {
			continue
		}
		sample := newest[0]
		newest = newest[1:]
		if listed := f.fromListing[p.state.Series]; listed != nil {
			sample, last, age, allowed = listed, listed, f.arrived.Sub(listed.Taken), freshness.NeverServed
		}
		if sample != nil && sample != last {
			last, age = sample, f.arrived.Sub(sample.Taken)
			allowed = maxAge + f.blockedSum - sample.BlockedSum // while pmcd was blocked, no newer one was possible
		}
		f.needsOlder = f.needsOlder || p.depth > 1
		if p.history.Advance(sample, p.depth, age, allowed, &a.contexts.sampleBytes) && !c.holder.evicted {
			a.backfill(&p.history, p.depth, p.state.Series)
		}
		if p.history.Missed {
			f.wanted = append(f.wanted, p.state.Series)
		}
	}
	clear(f.newest) // the histories hold the samples that are needed
}

// backfill adds older samples, which the series has retained, to a history that has started again.
func (a *Agent) backfill(h *history.History, depth int, series *upstream.Series) {
	if a.options.Interval > 0 {
		a.retained = a.upstream.Retained(a.retained[:0], series)
		h.Backfill(
			a.retained, depth, a.options.Interval, freshness.Reach(a.options.Interval), &a.contexts.sampleBytes)
		clear(a.retained)
	}
}

// serveMetric writes the value set of one metric.
func (a *Agent) serveMetric(f *fetch, p *place) {
	m := &p.state
	switch {
	case m.Served == nil:
		a.serveOther(f, p.id)
	case m.Served.Derived == nil:
		f.reply.Fail(p.id, m.Served.Code())
	case m.Served.Protected && !f.client.authenticated:
		f.reply.Fail(p.id, pdu.ErrPermission)
	case f.client.container: // the samples are those of the host
		f.reply.Fail(p.id, pdu.ErrNoContainer)
	case a.contexts.startsAgain(f.context, p):
		a.windowResults(f, p) // from here on
		f.reply.Fail(p.id, 0)
	case p.state.Series.Constant(): // made of constants, and of functions over time
		a.writeValues(f, p, a.evaluatePlace(f, p, f.inputs(a.constantHistory(f, p), a.windowResults(f, p))))
	case p.history.Stale:
		a.extendCursor(f, p)
		a.figures.Stale.Add(1)
		f.reply.Fail(p.id, pdu.ErrAgain)
	case p.history.Unchanged && m.Served.Derived.Needs().HasDelta: // the same delta() twice would count the change twice
		a.extendCursor(f, p)
		f.reply.Fail(p.id, 0)
	default:
		a.writeValues(f, p, a.evaluatePlace(f, p, f.inputs(p.history.Samples, a.windowResults(f, p))))
	}
}

// serveOther writes the value set of a PMID that is no definition: a metric about the agent, a retired one, or none.
func (a *Agent) serveOther(f *fetch, id pdu.PMID) {
	if a.control.Fetch(id, f.profile, f.arrived, f.reply) {
		return
	}
	code := pdu.ErrPMID
	if _, ok := f.snapshot.Retired[id]; ok {
		code = 0
	}
	f.reply.Fail(id, code)
}

// constantHistory returns the history of a metric made of constants alone. With Interval 0 a
// first fetch has no older samples, as for other metrics.
func (a *Agent) constantHistory(f *fetch, p *place) []*operand.Sample {
	first := !p.fetchedBefore
	p.fetchedBefore = true
	samples := a.emptySamples(p.state.Served.Derived, f.arrived)
	if first && a.options.Interval == 0 {
		return samples[:1]
	}
	return samples
}

// emptySamples returns the samples of a metric without operands, newest first. All metrics with now() have the same ones
// in a request.
func (a *Agent) emptySamples(m *derived.Metric, now time.Time) []*operand.Sample {
	if !m.Needs().Clock {
		return a.constantSamples
	}
	if !a.clockSamples[0].At.Equal(now) {
		a.clockSamples[0] = operand.Empty(now, &a.names)
	}
	return a.clockSamples
}

// windowResults returns the results of functions over time for a metric. If it has per-client windows, their results
// cover the time since the client's last fetch of the metric, and the cursor moves on.
func (a *Agent) windowResults(f *fetch, p *place) *derived.Results {
	switch {
	case f.windows == nil:
		return nil
	case len(p.state.PerClientWindows) == 0:
		return f.windows.Results
	}
	results, isFirst := a.windows.Read(
		f.windows, &a.contexts.cursorOf(f.context, p).Cursor, p.state.PerClientWindows, f.arrived,
		a.contexts.expectedUntil(f.context))
	f.firstRead = f.firstRead || isFirst
	return results
}

// extendCursor keeps the cursor of a metric whose values cannot be served now, so that the client's next fetch goes
// on where its last one ended.
func (a *Agent) extendCursor(f *fetch, p *place) {
	if p.cursor != nil {
		p.cursor.Extend(a.contexts.expectedUntil(f.context))
	}
}

// inputs returns what a metric is computed from: samples, newest first, and the results of functions over time.
func (f *fetch) inputs(samples []*operand.Sample, windows *derived.Results) history.Inputs {
	return history.Inputs{Samples: samples, Names: f.names, Windows: windows}
}

const (
	// shortEvaluation is a time beside which two readings of the clock, which take 0.1 µs, count for nothing.
	shortEvaluation = 2 * time.Microsecond

	// unmeasuredEvaluations is the number of evaluations after a shorter one that are not measured.
	unmeasuredEvaluations = 32
)

// evaluatePlace computes a metric, and sets how long an evaluation takes. Most take no longer than reading the clock, so
// the time of one counts also for those that follow.
func (a *Agent) evaluatePlace(f *fetch, p *place, in history.Inputs) *derived.Vector {
	if p.unmeasured > 0 {
		p.unmeasured--
		return a.evaluate(f.snapshot, &p.state, in)
	}
	start := a.options.Now()
	v := a.evaluate(f.snapshot, &p.state, in)
	if p.evaluationTime = a.options.Now().Sub(start); p.evaluationTime < shortEvaluation {
		p.unmeasured = unmeasuredEvaluations
	}
	return v
}

// evaluate computes a metric.
func (a *Agent) evaluate(snap *reload.Snapshot, m *reload.ServedState, in history.Inputs) *derived.Vector {
	return a.evaluations.Value(m.Served.Derived, snap.Set, in, &snap.PreparedEvaluation)
}

// writeValues writes the values of the instances that the profile selects.
func (a *Agent) writeValues(f *fetch, p *place, v *derived.Vector) {
	m := &p.state
	if v.Code < 0 {
		*m.Why = v.Why
		f.reply.Fail(m.Served.ID, v.Code)
		return
	}
	p.value = v
	insts, bits, blobs := v.Insts.IDs(), v.Bits, v.Blobs
	if insts != nil {
		if sel := f.profile.Selects(m.Served.Desc.InDom); !sel.All() {
			insts, bits, blobs = f.selectedValues(v, sel)
		}
	}
	if !a.options.NonFinite && !v.Finite() {
		insts, bits = f.finiteValues(v.Type, insts, bits)
	}
	f.values += uint64(max(len(bits), len(blobs)))
	switch {
	case len(blobs) > 0:
		f.reply.Strings(m.Served.ID, m.Served.Desc.Type, insts, blobs)
	case len(bits) == 0:
		f.reply.Fail(m.Served.ID, 0)
	case insts == nil:
		f.reply.Number(m.Served.ID, m.Served.Desc.Type, bits[0])
	default:
		f.reply.Numbers(m.Served.ID, m.Served.Desc.Type, insts, bits)
	}
}

// selectedValues copies the selected values into scratch space.
func (f *fetch) selectedValues(v *derived.Vector, sel pdu.Selection) ([]pdu.Inst, []uint64, [][]byte) {
	f.insts, f.bits, f.blobs = f.insts[:0], f.bits[:0], f.blobs[:0]
	ids := v.Insts.IDs()
	f.selected = sel.AppendSelected(f.selected[:0], ids)
	for _, i := range f.selected {
		f.insts = append(f.insts, ids[i])
		if v.Type.Numeric() {
			f.bits = append(f.bits, v.Bits[i])
		} else {
			f.blobs = append(f.blobs, v.Blobs[i])
		}
	}
	return f.insts, f.bits, f.blobs
}

// finiteValues copies the finite values into scratch space. insts and bits may already be in it.
func (f *fetch) finiteValues(t pdu.Type, insts []pdu.Inst, bits []uint64) ([]pdu.Inst, []uint64) {
	f.insts, f.bits = f.insts[:0], f.bits[:0]
	for i, b := range bits {
		if !derived.Finite(t, b) {
			continue
		}
		f.bits = append(f.bits, b)
		if insts != nil {
			f.insts = append(f.insts, insts[i])
		}
	}
	if insts == nil {
		return nil, f.bits
	}
	return f.insts, f.bits
}

// finishFetch does the work that the reply need not wait for. Sampling starts here, since pmcd has no time for it
// before the reply. Counting touches much memory. Planning the next sample may wake a thread.
func (a *Agent) finishFetch() {
	f := &a.fetch
	c := f.context
	if c == nil {
		return
	}
	f.context = nil
	if len(c.series) > 0 {
		a.requestSamples(f, c)
	}
	a.countServed(c)
	if a.contexts.updateReaders(f.arrived, f.firstRead); f.firstRead {
		a.sampler.Wake()
	}
	if len(c.series) > 0 {
		a.upstream.Plan(&c.timer, c.predictor.RecordFetch(f.arrived, f.blocked), c.series)
	}
}

// requestSamples requests samples of the series that had none for this fetch. A client that fetches without pause
// requests the samples of its next fetch.
func (a *Agent) requestSamples(f *fetch, c *clientContext) {
	wanted, gap := f.wanted, freshness.MinAge
	if c.predictor.Quick() {
		wanted = c.series
		if !f.needsOlder { // delta() and rate() need each sample, others one that is as new as for other clients
			gap = freshness.Lead
		}
	}
	a.upstream.Want(f.arrived, freshness.Need{Gap: gap}, wanted...)
}

// countServed records the use of each metric that was served, and the age of the samples. Metrics that follow each
// other in the list have mostly the same sample: their ages are recorded together.
func (a *Agent) countServed(c *clientContext) {
	var sample *operand.Sample
	metrics := uint64(0) // served from sample
	record := func(next *operand.Sample) {
		if metrics > 0 {
			a.figures.SampleAge.Record(c.fetchedAt.Sub(sample.Taken), metrics)
		}
		sample, metrics = next, 0
	}
	for i := range c.places {
		p := &c.places[i]
		if p.value == nil {
			continue
		}
		*p.state.Why = p.value.Why
		finite := func(b uint64) bool { return derived.Finite(p.value.Type, b) }
		if !a.options.NonFinite && !p.value.Finite() && !slices.ContainsFunc(p.value.Bits, finite) {
			*p.state.Why = "computed, not served: not finite"
		}
		p.state.Usage.Fetched, p.state.Usage.Values, p.value = c.fetchedAt, p.value.Len(), nil
		p.state.Usage.Time += p.evaluationTime
		if len(p.history.Samples) == 0 { // made of constants alone
			continue
		}
		if p.history.Samples[0] != sample {
			record(p.history.Samples[0])
		}
		metrics++
	}
	record(nil)
}

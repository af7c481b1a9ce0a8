package agent

import (
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// Fetch implements pmda.Agent.
func (a *Agent) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	who := a.client(req.Client, req.Arrived)
	who.fetched = req.Arrived
	if who.ahead != nil {
		a.schedule.end(who.ahead)
		who.ahead = nil
	}
	a.clients[req.Client] = who
	snap := a.snapshot.Load()
	a.fetches++
	a.sampler.drain()
	v := a.views.of(snap, req, a.endView)
	a.advance(v, req)
	for i := range v.entries {
		a.serve(snap, req, &v.entries[i], w)
	}
	a.noteAges(req.Arrived)
	a.figures.Values.Add(a.values)
	a.values = 0
	return nil
}

// advance brings the histories of a view up to date, starts sampling what was not made for this fetch, and
// tells the scheduler when to expect the next fetch.
func (a *Agent) advance(v *view, req *pmda.FetchRequest) {
	if len(v.feeds) == 0 {
		return
	}
	a.ages.kind = v.plan.kind()
	history := a.takeSamples(v, req)
	a.views.bound(v, a.endView)
	wanted, gap := a.wanted, minGap
	if v.plan.quick() { // each fetch asks for the sample of the next one
		wanted = v.feeds
		if !history { // none is missed when it has become no older than for other clients
			gap = lead
		}
	}
	a.sampler.want(req.Arrived, need{gap: gap}, wanted...)
	a.schedule.fetched(&v.plan, req.Arrived, v.feeds)
}

// takeSamples moves the histories of a view on and leaves in a.wanted the feeds that should have had a
// newer sample. It reports whether a metric needs older samples, too. A panic is contained by the server:
// the lock must not stay behind.
func (a *Agent) takeSamples(v *view, req *pmda.FetchRequest) (history bool) {
	patience := v.patience(req.Arrived)
	a.wanted = a.wanted[:0]
	a.sampler.mu.Lock()
	defer a.sampler.mu.Unlock()
	for i := range v.entries {
		e := &v.entries[i]
		if e.feed == nil {
			continue
		}
		history = history || e.metric.History > 0
		e.advance(req.Arrived, patience, a.options.Interval, &a.views.held)
		if e.missed {
			a.wanted = append(a.wanted, e.feed)
		}
	}
	return history
}

// serve writes the value set of one metric.
func (a *Agent) serve(snap *snapshot, req *pmda.FetchRequest, e *entry, w *pdu.ResultWriter) {
	m := e.metric
	switch {
	case m == nil:
		a.serveOther(snap, req, e.id, w)
	case m.Derived == nil:
		w.Fail(e.id, m.Code())
	case m.Protected && !a.clients[req.Client].known:
		w.Fail(e.id, pdu.ErrPermission)
	case len(e.feed.descs) == 0: // made of constants alone
		a.write(m, a.evaluate(snap, a.constants(e), m.Derived), req, w)
	case e.stale:
		a.figures.Stale.Add(1)
		w.Fail(e.id, pdu.ErrAgain)
	case e.same && m.Derived.Needs().Adds: // it would count twice what it counted last time
		a.figures.Repeated.Add(1)
		w.Fail(e.id, 0)
	default:
		a.countAge(e.seen[0].Taken, req.Arrived)
		a.write(m, a.evaluate(snap, e.seen, m.Derived), req, w)
	}
}

// constants is the history of a metric made of constants alone: the same sample for ever.
func (a *Agent) constants(e *entry) []*operand.Sample {
	first := !e.asked
	e.asked = true
	if first && a.options.Interval == 0 {
		return a.constant[:1]
	}
	return a.constant
}

// ages counts the metrics of one fetch that are served from samples of the same moment.
type ages struct {
	kind    control.FetchKind
	taken   time.Time
	metrics uint64
}

// countAge counts a metric that is served from a sample of that moment.
func (a *Agent) countAge(taken, now time.Time) {
	if taken != a.ages.taken {
		a.noteAges(now)
		a.ages.taken = taken
	}
	a.ages.metrics++
}

// noteAges records how old the sample is that the last metrics were served from.
func (a *Agent) noteAges(now time.Time) {
	if a.ages.metrics > 0 {
		a.figures.SampleAge[a.ages.kind].Record(now.Sub(a.ages.taken), a.ages.metrics)
	}
	a.ages.metrics = 0
}

// serveOther answers for what is not a definition.
func (a *Agent) serveOther(snap *snapshot, req *pmda.FetchRequest, id pdu.PMID, w *pdu.ResultWriter) {
	if a.control.Fetch(id, req.Profile, req.Arrived, w) {
		return
	}
	if _, ok := snap.Retired[id]; ok {
		w.Fail(id, 0)
		return
	}
	w.Fail(id, pdu.ErrPMID)
}

// write puts the values that the profile selects into the reply.
func (a *Agent) write(m *metric, v *derived.Vector, req *pmda.FetchRequest, w *pdu.ResultWriter) {
	if v.Code < 0 {
		w.Fail(m.ID, v.Code)
		return
	}
	m.usage.fetched, m.usage.values = req.Arrived, v.Len()
	insts, bits, blobs := v.Insts.IDs(), v.Bits, v.Blobs
	if sel := req.Profile.Selects(m.Desc.InDom); !sel.All() {
		insts, bits, blobs = a.filter(v, sel)
	}
	if !a.options.NonFinite && !v.Finite() {
		insts, bits = a.finite(v.Type, insts, bits)
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
func (a *Agent) finite(t pdu.Type, insts []pdu.Inst, bits []uint64) ([]pdu.Inst, []uint64) {
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
func (a *Agent) filter(v *derived.Vector, sel pdu.Selection) ([]pdu.Inst, []uint64, [][]byte) {
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

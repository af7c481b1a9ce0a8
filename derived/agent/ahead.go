package agent

import (
	"slices"
	"sync"
	"time"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const (
	// maxAheadValues bounds how many values of operands are computed from ahead at once, for all contexts together: a
	// request that comes meanwhile waits for that, and so does what pmcd writes next on the connection.
	maxAheadValues = 20_000

	// maxForetold bounds for how many contexts is computed ahead. Those that have the same samples share what
	// is computed, foretold or not.
	maxForetold = 256

	// maxReady bounds how many replies are made ahead, of the larger ones: those with minReady values of operands
	// or more.
	maxReady = 8
	minReady = 100
)

// ahead computes what is foretold when its samples arrive, and makes the reply of it. Then the fetch need only
// be answered.
type ahead struct {
	mu       sync.Mutex // guards what follows, all views and evaluations; it is locked before the sampler's
	foretold []*view
	least    int // values of operands from which a reply is made
	made     int // replies, in views or spare
	spare    []*readyReply
	newest   []*operand.Sample // scratch space, like next
	next     []*operand.Sample
}

// readyReply is what a fetch will be answered with that is served from these samples.
type readyReply struct {
	sets    pdu.ResultWriter
	samples []*operand.Sample // of each entry of the view; nil: made of constants alone
	given   uint64            // as sampler.given
	names   *operand.NameSet
	oldest  time.Time   // when the oldest of the samples was taken
	indoms  []pdu.InDom // of all values
	values  uint64
	former  bool // made of a service that has been replaced
}

// settle waits until what is being served or computed has ended. No request handler may call it.
func (h *ahead) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
}

// expect notes when the next fetch of a view will come. Zero: nobody knows.
func (h *ahead) expect(v *view, expected time.Time) {
	switch known := !v.expected.IsZero(); {
	case !expected.IsZero() && !known:
		if len(h.foretold) == maxForetold {
			return
		}
		v.place = len(h.foretold)
		h.foretold = append(h.foretold, v)
	case expected.IsZero() && known:
		last := len(h.foretold) - 1
		h.foretold[v.place], h.foretold[last].place = h.foretold[last], v.place
		h.foretold[last] = nil
		h.foretold = h.foretold[:last]
	}
	v.expected = expected
}

// end forgets what was made for a view.
func (h *ahead) end(v *view) {
	h.expect(v, time.Time{})
	h.giveBack(v)
}

// reply returns memory for a reply, nil if there is none left.
func (h *ahead) reply() *readyReply {
	if n := len(h.spare); n > 0 {
		r := h.spare[n-1]
		h.spare = h.spare[:n-1]
		return r
	}
	if h.made == maxReady {
		return nil
	}
	h.made++
	return &readyReply{}
}

// giveBack takes the memory of a view's reply.
func (h *ahead) giveBack(v *view) {
	if r := v.ready; r != nil {
		clear(r.samples)
		v.ready, h.spare = nil, append(h.spare, r)
	}
}

// trim gives back memory for replies that nobody is foretold for.
func (h *ahead) trim() {
	if len(h.foretold) == 0 {
		h.made -= len(h.spare)
		h.spare = nil
	}
}

// prepare computes what is foretold, as far as its samples have arrived. It does nothing while a fetch is served,
// which does not wait for it then.
func (a *Agent) prepare() {
	if !a.ahead.mu.TryLock() {
		return
	}
	defer a.ahead.mu.Unlock()
	now, left := a.options.Now(), maxAheadValues
	for i := len(a.ahead.foretold) - 1; i >= 0; i-- {
		v := a.ahead.foretold[i]
		due := v.expected.Sub(now)
		switch {
		case due > maxLead+lead:
			continue
		case due >= -lead:
			values, given, arrived := a.arrived(v)
			if !arrived {
				continue
			}
			if values <= left {
				left -= values
				a.compute(v, values, given)
			}
		}
		a.ahead.expect(v, time.Time{})
	}
}

// arrived reports whether each feed of a view has a sample that was made for its next fetch, leaves those in
// a.ahead.newest, and tells how many values they have and how many samples there were until now.
func (a *Agent) arrived(v *view) (values int, given uint64, ok bool) {
	a.sampler.mu.Lock()
	defer a.sampler.mu.Unlock()
	a.ahead.newest = a.ahead.newest[:0]
	for i := range v.entries {
		var s *operand.Sample
		if f := v.entries[i].feed; f != nil && len(f.descs) > 0 {
			s = f.latest
			if s == nil || v.expected.Sub(s.Taken) > maxLead+lead || !s.Taken.After(v.used) {
				return 0, 0, false
			}
			values += f.values
		}
		a.ahead.newest = append(a.ahead.newest, s)
	}
	return values, a.sampler.given, true
}

// compute evaluates all metrics of a view from the samples in a.ahead.newest, and makes the reply if that is worth
// it and nothing unusual is in it. A panic is left to the fetch.
func (a *Agent) compute(v *view, values int, given uint64) {
	var r *readyReply
	defer func() {
		if p := recover(); p != nil {
			a.log.WithField("panic", p).Warn("not computed ahead")
			if r != nil {
				a.ahead.made--
			}
		}
	}()
	svc := a.service.Load()
	if v.service != svc {
		return
	}
	if values >= a.ahead.least {
		r = a.ahead.reply()
	}
	whole := r != nil
	if whole {
		r.begin(v, given, a.names.Now())
	}
	a.fetches++
	for i, s := range a.ahead.newest {
		e := &v.entries[i]
		value := a.foresee(svc, e, s)
		whole = whole && value != nil && a.servable(value) && r.add(e.metric, value, s)
	}
	clear(a.ahead.newest)
	clear(a.ahead.next)
	if r == nil {
		return
	}
	v.ready = r
	v.size = r.sets.SetsSize()
	if !whole {
		a.ahead.giveBack(v)
	}
}

// foresee computes the value of an entry that will be served from s. Nil: the fetch shows what becomes of it.
func (a *Agent) foresee(svc *service, e *entry, s *operand.Sample) *derived.Vector {
	m := e.metric
	switch {
	case m == nil || m.derived == nil || m.protected || e.feed == nil:
		return nil
	case s == nil:
		return a.evaluate(svc, a.constant, m.derived)
	}
	if a.ahead.next = e.next(a.ahead.next[:0], s); len(a.ahead.next) == 0 {
		return nil
	}
	return a.evaluate(svc, a.ahead.next, m.derived)
}

// next appends to dst what the history of the entry will be after a fetch that is served from s: nothing if it
// does not simply go on.
func (e *entry) next(dst []*operand.Sample, s *operand.Sample) []*operand.Sample {
	depth := e.metric.depth + 1
	switch {
	case depth == 1:
		return append(dst, s)
	case len(e.seen) > 0 && s.Continues(e.seen[0]) && s.At.After(e.seen[0].At):
		return append(append(dst, s), e.seen[:min(len(e.seen), depth-1)]...)
	}
	return dst
}

// begin starts a reply.
func (r *readyReply) begin(v *view, given uint64, names *operand.NameSet) {
	r.sets.Reset()
	r.sets.Expect(v.size)
	r.samples, r.indoms = r.samples[:0], r.indoms[:0]
	r.given, r.names, r.oldest, r.values, r.former = given, names, time.Time{}, 0, false
}

// add adds the value set of a metric. False: it is no ordinary one.
func (r *readyReply) add(m *metric, v *derived.Vector, s *operand.Sample) bool {
	if v.Code < 0 {
		return false
	}
	if d := m.desc.InDom; d != pdu.NoInDom && !slices.Contains(r.indoms, d) {
		r.indoms = append(r.indoms, d)
	}
	if s != nil && (r.oldest.IsZero() || s.Taken.Before(r.oldest)) {
		r.oldest = s.Taken
	}
	r.samples = append(r.samples, s)
	r.values += uint64(v.Len())
	m.usage.values = v.Len()
	put(&r.sets, m, v.Insts.IDs(), v.Bits, v.Blobs)
	return true
}

// answered is a view whose reply was made ahead. Its history is brought up to date when the reply is written.
type answered struct {
	view    *view
	arrived time.Time
}

// answer answers a fetch with the reply that was made ahead, if that is what the fetch would be answered with.
func (a *Agent) answer(v *view, req *pmda.FetchRequest, given uint64, w *pdu.ResultWriter) bool {
	r := v.ready
	switch {
	case r == nil:
		return false
	case r.former, r.given != given, r.names != a.names.Now(), req.Arrived.Sub(r.oldest) > missedAge,
		slices.ContainsFunc(r.indoms, func(d pdu.InDom) bool { sel := req.Profile.Selects(d); return !sel.All() }):
		a.ahead.giveBack(v)
		return false
	}
	w.Exchange(&r.sets)
	a.answered = answered{v, req.Arrived}
	return true
}

// catchUp does for a fetch that was answered from a ready reply what others do before they are answered.
func (a *Agent) catchUp() {
	v, arrived := a.answered.view, a.answered.arrived
	if v == nil {
		return
	}
	a.answered = answered{}
	a.ages.kind = v.plan.kind()
	for i, s := range v.ready.samples {
		e := &v.entries[i]
		e.metric.usage.fetched = arrived
		if s == nil {
			continue
		}
		e.stale, e.same, e.missed = false, false, false
		a.ahead.next = e.next(a.ahead.next[:0], s)
		e.seen = append(e.seen[:0], a.ahead.next...)
		a.countAge(s.Taken, arrived)
	}
	a.noteAges(arrived)
	clear(a.ahead.next)
	a.stats.values.Add(v.ready.values)
	a.ahead.giveBack(v)
	a.ahead.expect(v, a.schedule.fetched(&v.plan, arrived, v.feeds))
}

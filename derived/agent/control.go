package agent

import (
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// controlCluster is the cluster of our own metrics.
const controlCluster = 0

// The items of the metrics that can be stored.
const (
	controlReload = 0
	controlDebug  = 40
)

// control is one metric about the agent itself: a singular one has a number or a text, one over the
// definitions, files or limits a value for each, a histogram one for each bucket.
type control struct {
	item  int
	name  string // below derived.control
	typ   pdu.Type
	sem   pdu.Semantics
	units pdu.Units
	short string
	long  string

	number func(a *Agent, s *service) uint64 // as in derived.Vector.Bits; nil: not a number
	text   func(a *Agent) string
	each   func(a *Agent, m *metric, now time.Time) (string, uint64)
	file   func(s *service, f *file) (string, uint64)
	limit  func(a *Agent, s *service, l *limitMetric) uint64
	spread func(a *Agent, sum *Buckets)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// control finds the control metric of a PMID; nil if it is none.
func (a *Agent) control(id pdu.PMID) *control {
	if id.Domain() != a.options.Domain || id.Cluster() != controlCluster {
		return nil
	}
	i, ok := slices.BinarySearchFunc(controls, id.Item(), func(c control, item int) int { return c.item - item })
	if !ok {
		return nil
	}
	return &controls[i]
}

// controlEntries names the control metrics.
func controlEntries(domain int) []pmda.Entry {
	entries := make([]pmda.Entry, 0, len(controls))
	for _, c := range controls {
		entries = append(entries, pmda.Entry{Name: c.fullName(), PMID: pdu.NewPMID(domain, controlCluster, c.item)})
	}
	return entries
}

func (c *control) fullName() string { return Root + ".control." + c.name }

func (c *control) desc(id pdu.PMID) pdu.Desc {
	d := pdu.Desc{PMID: id, Type: c.typ, InDom: pdu.NoInDom, Sem: c.sem, Units: c.units}
	switch {
	case c.each != nil:
		d.InDom = definitionInDom(id.Domain())
	case c.spread != nil:
		d.InDom = bucketInDom(id.Domain())
	case c.file != nil:
		d.InDom = fileInDom(id.Domain())
	case c.limit != nil:
		d.InDom = limitInDom(id.Domain())
	}
	return d
}

// fetch writes the value set of a control metric.
func (c *control) fetch(a *Agent, s *service, req *pmda.FetchRequest, id pdu.PMID, w *pdu.ResultWriter) {
	a.insts, a.bits, a.blobs = a.insts[:0], a.bits[:0], a.blobs[:0]
	switch {
	case c.number != nil:
		a.bits = append(a.bits, c.number(a, s))
		w.Numbers(id, c.typ, nil, a.bits)
		return
	case c.text != nil:
		a.blobs = append(a.blobs, []byte(c.text(a)))
		w.Strings(id, c.typ, nil, a.blobs)
		return
	case c.spread != nil:
		c.fetchSpread(a, req, id, w)
		return
	}
	sel := req.Profile.Selects(c.desc(id).InDom)
	add := func(inst pdu.Inst, text string, number uint64) {
		switch {
		case c.typ == pdu.TypeString:
			a.blobs = append(a.blobs, []byte(text))
		case number == noNumber:
			return
		default:
			a.bits = append(a.bits, number)
		}
		a.insts = append(a.insts, inst)
	}
	switch {
	case c.file != nil:
		for i := range s.files {
			if f := &s.files[i]; sel.Includes(f.inst) {
				text, number := c.file(s, f)
				add(f.inst, text, number)
			}
		}
	case c.limit != nil:
		for i := range limitMetrics {
			if inst := pdu.Inst(i); sel.Includes(inst) {
				add(inst, "", c.limit(a, s, &limitMetrics[i]))
			}
		}
	default:
		for _, m := range s.metrics {
			if sel.Includes(m.inst) {
				text, number := c.each(a, m, req.Arrived)
				add(m.inst, text, number)
			}
		}
	}
	switch {
	case len(a.insts) == 0:
		w.Fail(id, 0)
	case c.typ == pdu.TypeString:
		w.Strings(id, c.typ, a.insts, a.blobs)
	default:
		w.Numbers(id, c.typ, a.insts, a.bits)
	}
}

// fetchSpread writes the value set of a histogram.
func (c *control) fetchSpread(a *Agent, req *pmda.FetchRequest, id pdu.PMID, w *pdu.ResultWriter) {
	var sum Buckets
	c.spread(a, &sum)
	sel := req.Profile.Selects(bucketInDom(id.Domain()))
	for i, n := range sum {
		if sel.Includes(pdu.Inst(i)) {
			a.insts, a.bits = append(a.insts, pdu.Inst(i)), append(a.bits, n)
		}
	}
	if len(a.insts) == 0 {
		w.Fail(id, 0)
		return
	}
	w.Numbers(id, c.typ, a.insts, a.bits)
}

// failed counts the definitions that are wrong, those aside that are among Config.Failures.
func (s *service) failed() int {
	n := 0
	for _, m := range s.metrics {
		if (m.state == stateFailed || m.state == stateKept) && !m.reported {
			n++
		}
	}
	return n
}

func (f *file) state() string {
	switch {
	case f.Error != "":
		return "unread"
	case f.Failed > 0:
		return "failed"
	}
	return "read"
}

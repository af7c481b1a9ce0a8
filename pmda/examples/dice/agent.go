package main

import (
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const minSides, maxSides = 2, 1000

// die is one instance.
type die struct {
	name   string
	every  time.Duration
	throws uint64 // since the start
	face   uint32
}

// agent implements pmda.Agent, pmda.Storer, pmda.Texter and pmda.Labeler, and by its name space
// pmda.Namer. The server calls its methods one after the other, so it needs no locks.
type agent struct {
	*pmda.Namespace
	domain  int
	start   time.Time
	random  func(n uint32) uint32 // 0 to n-1
	metrics []metric              // by item
	sides   uint32
	dice    []die         // by instance
	age     time.Duration // of the agent, at the last fetch

	insts []pdu.Inst // instances and values of one metric, reused by Fetch
	bits  []uint64
}

// newAgent returns the agent that was started at the time start. random returns a number from 0 to n-1.
func newAgent(domain int, start time.Time, random func(n uint32) uint32) (*agent, error) {
	a := &agent{
		domain:  domain,
		start:   start,
		random:  random,
		metrics: metricTable(),
		sides:   6,
		dice: []die{
			{name: "red", every: time.Second},
			{name: "green", every: 2 * time.Second},
			{name: "blue", every: 3 * time.Second},
		},
	}
	var entries []pmda.Entry
	for item := range a.metrics {
		m := &a.metrics[item]
		m.desc.PMID = pdu.NewPMID(domain, 0, item)
		m.desc.InDom = pdu.NoInDom
		if m.perDie {
			m.desc.InDom = a.inDom()
		}
		entries = append(entries, pmda.Entry{Name: root + "." + m.name, PMID: m.desc.PMID})
	}
	var err error
	if a.Namespace, err = pmda.NewNamespace(root, entries); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *agent) inDom() pdu.InDom { return pdu.NewInDom(a.domain, dieInDom) }

// metric returns the metric with a PMID, nil if there is none: pmcd may ask for any PMID of our domain.
func (a *agent) metric(id pdu.PMID) *metric {
	if id.Domain() != a.domain || id.Cluster() != 0 || id.Item() >= len(a.metrics) {
		return nil
	}
	return &a.metrics[id.Item()]
}

// Desc implements pmda.Agent.
func (a *agent) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	m := a.metric(id)
	if m == nil {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return m.desc, nil
}

// Instances implements pmda.Agent.
func (a *agent) Instances(_ pmda.Client, d pdu.InDom) ([]pdu.Instance, error) {
	if d != a.inDom() {
		return nil, pdu.ErrInDom
	}
	instances := make([]pdu.Instance, len(a.dice))
	for i, die := range a.dice {
		instances[i] = pdu.Instance{ID: pdu.Inst(i), Name: die.name}
	}
	return instances, nil
}

// Fetch implements pmda.Agent. All values of one fetch are those at the time of the request.
func (a *agent) Fetch(req *pmda.FetchRequest, w *pdu.ResultWriter) error {
	a.throw(req.Arrived)
	for _, id := range req.PMIDs {
		m := a.metric(id)
		switch {
		case m == nil:
			w.Fail(id, pdu.ErrPMID)
		case !m.perDie:
			w.Number(id, m.desc.Type, m.value(a, nil))
		default:
			a.insts, a.bits = a.insts[:0], a.bits[:0]
			for i := range a.dice {
				if inst := pdu.Inst(i); req.Profile.Includes(m.desc.InDom, inst) {
					a.insts = append(a.insts, inst)
					a.bits = append(a.bits, m.value(a, &a.dice[i]))
				}
			}
			w.Numbers(id, m.desc.Type, a.insts, a.bits)
		}
	}
	return nil
}

// throw throws the dice that are due. No client can see the throws between two fetches, so it makes only the last.
func (a *agent) throw(now time.Time) {
	a.age = max(now.Sub(a.start), 0)
	for i := range a.dice {
		d := &a.dice[i]
		if throws := uint64(a.age / d.every); throws > d.throws {
			d.throws, d.face = throws, 1+a.random(a.sides)
		}
	}
}

// Store implements pmda.Storer. It checks all values before it changes any. pmcd decides which clients may store, see
// [access] in pmcd.conf.
func (a *agent) Store(_ pmda.Client, sets []pdu.ValueSet) error {
	sides := a.sides
	for i := range sets {
		set := &sets[i]
		m := a.metric(set.PMID)
		switch {
		case m == nil:
			return pdu.ErrPMID
		case set.PMID.Item() != itemSides:
			return pdu.ErrPermission
		case len(set.Values) != 1:
			return pdu.ErrBadStore
		}
		value := &set.Values[0]
		n, ok := value.TypeOr(m.desc.Type).Uint64(value.Bits)
		if !ok || n < minSides || n > maxSides {
			return pdu.ErrBadStore
		}
		sides = uint32(n)
	}
	a.sides = sides
	return nil
}

// Text implements pmda.Texter.
func (a *agent) Text(_ pmda.Client, ident uint32, t pdu.TextType) (string, error) {
	if t&pdu.TextInDom != 0 {
		if pdu.InDom(ident) != a.inDom() {
			return "", pdu.ErrText
		}
		return dieText, nil
	}
	m := a.metric(pdu.PMID(ident))
	switch {
	case m == nil:
		return "", pdu.ErrText
	case t&pdu.TextOneLine != 0:
		return m.line, nil
	}
	return m.help, nil
}

// Labels implements pmda.Labeler: one label for the whole domain, as agents usually have.
func (a *agent) Labels(_ pmda.Client, _ uint32, t pdu.LabelType, _ *pdu.Profile) ([]pdu.LabelSet, error) {
	if t != pdu.LabelDomain {
		return nil, nil
	}
	own, err := pdu.NewLabelSet(pdu.NoInst, pdu.LabelDomain, map[string]any{"agent": root})
	if err != nil {
		return nil, err
	}
	return []pdu.LabelSet{own}, nil
}

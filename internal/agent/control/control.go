package control

import (
	"iter"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

const (
	// Cluster is the cluster of the PMIDs of derived.control.
	Cluster = 0

	root = "derived.control."
)

// The serials of our own instance domains.
const (
	definitionSerial = 0 // one instance for each definition
	bucketSerial     = 1 // one for each bucket of a histogram
	fileSerial       = 2 // one for each file of definitions
	// 3 was the limits'.
	agentSerial = 4 // one for each agent of operands
)

// inDom is one of the agent's own instance domains, except those of groups.
type inDom struct {
	short, long string
	instances   func() []pdu.Instance
}

// inDoms returns the instance domains by serial. A serial that is no longer used has no instances function. A new one
// gets the next serial, and a sequence in [Source].
func inDoms(s *Source) []inDom {
	return []inDom{
		definitionSerial: {
			"definitions of derived metrics", "One instance for each definition in the configuration files.",
			instanceLister(s.Definitions, func(d *Definition) pdu.Instance { return d.Instance }),
		},
		bucketSerial: {
			"classes of durations", "The name of an instance is the longest duration in its class, in milliseconds.",
			bucketInstances,
		},
		fileSerial: {
			"definition files", "One instance for each file, and for each path in the configuration that does not exist.",
			instanceLister(s.Files, func(f *File) pdu.Instance { return f.Instance }),
		},
		agentSerial: {
			"agents of operands",
			"One instance for each agent that serves operands. Its number is the domain. Its name is that of\n" +
				"pmcd.agent, or the number if pmcd does not tell.",
			instanceLister(s.Agents, func(a *Agent) pdu.Instance { return a.Instance }),
		},
	}
}

// instanceLister returns a function that lists the instances of all elements.
func instanceLister[T any](all iter.Seq[T], of func(T) pdu.Instance) func() []pdu.Instance {
	return func() (list []pdu.Instance) {
		for one := range all {
			list = append(list, of(one))
		}
		return list
	}
}

// Metrics answers requests about derived.control.*. It belongs to the goroutine of the request loop.
type Metrics struct {
	domain int
	byItem map[int]*Metric
	inDoms []inDom
	values Values // scratch space
}

// New returns the metrics of an agent with a domain.
func New(domain int, source *Source) *Metrics {
	all := Table(source)
	m := &Metrics{domain: domain, byItem: make(map[int]*Metric, len(all)), inDoms: inDoms(source)}
	for i := range all {
		m.byItem[all[i].Item] = &all[i]
	}
	return m
}

// Entries returns the entries of all metrics in the name space of the agent.
func Entries(domain int) []pmda.Entry {
	all := Table(&Source{Figures: &Figures{}})
	entries := make([]pmda.Entry, len(all))
	for i := range all {
		entries[i] = pmda.Entry{Name: all[i].FullName(), PMID: PMID(domain, all[i].Item)}
	}
	return entries
}

// PMID returns the PMID of a metric of derived.control.
func PMID(domain, item int) pdu.PMID { return pdu.NewPMID(domain, Cluster, item) }

// FullName returns the name in the PMNS.
func (m *Metric) FullName() string { return root + m.Name }

// OneLine returns the short help text.
func (m *Metric) OneLine() string {
	if m.Stored == "" {
		return m.Short
	}
	return m.Short + "; " + m.Stored
}

// Desc returns the descriptor of the metric in the agent's domain.
func (m *Metric) Desc(domain int) pdu.Desc {
	d := pdu.Desc{PMID: PMID(domain, m.Item), Type: m.Type, InDom: pdu.NoInDom, Sem: m.Sem, Units: m.Units}
	if m.Serial != Singular {
		d.InDom = pdu.NewInDom(domain, m.Serial)
	}
	return d
}

// find returns the metric with a PMID; nil: there is none.
func (m *Metrics) find(id pdu.PMID) *Metric {
	if id.Domain() != m.domain || id.Cluster() != Cluster {
		return nil
	}
	return m.byItem[id.Item()]
}

// findInDom returns one of inDoms; nil: d is none of them.
func (m *Metrics) findInDom(d pdu.InDom) *inDom {
	if serial := d.Serial(); d.Domain() == m.domain && serial < len(m.inDoms) && m.inDoms[serial].instances != nil {
		return &m.inDoms[serial]
	}
	return nil
}

// Desc returns the descriptor of a metric; false: there is no such metric.
func (m *Metrics) Desc(id pdu.PMID) (pdu.Desc, bool) {
	metric := m.find(id)
	if metric == nil {
		return pdu.Desc{}, false
	}
	return metric.Desc(m.domain), true
}

// Instances returns the instances of an instance domain; false: d is not one of inDoms.
func (m *Metrics) Instances(d pdu.InDom) ([]pdu.Instance, bool) {
	own := m.findInDom(d)
	if own == nil {
		return nil, false
	}
	return own.instances(), true
}

// Text returns a help text of a metric or, if t has pdu.TextInDom, of an instance domain; false: there is none with
// this identifier.
func (m *Metrics) Text(ident uint32, t pdu.TextType) (string, bool) {
	var short, long string
	if t&pdu.TextInDom != 0 {
		own := m.findInDom(pdu.InDom(ident))
		if own == nil {
			return "", false
		}
		short, long = own.short, own.long
	} else {
		metric := m.find(pdu.PMID(ident))
		if metric == nil {
			return "", false
		}
		short, long = metric.OneLine(), metric.Long
	}
	if t&pdu.TextOneLine != 0 || long == "" {
		return short, true
	}
	return long, true
}

// Fetch writes the value set of a metric for a request that arrived at now; false: there is no such metric.
func (m *Metrics) Fetch(id pdu.PMID, profile *pdu.Profile, now time.Time, w *pdu.ResultWriter) bool {
	metric := m.find(id)
	if metric == nil {
		return false
	}
	v := &m.values
	v.Reset()
	v.Now = now
	var insts []pdu.Inst
	if metric.Serial == Singular {
		metric.Fill(v)
	} else {
		v.selected = profile.Selects(pdu.NewInDom(m.domain, metric.Serial))
		metric.Fill(v)
		insts = v.Insts
	}
	switch {
	case len(v.Insts) == 0:
		w.Fail(id, 0)
	case metric.Type == pdu.TypeString:
		w.Strings(id, metric.Type, insts, v.Texts)
	default:
		w.Numbers(id, metric.Type, insts, v.Numbers)
	}
	return true
}

// CheckStore returns why a value cannot be stored, for any client; pdu.ErrPMID: there is no such metric.
func (m *Metrics) CheckStore(set *pdu.ValueSet) error {
	metric := m.find(set.PMID)
	switch {
	case metric == nil:
		return pdu.ErrPMID
	case metric.Stored == "":
		return pdu.ErrPermission
	case len(set.Values) != 1:
		return pdu.ErrBadStore
	case metric.Item == Debug && set.Values[0].Bits > 1:
		return pdu.ErrBadStore
	}
	return nil
}

// Package metadata decodes and keeps what archives say about metrics and instance domains in NAME.meta.
//
//	record           is kept           if there are several
//	descriptor       once              the first one counts, and a different one is reported
//	instance domain  by time: [InDom]  each counts from its time on
//	labels           by time: [Labels] each counts from its time on
//	text             once              the last one counts
//
// After [Metadata.Finish] nothing changes any more, and several goroutines may read it.
//
// Sources: LOGARCHIVE(5), docs/archives.md 3.
package metadata

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/logfile"
)

// The types of records of metadata.
const (
	typeDesc       = 1
	typeInDomV2    = 2
	typeLabelsV2   = 3
	typeText       = 4
	typeInDom      = 5
	typeInDomDelta = 6
	typeLabels     = 7
)

// Metadata is the metadata of all archives that are read as one. Its maps are for reading.
type Metadata struct {
	Descs  map[pdu.PMID]pdu.Desc
	Names  map[pdu.PMID][]string
	IDs    map[string]pdu.PMID
	Sorted []string // names
	InDoms map[pdu.InDom]*InDom
	Labels map[LabelKey][]Labels // by time
	Texts  map[TextKey]string

	interned map[string]string // names of instances, each once
}

// TextKey says which text of what.
type TextKey struct {
	Ident uint32
	Type  pdu.TextType
}

// LabelKey says which labels of what; Ident is 0 for those of the context.
type LabelKey struct {
	Ident uint32
	Type  pdu.LabelType
}

// Labels are the labels of one level from a time on.
type Labels struct {
	From time.Time
	Sets []pdu.LabelSet
}

func (l Labels) from() time.Time { return l.From }

// New makes metadata without records.
func New() *Metadata {
	return &Metadata{
		Descs: make(map[pdu.PMID]pdu.Desc), Names: make(map[pdu.PMID][]string), IDs: make(map[string]pdu.PMID),
		InDoms: make(map[pdu.InDom]*InDom), Labels: make(map[LabelKey][]Labels), Texts: make(map[TextKey]string),
		interned: make(map[string]string),
	}
}

// Add takes one record. What is wrong with it is returned.
func (m *Metadata) Add(f *logfile.Fields, version int) (wrong string) {
	kind := f.U32()
	switch {
	case kind == typeDesc:
		wrong = m.desc(f)
	case kind == typeInDomV2 && version == 2:
		m.instances(f, 2, false)
	case kind == typeInDom && version == 3, kind == typeInDomDelta && version == 3:
		m.instances(f, 3, kind == typeInDomDelta)
	case kind == typeLabelsV2 && version == 2, kind == typeLabels && version == 3:
		m.labels(f, version)
	case kind == typeText:
		key := TextKey{Type: pdu.TextType(f.U32())}
		key.Ident = f.U32()
		if text := f.Text(f.Left()); !f.Failed() {
			m.Texts[key] = text
		}
	default:
		return fmt.Sprintf("%d is not a valid type of a record in version %d", kind, version)
	}
	if f.Failed() {
		return fmt.Sprintf("the record of type %d is too short for its contents", kind)
	}
	return wrong
}

// desc takes the descriptor and the names of a metric.
func (m *Metadata) desc(f *logfile.Fields) (wrong string) {
	d := pdu.Desc{PMID: pdu.PMID(f.U32()), Type: pdu.Type(f.I32()), InDom: pdu.InDom(f.U32()), Sem: pdu.Semantics(f.I32()), Units: pdu.UnitsFromWire(f.U32())}
	names := make([]string, 0, 1)
	for range f.Count(4) {
		if name := string(f.Bytes(f.Count(1))); !f.Failed() {
			names = append(names, name)
		}
	}
	if f.Failed() {
		return ""
	}
	if known, ok := m.Descs[d.PMID]; !ok {
		m.Descs[d.PMID] = d
	} else if known != d {
		wrong = fmt.Sprintf("metric %v has another descriptor in an earlier record", d.PMID)
	}
	for _, name := range names {
		switch id, known := m.IDs[name]; {
		case !known:
			m.IDs[name] = d.PMID
			m.Names[d.PMID] = append(m.Names[d.PMID], name)
		case id != d.PMID:
			wrong = fmt.Sprintf("%s is the name of two metrics, %v and %v", name, id, d.PMID)
		}
	}
	return wrong
}

// labels takes the labels of one level from a time on.
func (m *Metadata) labels(f *logfile.Fields, version int) {
	t := f.Time(version)
	key := LabelKey{Type: pdu.LabelType(f.U32())}
	key.Ident = f.U32()
	if key.Type == pdu.LabelContext {
		key.Ident = 0
	}
	sets := make([]pdu.LabelSet, 0, 1)
	for range f.Count(12) {
		set := pdu.LabelSet{Inst: pdu.Inst(f.I32())}
		set.JSON = string(f.Bytes(f.Count(1)))
		n := int(f.I32())
		switch {
		case n < 0:
			set.Code, set.JSON = pdu.Code(n), ""
		case n > f.Left()/8:
			f.Fail()
		default:
			for range n {
				l := pdu.Label{NameOffset: f.U16(), NameLen: f.U8(), Flags: pdu.LabelFlags(f.U8()), ValueOffset: f.U16(), ValueLen: f.U16()}
				if max(int(l.NameOffset)+int(l.NameLen), int(l.ValueOffset)+int(l.ValueLen)) > len(set.JSON) {
					f.Fail()
				}
				set.Labels = append(set.Labels, l)
			}
		}
		if f.Failed() {
			return
		}
		sets = append(sets, set)
	}
	if !f.Failed() {
		m.Labels[key] = insert(m.Labels[key], Labels{t, sets}, Labels.from)
	}
}

// LabelsUntil is how many records of labels there are up to a time; the first one counts for what is before it, too.
func (m *Metadata) LabelsUntil(key LabelKey, t time.Time) int {
	return until(m.Labels[key], t, Labels.from)
}

// insert puts what is from a time on behind all that is from that time or before; most comes in order.
func insert[T any](list []T, one T, from func(T) time.Time) []T {
	i := len(list)
	for i > 0 && from(list[i-1]).After(from(one)) {
		i--
	}
	return slices.Insert(list, i, one)
}

// until is how many of a list, which is by time, are from t or before; at least the first one, which counts for what is before it, too.
func until[T any](list []T, t time.Time, from func(T) time.Time) int {
	return max(min(len(list), 1), sort.Search(len(list), func(i int) bool { return from(list[i]).After(t) }))
}

// Finish is called when all records have been taken.
func (m *Metadata) Finish() {
	m.Sorted = make([]string, 0, len(m.IDs))
	for name := range m.IDs {
		m.Sorted = append(m.Sorted, name)
	}
	slices.Sort(m.Sorted)
	for _, d := range m.InDoms {
		d.setLast()
	}
	m.interned = nil
}

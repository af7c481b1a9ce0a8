// Package metadata decodes and stores the records of NAME.meta: the descriptors, names, instances, labels and texts of
// archives.
//
//	record           is stored         if there are several
//	descriptor       once              the first one is used, and a different one is reported
//	instance domain  by time: [InDom]  each is valid from its time on
//	labels           by time: [Labels] each is valid from its time on
//	text             once              the last one is used
//
// # Records
//
// The first word of a record is its type. Times are as in package logfile. A length, an offset, a number and n have
// four bytes.
//
//	1     descriptor        PMID, type, instance domain, semantics, units, n; n × (length, name)
//	2, 5  instance domain   time, domain, n; n × number; n × offset; the names, each with a NUL
//	6     changes of one    as 5; the offset -1 means that the instance has gone; other instances stay
//	3, 7  labels            time, label type, ident, n; n × (instance, length, JSON, number of labels, labels)
//	4     text              text type, ident, text with a NUL
//
// 2 and 3 are of version 2 of archives, 5, 6 and 7 of version 3.
//
// After [Metadata.Finish] nothing changes, and several goroutines may read the metadata.
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

// Metadata is the metadata of all archives that are read as one. Users must not change its maps.
type Metadata struct {
	Descs  map[pdu.PMID]pdu.Desc
	Names  map[pdu.PMID][]string
	IDs    map[string]pdu.PMID // by name
	Sorted []string            // all names; set by Finish
	InDoms map[pdu.InDom]*InDom
	Labels map[LabelKey][]Labels // in the order of time
	Texts  map[TextKey]string

	interned map[string]string // names of instances, each once
}

// TextKey identifies a text. Ident is a PMID or an InDom, as Type says.
type TextKey struct {
	Ident uint32
	Type  pdu.TextType
}

// LabelKey identifies the labels of one thing, as in [pdu.LabelReq]. Ident is 0 for the labels of the context.
type LabelKey struct {
	Ident uint32
	Type  pdu.LabelType
}

// Labels are the labels of one thing that are valid from a time on.
type Labels struct {
	From time.Time
	Sets []pdu.LabelSet
}

func (l Labels) from() time.Time { return l.From }

// New returns metadata without records.
func New() *Metadata {
	return &Metadata{
		Descs: make(map[pdu.PMID]pdu.Desc), Names: make(map[pdu.PMID][]string), IDs: make(map[string]pdu.PMID),
		InDoms: make(map[pdu.InDom]*InDom), Labels: make(map[LabelKey][]Labels), Texts: make(map[TextKey]string),
		interned: make(map[string]string),
	}
}

// Add decodes one record of an archive of that version and stores it. It returns the fault of a wrong record,
// otherwise "".
func (m *Metadata) Add(f *logfile.Fields, version int) (wrong string) {
	kind := f.U32()
	switch {
	case kind == typeDesc:
		wrong = m.desc(f)
	case kind == typeInDomV2 && version == 2:
		wrong = m.instances(f, 2, false)
	case kind == typeInDom && version == 3, kind == typeInDomDelta && version == 3:
		wrong = m.instances(f, 3, kind == typeInDomDelta)
	case kind == typeLabelsV2 && version == 2, kind == typeLabels && version == 3:
		wrong = m.labels(f, version)
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

// desc adds the descriptor and the names of a metric.
func (m *Metadata) desc(f *logfile.Fields) (wrong string) {
	d := pdu.Desc{PMID: pdu.PMID(f.U32()), Type: pdu.Type(f.I32()), InDom: pdu.InDom(f.U32())}
	d.Sem, d.Units = pdu.Semantics(f.I32()), pdu.UnitsFromWire(f.U32())
	names := make([]string, 0, 1)
	for range f.Count(4) {
		if name := string(f.Bytes(f.Count(1))); !f.Failed() {
			names = append(names, name)
		}
	}
	if wrong = d.Fault(); f.Failed() || wrong != "" {
		return wrong
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

// labels adds the labels of one thing from a time on.
func (m *Metadata) labels(f *logfile.Fields, version int) (wrong string) {
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
				l := pdu.Label{NameOffset: f.U16(), NameLen: f.U8(), Flags: pdu.LabelFlags(f.U8())}
				l.ValueOffset, l.ValueLen = f.U16(), f.U16()
				if max(int(l.NameOffset)+int(l.NameLen), int(l.ValueOffset)+int(l.ValueLen)) > len(set.JSON) {
					f.Fail()
				}
				set.Labels = append(set.Labels, l)
			}
		}
		if wrong = set.Fault(); f.Failed() || wrong != "" {
			return wrong
		}
		sets = append(sets, set)
	}
	if !f.Failed() {
		m.Labels[key] = insert(m.Labels[key], Labels{t, sets}, Labels.from)
	}
	return ""
}

// LabelsUntil returns the number of elements of Labels[key] up to a time. It is at least 1 if there are any: the first
// one is used for earlier times, too.
func (m *Metadata) LabelsUntil(key LabelKey, t time.Time) int {
	return until(m.Labels[key], t, Labels.from)
}

// insert inserts one in a list in the order of time, after all elements of the same time. It searches from the end,
// because most records come in that order.
func insert[T any](list []T, one T, from func(T) time.Time) []T {
	i := len(list)
	for i > 0 && from(list[i-1]).After(from(one)) {
		i--
	}
	return slices.Insert(list, i, one)
}

// until returns the number of elements of a list that are not after t. The list is in the order of time. The number is
// at least 1 if there are any elements.
func until[T any](list []T, t time.Time, from func(T) time.Time) int {
	return max(min(len(list), 1), sort.Search(len(list), func(i int) bool { return from(list[i]).After(t) }))
}

// Finish is called once after the last Add.
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

package archive

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pmdaderived/pdu"
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

// textKey says which text of what.
type textKey struct {
	ident uint32
	t     pdu.TextType
}

// labelKey says which labels of what; ident is 0 for those of the context.
type labelKey struct {
	ident uint32
	t     pdu.LabelType
}

// labelSets are the labels of one level from a time on.
type labelSets struct {
	t    time.Time
	sets []pdu.LabelSet
}

// meta is the metadata of all archives.
type meta struct {
	descs    map[pdu.PMID]pdu.Desc
	names    map[pdu.PMID][]string
	ids      map[string]pdu.PMID
	sorted   []string // names
	indoms   map[pdu.InDom]*domain
	labels   map[labelKey][]labelSets // by time
	texts    map[textKey]string
	interned map[string]string // names of instances, each once
}

func newMeta() *meta {
	return &meta{
		descs: make(map[pdu.PMID]pdu.Desc), names: make(map[pdu.PMID][]string), ids: make(map[string]pdu.PMID),
		indoms: make(map[pdu.InDom]*domain), labels: make(map[labelKey][]labelSets), texts: make(map[textKey]string),
		interned: make(map[string]string),
	}
}

// read reads the records that follow the label of a file of metadata, and returns what is wrong with it. A record that is wrong costs itself,
// a length that is wrong all that follows.
func (m *meta) read(s *frames, version int) (damage []error) {
	for {
		at := s.off
		body, err := s.next()
		if errors.Is(err, io.EOF) {
			return damage
		}
		if err != nil {
			return append(damage, err)
		}
		if reason := m.record(&fields{b: body}, version); reason != "" {
			damage = append(damage, &DamageError{File: s.file.path, Offset: at, Reason: reason, Code: pdu.ErrLogRec})
			if len(damage) == maxDamage {
				return append(damage, &DamageError{File: s.file.path, Offset: s.off, Reason: "too much is wrong, the rest is not read", Code: pdu.ErrLogRec})
			}
		}
	}
}

// maxDamage is how many wrong records a file of metadata may have.
const maxDamage = 1000

// record takes one record. What is wrong with it is returned.
func (m *meta) record(f *fields, version int) (reason string) {
	kind := f.u32()
	switch {
	case kind == typeDesc:
		reason = m.desc(f)
	case kind == typeInDomV2 && version == 2:
		m.instances(f, 2, false)
	case kind == typeInDom && version == 3, kind == typeInDomDelta && version == 3:
		m.instances(f, 3, kind == typeInDomDelta)
	case kind == typeLabelsV2 && version == 2, kind == typeLabels && version == 3:
		m.labelRecord(f, version)
	case kind == typeText:
		key := textKey{t: pdu.TextType(f.u32())}
		key.ident = f.u32()
		if text := f.text(f.left()); !f.failed {
			m.texts[key] = text
		}
	default:
		return fmt.Sprintf("%d is not a valid type of a record in version %d", kind, version)
	}
	if f.failed {
		return fmt.Sprintf("the record, of type %d, is shorter than it says", kind)
	}
	return reason
}

// desc takes the descriptor and the names of a metric.
func (m *meta) desc(f *fields) (reason string) {
	d := pdu.Desc{PMID: pdu.PMID(f.u32()), Type: pdu.Type(f.i32()), InDom: pdu.InDom(f.u32()), Sem: pdu.Semantics(f.i32()), Units: pdu.UnitsFromWire(f.u32())}
	names := make([]string, 0, 1)
	for range f.count(4) {
		if name := string(f.take(f.count(1))); !f.failed {
			names = append(names, name)
		}
	}
	if f.failed {
		return ""
	}
	if known, ok := m.descs[d.PMID]; !ok {
		m.descs[d.PMID] = d
	} else if known != d {
		reason = fmt.Sprintf("metric %v was described otherwise before", d.PMID)
	}
	for _, name := range names {
		switch id, known := m.ids[name]; {
		case !known:
			m.ids[name] = d.PMID
			m.names[d.PMID] = append(m.names[d.PMID], name)
		case id != d.PMID:
			reason = fmt.Sprintf("%s is the name of metric %v and of %v", name, id, d.PMID)
		}
	}
	return reason
}

// labelRecord takes the labels of one level from a time on.
func (m *meta) labelRecord(f *fields, version int) {
	t := f.time(version)
	key := labelKey{t: pdu.LabelType(f.u32())}
	key.ident = f.u32()
	if key.t == pdu.LabelContext {
		key.ident = 0
	}
	sets := make([]pdu.LabelSet, 0, 1)
	for range f.count(12) {
		set := pdu.LabelSet{Inst: pdu.Inst(f.i32())}
		set.JSON = string(f.take(f.count(1)))
		n := int(f.i32())
		switch {
		case n < 0:
			set.Code, set.JSON = pdu.Code(n), ""
		case n > f.left()/8:
			f.failed = true
		default:
			for range n {
				l := pdu.Label{NameOffset: f.u16(), NameLen: f.u8(), Flags: pdu.LabelFlags(f.u8()), ValueOffset: f.u16(), ValueLen: f.u16()}
				if max(int(l.NameOffset)+int(l.NameLen), int(l.ValueOffset)+int(l.ValueLen)) > len(set.JSON) {
					f.failed = true
				}
				set.Labels = append(set.Labels, l)
			}
		}
		if f.failed {
			return
		}
		sets = append(sets, set)
	}
	if f.failed {
		return
	}
	m.labels[key] = insert(m.labels[key], labelSets{t, sets}, labelSets.time)
}

func (l labelSets) time() time.Time { return l.t }

// insert puts what is from a time on behind all that is from that time or before; most comes in order.
func insert[T any](list []T, one T, at func(T) time.Time) []T {
	i := len(list)
	for i > 0 && at(list[i-1]).After(at(one)) {
		i--
	}
	return slices.Insert(list, i, one)
}

// done is called when all has been read.
func (m *meta) done() {
	m.sorted = make([]string, 0, len(m.ids))
	for name := range m.ids {
		m.sorted = append(m.sorted, name)
	}
	slices.Sort(m.sorted)
	for _, d := range m.indoms {
		d.done()
	}
	m.interned = nil
}

package pdu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// LabelType is the level of labels: the kind of thing that they belong to (PM_LABEL_*). A request has exactly one
// bit. Source: docs/protocol.md 2.16, pmLookupLabels(3).
type LabelType uint32

// The label types.
const (
	LabelContext   LabelType = 1 // pmcd answers it itself, agents are not asked
	LabelDomain    LabelType = 2
	LabelInDom     LabelType = 4
	LabelCluster   LabelType = 8
	LabelItem      LabelType = 16
	LabelInstances LabelType = 32
)

// String returns the names, joined by "|".
func (t LabelType) String() string {
	return bitNames(uint32(t), "CONTEXT", "DOMAIN", "INDOM", "CLUSTER", "ITEM", "INSTANCES")
}

// MarshalText returns String's text, so that text logs and JSON logs agree.
func (t LabelType) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LabelReq asks for the labels of one level.
//
//	Sent    client → pmcd → agent; answered by LABEL
//	Body    ident, type
//	Source  docs/protocol.md 2.16
type LabelReq struct {
	// Ident depends on Type. It is any number for LabelContext, the domain number for LabelDomain (an agent
	// should not check it), an InDom for LabelInDom and LabelInstances, the PMID of any metric of
	// the cluster for LabelCluster, and a PMID for LabelItem.
	Ident uint32
	Type  LabelType
}

// Labels has label sets (LABEL): none, one, or for LabelInstances one for each instance that the
// profile selects.
//
//	Sent    agent → pmcd → client
//	Body    ident and type of the request, 0, n;
//	        n × (instance, number of labels or code, offset and length of the text,
//	        labels × (offset and length of the name, flags, offset and length of the value));
//	        the texts, end to end
//	Errors  counts, offsets or lengths below 0 or beyond the end; up to three bytes of pad may follow
//	Source  docs/protocol.md 2.17
type Labels struct {
	Ident uint32
	Type  LabelType
	Sets  []LabelSet

	labels []Label // the array of the labels of all sets after Decode
}

// LabelSet has the labels of one metric, instance or other thing (pmLabelSet). NewLabelSet makes one.
type LabelSet struct {
	Inst Inst // the instance with LabelInstances; otherwise NoInst
	Code Code // < 0: the reason why there are no labels

	// JSON is one compact object without nested objects, its members sorted by name; "" for no labels.
	// After Decode it is a copy, and the texts of all sets share one piece of memory.
	JSON string

	// Labels has the position of each label in JSON. After Decode the sets share an array of the message,
	// which the next Decode overwrites.
	Labels []Label
}

// Label is the position of one label in the JSON text of its set, in bytes (pmLabel).
type Label struct {
	NameOffset  uint16 // of the name without quotes
	NameLen     uint8
	Flags       LabelFlags
	ValueOffset uint16 // of the value, quotes included
	ValueLen    uint16
}

// LabelFlags is the sum of the LabelType of the level that a label comes from, and flags.
type LabelFlags uint8

// The flags.
const (
	LabelCompound LabelFlags = 0x40 // the name has dots, since it stands for nested objects: "a.b"
	LabelOptional LabelFlags = 0x80 // the label is a note, and not part of the identity of a series
)

// Name returns the name of a label of the set.
func (s *LabelSet) Name(l Label) string {
	return s.JSON[l.NameOffset : int(l.NameOffset)+int(l.NameLen)]
}

// Value returns the value of a label of the set as JSON, a string with its quotes.
func (s *LabelSet) Value(l Label) string {
	return s.JSON[l.ValueOffset : int(l.ValueOffset)+int(l.ValueLen)]
}

// Fault returns why PCP's tools do not take the set as valid; "": they do.
func (s *LabelSet) Fault() string {
	if len(s.Labels) <= MaxLabels && len(s.JSON) <= MaxLabelJSON {
		return ""
	}
	return fmt.Sprintf("a label set has more than %d labels or %d bytes", MaxLabels, MaxLabelJSON)
}

// NewLabelSet makes the label set of one thing at one level. Names are as [LegalName] has them: "a.b" is b
// inside a. Values are anything that encoding/json encodes, except objects. inst is NoInst except with
// LabelInstances. The error names the label with a wrong name or value. It wraps ErrTooBig if a name has more than
// MaxLabelName bytes, if there are more than MaxLabels labels, or if their text has more than MaxLabelJSON bytes.
func NewLabelSet(inst Inst, level LabelType, labels map[string]any) (LabelSet, error) {
	set := LabelSet{Inst: inst}
	if len(labels) == 0 {
		return set, nil
	}
	if len(labels) > MaxLabels {
		return LabelSet{}, fmt.Errorf("%d labels in a set, at most %d: %w", len(labels), MaxLabels, ErrTooBig)
	}
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		value, err := encodeLabel(name, labels[name])
		if err != nil {
			return LabelSet{}, err
		}
		l := newLabel(name, level, len(text))
		text = append(append(append(text, `,"`...), name...), `":`...)
		l.ValueOffset, l.ValueLen = uint16(len(text)), uint16(len(value))
		text = append(text, value...)
		if len(text) >= MaxLabelJSON {
			return LabelSet{}, fmt.Errorf("label %s: set above %d bytes: %w", name, MaxLabelJSON, ErrTooBig)
		}
		set.Labels = append(set.Labels, l)
	}
	text[0] = '{'
	set.JSON = string(append(text, '}'))
	return set, nil
}

// NameLabels makes one set for each instance, with the labels of these names, at least one. Their values are what
// appendValues appends for the name of the instance, in the order of names. The error is for a wrong label or a set
// that is too large, see NewLabelSet. The sets share the memory of their texts.
func NameLabels(names []string, all []Instance, appendValues func([]string, string) []string) ([]LabelSet, error) {
	n, size := len(names), len(`}`)
	order, before := make([]int, n), make([]string, n) // names by value, and the text before the value of each
	for k, label := range names {
		if err := checkLabel(label); err != nil {
			return nil, err
		}
		order[k], before[k] = k, `,"`+label+`":`
		size += len(before[k]) + len(`""`)
	}
	slices.SortFunc(order, func(x, y int) int { return strings.Compare(names[x], names[y]) })
	before[order[0]] = "{" + before[order[0]][1:]
	size *= len(all)
	for _, one := range all {
		size += len(one.Name)
	}
	sets, labels, text := make([]LabelSet, len(all)), make([]Label, 0, n*len(all)), make([]byte, 0, size)
	var values []string
	for i, one := range all {
		from := len(text)
		values = appendValues(values[:0], one.Name)
		for _, k := range order {
			l := newLabel(names[k], LabelInstances, len(text)-from)
			text = append(text, before[k]...)
			l.ValueOffset = uint16(len(text) - from)
			text = appendText(text, values[k])
			l.ValueLen = uint16(len(text) - from - int(l.ValueOffset))
			if len(text)-from >= MaxLabelJSON {
				return nil, fmt.Errorf("label %s: set above %d bytes: %w", names[k], MaxLabelJSON, ErrTooBig)
			}
			labels = append(labels, l)
		}
		text = append(text, '}')
		sets[i] = LabelSet{Inst: one.ID, Labels: labels[i*n : len(labels) : len(labels)]}
	}
	rest := string(text)
	for i := range sets {
		last := sets[i].Labels[n-1]
		end := int(last.ValueOffset) + int(last.ValueLen) + len("}")
		sets[i].JSON, rest = rest[:end], rest[end:]
	}
	return sets, nil
}

// newLabel returns a label whose name follows a separator and a quote in the text of its set. at is the offset of the
// separator.
func newLabel(name string, level LabelType, at int) Label {
	l := Label{NameOffset: uint16(at + len(`,"`)), NameLen: uint8(len(name)), Flags: LabelFlags(level)}
	if strings.Contains(name, ".") {
		l.Flags |= LabelCompound
	}
	return l
}

// encodeLabel checks the name of a label and returns its value as JSON.
func encodeLabel(name string, value any) ([]byte, error) {
	if err := checkLabel(name); err != nil {
		return nil, err
	}
	text, err := asJSON(value)
	if err != nil {
		return nil, fmt.Errorf("label %s: %w", name, err)
	}
	if text[0] == '{' {
		return nil, fmt.Errorf("label %s: nested, name what is inside %s.NAME", name, name)
	}
	return text, nil
}

// asJSON returns a value as JSON. It does not escape <, > and & as encoding/json does by default.
func asJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// ReservedLabel reports whether a label has a name under which pmproxy tells Prometheus the instance of each value: a
// label of that name would make one series of several instances.
func ReservedLabel(name string) bool { return name == "instname" || name == "instid" }

// checkLabel returns an error if name is not legal or too long for a label.
func checkLabel(name string) error {
	switch {
	case !LegalName(name):
		return fmt.Errorf("label %q: not a name", name)
	case len(name) > MaxLabelName:
		return fmt.Errorf("label %s: name above %d bytes: %w", name, MaxLabelName, ErrTooBig)
	}
	return nil
}

// appendText appends a string as JSON. Strings of printable ASCII, the usual ones, are not encoded by encoding/json.
func appendText(text []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := asJSON(s) // a string never fails
			return append(text, quoted...)
		}
	}
	return append(append(append(text, '"'), s...), '"')
}

// Kind returns KindLabelReq.
func (m *LabelReq) Kind() Kind { return KindLabelReq }

// Decode reads the body of a LABEL_REQ.
func (m *LabelReq) Decode(body []byte) error {
	c := cursor{kind: KindLabelReq, body: body}
	m.Ident = c.u32("ident")
	m.Type = LabelType(c.u32("type"))
	return c.done()
}

// Append appends the PDU.
func (m *LabelReq) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindLabelReq, from)
	e.u32(m.Ident)
	e.u32(uint32(m.Type))
	return e.withLength()
}

func (m *LabelReq) String() string { return labelIdent(m.Type, m.Ident) }

func labelIdent(t LabelType, ident uint32) string {
	switch t {
	case LabelInDom, LabelInstances:
		return items("indom", InDom(ident), "type", t)
	case LabelCluster, LabelItem:
		return items("pmid", PMID(ident), "type", t)
	}
	return items("ident", int32(ident), "type", t)
}

// Sizes of the parts of a LABEL, in bytes.
const (
	labelHead    = 16 // after the header, before the sets
	labelSetHead = 16
	labelSize    = 8
)

// Kind returns KindLabel.
func (m *Labels) Kind() Kind { return KindLabel }

// Decode reads the body of a LABEL.
func (m *Labels) Decode(body []byte) error {
	c := cursor{kind: KindLabel, body: body}
	m.Sets, m.labels = m.Sets[:0], m.labels[:0]
	m.Ident = c.u32("ident")
	m.Type = LabelType(c.u32("type"))
	c.skip(4, "padding")
	n := c.count("nsets", 0, labelSetHead)
	total, err := c.scanLabels(n)
	if err != nil {
		return err
	}
	m.Sets, m.labels = resized(m.Sets, n), resized(m.labels, total)
	texts := labelHead + n*labelSetHead + total*labelSize // offset of the texts in the body
	end, copied, rest := texts, string(body[texts:]), m.labels
	for i := range m.Sets {
		c.item = i
		set := &m.Sets[i]
		*set = LabelSet{Inst: Inst(c.i32("set[].inst"))}
		count := int(c.i32("set[].nlabels"))
		at := c.off
		begin := int(c.i32("set[].json")) - HeaderSize
		length := int(c.i32("set[].jsonlen"))
		switch {
		case length < 0 || length > MaxLabelJSON:
			c.fail(at+4, "set[].jsonlen", strconv.Itoa(length)+" bytes")
		case length > 0 && (begin != end || begin > len(body)-length):
			c.fail(at, "set[].json", "text of "+strconv.Itoa(length)+" bytes is not the next one")
		}
		if c.err != nil {
			break
		}
		if length > 0 {
			set.JSON = copied[begin-texts : begin-texts+length]
			end += length
		}
		if count < 0 {
			set.Code = Code(count)
			continue
		}
		if count > 0 {
			set.Labels, rest = rest[:count:count], rest[count:]
		}
		for j := range set.Labels {
			at := c.off
			l := Label{NameOffset: c.u16("set[].label.name"), NameLen: c.u8("set[].label.namelen")}
			l.Flags = LabelFlags(c.u8("set[].label.flags"))
			l.ValueOffset, l.ValueLen = c.u16("set[].label.value"), c.u16("set[].label.valuelen")
			if int(l.NameOffset)+int(l.NameLen) > length || int(l.ValueOffset)+int(l.ValueLen) > length {
				c.fail(at, "set[].label", "not in the set's text of "+strconv.Itoa(length)+" bytes")
			}
			set.Labels[j] = l
		}
	}
	c.skip(end-texts, "text")
	c.skip(min(c.left(), pad4(end)-end), "pad")
	return c.done()
}

// scanLabels returns the number of labels in n sets. If it returns no error, all sets are in the body. The
// receiver is a copy, so the caller's cursor does not move.
func (c cursor) scanLabels(n int) (total int, err error) {
	for i := range n {
		c.item = i
		c.skip(4, "set[].inst")
		at := c.off
		count := int(c.i32("set[].nlabels"))
		c.skip(8, "set[].json")
		if count > MaxLabels {
			c.fail(at, "set[].nlabels", strconv.Itoa(count)+" is above "+strconv.Itoa(MaxLabels))
		}
		if count = max(count, 0); c.err == nil {
			c.skip(labelSize*count, "set[].label")
			total += count
		}
	}
	c.off = len(c.body)
	return total, c.done()
}

// Append appends the PDU.
func (m *Labels) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindLabel, from)
	e.u32(m.Ident)
	e.u32(uint32(m.Type))
	e.i32(0)
	e.i32(int32(len(m.Sets)))
	text := HeaderSize + labelHead
	for i := range m.Sets {
		text += labelSetHead + labelSize*len(m.Sets[i].sent())
	}
	for i := range m.Sets {
		set := &m.Sets[i]
		labels := set.sent()
		count := int32(len(labels))
		if set.Code < 0 {
			count = int32(set.Code)
		}
		e.i32(int32(set.Inst))
		e.i32(count)
		e.i32(int32(text))
		e.i32(int32(len(set.JSON)))
		for _, l := range labels {
			e.u16(l.NameOffset)
			e.u8(l.NameLen)
			e.u8(uint8(l.Flags))
			e.u16(l.ValueOffset)
			e.u16(l.ValueLen)
		}
		text += len(set.JSON)
	}
	for i := range m.Sets {
		e.raw(m.Sets[i].JSON)
	}
	return e.withLength()
}

// sent returns the labels that Append writes: none for a set with a code.
func (s *LabelSet) sent() []Label {
	if s.Code < 0 {
		return nil
	}
	return s.Labels
}

func (m *Labels) String() string {
	return labelIdent(m.Type, m.Ident) + " " + items("sets", list(m.Sets, func(set LabelSet) string {
		if set.Code < 0 {
			return itoa(set.Inst) + ":" + set.Code.Name()
		}
		return itoa(set.Inst) + ":" + quoted(set.JSON)
	}))
}

package pdu

import "strconv"

// Kind is the type word of a PDU header. Source: docs/protocol.md 2.
type Kind uint32

// The kinds. 0x700b is retired; nobody sends KindControlReq.
const (
	KindError         Kind = 0x7000
	KindResult        Kind = 0x7001
	KindProfile       Kind = 0x7002
	KindFetch         Kind = 0x7003
	KindDescReq       Kind = 0x7004
	KindDesc          Kind = 0x7005
	KindInstanceReq   Kind = 0x7006
	KindInstance      Kind = 0x7007
	KindTextReq       Kind = 0x7008
	KindText          Kind = 0x7009
	KindControlReq    Kind = 0x700a
	KindCreds         Kind = 0x700c
	KindPMNSIDs       Kind = 0x700d
	KindPMNSNames     Kind = 0x700e
	KindPMNSChild     Kind = 0x700f
	KindPMNSTraverse  Kind = 0x7010
	KindAttr          Kind = 0x7011
	KindLabelReq      Kind = 0x7012
	KindLabel         Kind = 0x7013
	KindHighResFetch  Kind = 0x7014
	KindHighResResult Kind = 0x7015
	KindDescIDs       Kind = 0x7016
	KindDescs         Kind = 0x7017
)

// The range of type words that framing lets pass. Words inside it that are no Kind of ours are
// left to the receiver, who ignores them; words outside mean that the stream is not PDUs.
const (
	firstKind Kind = 0x7000
	lastKind  Kind = 0x70ff
)

// kinds has the name of each kind from firstKind on, and what makes a message of it, nil if there is none.
var kinds = [...]struct { //nolint:gochecknoglobals // a table
	name  string
	empty func() Message
}{
	KindError - firstKind:         {"ERROR", message[Error]},
	KindResult - firstKind:        {"RESULT", message[Result]},
	KindProfile - firstKind:       {"PROFILE", message[Profile]},
	KindFetch - firstKind:         {"FETCH", message[Fetch]},
	KindDescReq - firstKind:       {"DESC_REQ", message[DescReq]},
	KindDesc - firstKind:          {"DESC", message[DescReply]},
	KindInstanceReq - firstKind:   {"INSTANCE_REQ", message[InstanceReq]},
	KindInstance - firstKind:      {"INSTANCE", message[InstanceReply]},
	KindTextReq - firstKind:       {"TEXT_REQ", message[TextReq]},
	KindText - firstKind:          {"TEXT", message[Text]},
	KindControlReq - firstKind:    {"CONTROL_REQ", nil},
	KindCreds - firstKind:         {"CREDS", message[Creds]},
	KindPMNSIDs - firstKind:       {"PMNS_IDS", message[PMNSIDs]},
	KindPMNSNames - firstKind:     {"PMNS_NAMES", message[PMNSNames]},
	KindPMNSChild - firstKind:     {"PMNS_CHILD", message[PMNSChild]},
	KindPMNSTraverse - firstKind:  {"PMNS_TRAVERSE", message[PMNSTraverse]},
	KindAttr - firstKind:          {"ATTR", message[Attr]},
	KindLabelReq - firstKind:      {"LABEL_REQ", message[LabelReq]},
	KindLabel - firstKind:         {"LABEL", message[Labels]},
	KindHighResFetch - firstKind:  {"HIGHRES_FETCH", message[HighResFetch]},
	KindHighResResult - firstKind: {"HIGHRES_RESULT", message[HighResResult]},
	KindDescIDs - firstKind:       {"DESC_IDS", message[DescIDs]},
	KindDescs - firstKind:         {"DESCS", message[Descs]},
}

// about returns the row of kinds, an empty one for what is no kind.
func (k Kind) about() (name string, empty func() Message) {
	if i := int(k) - int(firstKind); i >= 0 && i < len(kinds) {
		return kinds[i].name, kinds[i].empty
	}
	return "", nil
}

// message returns an empty message of the type *M.
func message[M any, P interface {
	*M
	Message
}]() Message {
	return P(new(M))
}

// String gives the name without its PDU_ prefix.
func (k Kind) String() string {
	if name, _ := k.about(); name != "" {
		return name
	}
	return "Kind(0x" + strconv.FormatUint(uint64(k), 16) + ")"
}

// MarshalText makes text and JSON logs agree.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Message is the content of a PDU. Each type that implements it is one layout of the spec.
type Message interface {
	Kind() Kind

	// Decode reads the bytes after the header. Slices of the message keep their backing arrays;
	// what is borrowed from body is said at the type. After an error, which is a *DecodeError,
	// the content is unspecified.
	Decode(body []byte) error

	// Append appends the whole PDU, header included. from is 0, the number of a client or, in
	// CREDS, a process id.
	Append(dst []byte, from int32) []byte

	// String gives the content on one line, long lists abridged, secrets left out.
	String() string
}

// New returns an empty message of the kind, or nil if there is none.
func New(k Kind) Message {
	if _, empty := k.about(); empty != nil {
		return empty()
	}
	return nil
}

// Decode decodes a frame into a new message. A kind without a message is a *DecodeError too.
func Decode(f Frame) (Message, error) {
	m := New(f.Kind)
	if m == nil {
		return nil, &DecodeError{Kind: f.Kind, Field: "type", Offset: 4, Reason: "no such PDU"}
	}
	if err := m.Decode(f.Body); err != nil {
		return nil, err
	}
	return m, nil
}

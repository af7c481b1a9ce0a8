package pdu

import "strconv"

// Kind is the type word of a PDU header. Source: docs/protocol.md 2.
type Kind uint32

// The kinds. 0x700b is retired; KindControlReq is never sent.
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

// The range of type words that framing accepts. A word in it that is no Kind here is passed on: the
// receiver ignores the PDU. A word outside of it means that the bytes are no PDUs.
const (
	firstKind Kind = 0x7000
	lastKind  Kind = 0x70ff
)

// kinds has the name of each kind, and the function that makes an empty message of it, nil if there is none.
var kinds = map[Kind]struct { //nolint:gochecknoglobals // a table
	name  string
	empty func() Message
}{
	KindError:         {"ERROR", message[Error]},
	KindResult:        {"RESULT", message[Result]},
	KindProfile:       {"PROFILE", message[Profile]},
	KindFetch:         {"FETCH", message[Fetch]},
	KindDescReq:       {"DESC_REQ", message[DescReq]},
	KindDesc:          {"DESC", message[DescReply]},
	KindInstanceReq:   {"INSTANCE_REQ", message[InstanceReq]},
	KindInstance:      {"INSTANCE", message[InstanceReply]},
	KindTextReq:       {"TEXT_REQ", message[TextReq]},
	KindText:          {"TEXT", message[Text]},
	KindControlReq:    {"CONTROL_REQ", nil},
	KindCreds:         {"CREDS", message[Creds]},
	KindPMNSIDs:       {"PMNS_IDS", message[PMNSIDs]},
	KindPMNSNames:     {"PMNS_NAMES", message[PMNSNames]},
	KindPMNSChild:     {"PMNS_CHILD", message[PMNSChild]},
	KindPMNSTraverse:  {"PMNS_TRAVERSE", message[PMNSTraverse]},
	KindAttr:          {"ATTR", message[Attr]},
	KindLabelReq:      {"LABEL_REQ", message[LabelReq]},
	KindLabel:         {"LABEL", message[Labels]},
	KindHighResFetch:  {"HIGHRES_FETCH", message[HighResFetch]},
	KindHighResResult: {"HIGHRES_RESULT", message[HighResResult]},
	KindDescIDs:       {"DESC_IDS", message[DescIDs]},
	KindDescs:         {"DESCS", message[Descs]},
}

// message returns an empty message of the type *M.
func message[M any, P interface {
	*M
	Message
}]() Message {
	return P(new(M))
}

// String returns PCP's name without its PDU_ prefix: "PMNS_IDS".
func (k Kind) String() string {
	if kind, ok := kinds[k]; ok {
		return kind.name
	}
	return "Kind(0x" + strconv.FormatUint(uint64(k), 16) + ")"
}

// MarshalText returns String's text, so that text logs and JSON logs agree.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Message is the content of a PDU. Each type that implements it is one layout of docs/protocol.md.
// A message may be decoded again and again. It is for one goroutine at a time.
type Message interface {
	// Kind returns the type word of the PDU.
	Kind() Kind

	// Decode reads the bytes after the header. Slices of the message are overwritten: a receiver that
	// needs them after the next Decode copies them. The comment of a type names the fields that are
	// borrowed from body; all others are copies. The error is a *DecodeError. After one the content is
	// unspecified.
	Decode(body []byte) error

	// Append appends the whole PDU, header included, to dst and returns the longer slice. from is 0, the
	// number of a client or, in CREDS, a process id.
	Append(dst []byte, from int32) []byte

	// String returns the content on one line for logs. It shortens long lists and leaves out passwords.
	String() string
}

// New returns an empty message of the kind, or nil if there is none.
func New(k Kind) Message {
	if empty := kinds[k].empty; empty != nil {
		return empty()
	}
	return nil
}

// Decode decodes a frame into a new message. The error is a *DecodeError, for a kind without a message, too.
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

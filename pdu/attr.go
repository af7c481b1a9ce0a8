package pdu

import (
	"bytes"
	"strconv"
)

// Attribute says which property of a client an [Attr] has (PCP_ATTR_*). Source: docs/protocol.md 2.15.
type Attribute int32

// The attributes that have a use here; String has the names of all. An agent gets the ids of user, group and process,
// and the container.
const (
	AttrSASL      Attribute = 0 // payload of an authentication
	AttrUsername  Attribute = 5
	AttrPassword  Attribute = 7
	AttrUserID    Attribute = 11 // decimal
	AttrGroupID   Attribute = 12 // decimal
	AttrProcessID Attribute = 14 // decimal
	AttrContainer Attribute = 15 // name
)

// String returns the name as host specifications of PCPIntro(1) spell it.
func (a Attribute) String() string {
	return nameOf(a, "Attribute(%d)", "sasl", "protocol", "secure", "compress", "userauth", "username",
		"authname", "password", "method", "realm", "unixsock", "userid", "groupid", "local",
		"processid", "container", "exclusive")
}

// MarshalText returns String's text, so that text logs and JSON logs agree.
func (a Attribute) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// secret reports whether logs must not show the value.
func (a Attribute) secret() bool { return a == AttrSASL || a == AttrPassword }

// Attr is an attribute of a client and its value. PCP also calls this PDU AUTH.
//
//	Sent    pmcd → agent if its CREDS asked for it, never answered; client ↔ pmcd in the handshake
//	Body    attribute; value, not padded
//	Errors  a value above MaxAttrValue, or MaxSASLValue
//	Source  docs/protocol.md 2.15, 4.4, 5.4
type Attr struct {
	Attr  Attribute
	Value string // a copy; may hold any bytes
	NUL   bool   // a NUL follows the value: pmcd sends it to agents, clients do not send it
}

// Kind returns KindAttr.
func (m *Attr) Kind() Kind { return KindAttr }

// Decode reads the body of an ATTR. One NUL at the end is not part of the value.
func (m *Attr) Decode(body []byte) error {
	c := cursor{kind: KindAttr, body: body}
	m.Attr = Attribute(c.i32("attr"))
	limit := MaxAttrValue
	if m.Attr == AttrSASL {
		limit = MaxSASLValue
	}
	if c.left() > limit {
		c.fail(c.off, "value", strconv.Itoa(c.left())+" bytes are more than "+strconv.Itoa(limit))
	}
	var value []byte
	value, m.NUL = bytes.CutSuffix(c.bytes(c.left(), "value"), []byte{0})
	m.Value = string(value)
	return c.done()
}

// Append appends the PDU.
func (m *Attr) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindAttr, from)
	e.i32(int32(m.Attr))
	e.raw(m.Value)
	if m.NUL {
		e.u8(0)
	}
	return e.withLength()
}

func (m *Attr) String() string {
	if m.Attr.secret() {
		return items("attr", m.Attr, "bytes", len(m.Value))
	}
	return items("attr", m.Attr, "value", quoted(m.Value))
}

package pdu

// TextType says which text is wanted (TextOneLine or TextHelp) and whether it belongs to a metric or to an
// instance domain (TextPMID or TextInDom). Source: docs/protocol.md 2.11.
type TextType uint32

// The bits of a TextType.
const (
	TextOneLine TextType = 1 // decides when TextHelp is set as well
	TextHelp    TextType = 2
	TextPMID    TextType = 4
	TextInDom   TextType = 8
)

// String returns the names, joined by "|".
func (t TextType) String() string {
	return bitNames(uint32(t), "ONELINE", "HELP", "PMID", "INDOM")
}

// TextReq asks for the one-line or the help text of a metric or an instance domain.
//
//	Sent    client → pmcd → agent; answered by TEXT
//	Body    PMID or instance domain, type
//	Source  docs/protocol.md 2.11
type TextReq struct {
	Ident uint32 // PMID or InDom, as Type says
	Type  TextType
}

// Text is the one-line or the help text that a TextReq asked for.
//
//	Sent    agent → pmcd → client
//	Body    ident, length, text without NUL, pad
//	Errors  a length below 0 or beyond the end; the pad may be missing
//	Source  docs/protocol.md 2.11
type Text struct {
	Ident uint32 // to be ignored: stock agents send it in the byte order of their host
	Text  string // any bytes, usually UTF-8
}

// Kind returns KindTextReq.
func (m *TextReq) Kind() Kind { return KindTextReq }

// Decode reads the body of a TEXT_REQ.
func (m *TextReq) Decode(body []byte) error {
	c := cursor{kind: KindTextReq, body: body}
	m.Ident = c.u32("ident")
	m.Type = TextType(c.u32("type"))
	return c.done()
}

// Append appends the PDU.
func (m *TextReq) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindTextReq, from)
	e.u32(m.Ident)
	e.u32(uint32(m.Type))
	return e.withLength()
}

func (m *TextReq) String() string {
	if m.Type&TextInDom != 0 {
		return items("indom", InDom(m.Ident), "type", m.Type)
	}
	return items("pmid", PMID(m.Ident), "type", m.Type)
}

// Kind returns KindText.
func (m *Text) Kind() Kind { return KindText }

// Decode reads the body of a TEXT.
func (m *Text) Decode(body []byte) error {
	c := cursor{kind: KindText, body: body}
	m.Ident = c.u32("ident")
	m.Text = c.counted("buflen", "text")
	return c.done()
}

// Append appends the PDU.
func (m *Text) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindText, from)
	e.u32(m.Ident)
	e.text(m.Text)
	return e.withLength()
}

func (m *Text) String() string { return items("ident", hex32(m.Ident), "text", quoted(m.Text)) }

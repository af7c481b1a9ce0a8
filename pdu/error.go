package pdu

// Error is the answer to a request that fails, the only answer to a store, and a notice.
//
//	Sent    both ways: code below zero in place of a reply, 0 for a good store; pmcd → client
//	        before a RESULT: code above zero, a Change; pmcd → agent: ErrNotConn, the client is gone
//	Body    code; in the extended form also the challenge
//	Errors  any length but 16 and 20
//	Source  docs/protocol.md 2.1, 5.1, 5.7
type Error struct {
	Code Code

	// Extended marks the form with a challenge, the first PDU that pmcd sends to a client. Code has an
	// old numbering in this form: TranslateChallengeCode translates it.
	Extended  bool
	Challenge Challenge
}

// Challenge is the offer of pmcd to a new client: the version of the protocol and its features.
type Challenge struct {
	Version  uint8 // of the protocol, 7 bits; ProtocolVersion, or 0 when pmcd refuses the client
	Licensed uint8 // without meaning today
	Features Features
}

// TranslateChallengeCode returns today's number of the code of an extended Error, which still has the old numbers from
// -1000 down. It returns other codes unchanged. Source: XLATE_ERR_1TO2 of libpcp.
func TranslateChallengeCode(c Code) Code {
	const oldBase, shift = -1000, 11345
	if c <= oldBase && c > oldBase-shift {
		return c - shift
	}
	return c
}

// Kind returns KindError.
func (m *Error) Kind() Kind { return KindError }

// Decode reads the body of an ERROR.
func (m *Error) Decode(body []byte) error {
	c := cursor{kind: KindError, body: body}
	*m = Error{Code: Code(c.i32("code"))}
	if c.left() > 0 {
		m.Extended = true
		m.Challenge.Version = c.u8("challenge.version") & 0x7f
		m.Challenge.Licensed = c.u8("challenge.licensed")
		m.Challenge.Features = Features(c.u16("challenge.features"))
	}
	return c.done()
}

// Append appends the PDU, in the extended form if m.Extended is set.
func (m *Error) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindError, from)
	e.i32(int32(m.Code))
	if m.Extended {
		e.u8(m.Challenge.Version & 0x7f)
		e.u8(m.Challenge.Licensed)
		e.u16(uint16(m.Challenge.Features))
	}
	return e.withLength()
}

func (m *Error) String() string {
	switch {
	case m.Extended:
		code := TranslateChallengeCode(m.Code).Name()
		return items("code", code, "version", m.Challenge.Version, "features", m.Challenge.Features)
	case m.Code > 0:
		return items("change", Change(m.Code))
	}
	return items("code", m.Code.Name())
}

package pdu

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// ProtocolVersion is the version of the protocol in use.
const ProtocolVersion = 2

// Features is a set of abilities (PDU_FLAG_*). pmcd offers them in its challenge, and a client or an agent
// asks for them in CREDS. Source: docs/protocol.md 5.2, 4.2.
type Features uint16

// The features. FeatureLabels, FeatureHighRes and FeatureDescs say which requests pmcd knows. A client must not
// repeat these three in its CREDS.
const (
	FeatureSecure        Features = 0x001
	FeatureCompress      Features = 0x002 // retired
	FeatureAuth          Features = 0x004 // from an agent: send me ATTRs
	FeatureCredsRequired Features = 0x008
	FeatureSecureAck     Features = 0x010
	FeatureNoNSSInit     Features = 0x020 // never on the wire
	FeatureContainer     Features = 0x040 // from an agent: send me ATTRs
	FeatureCertRequired  Features = 0x080
	FeatureBadLabel      Features = 0x100 // never on the wire
	FeatureLabels        Features = 0x200
	FeatureHighRes       Features = 0x400
	FeatureDescs         Features = 0x800
)

// String returns the names, joined by "|", and "0" for none.
func (f Features) String() string {
	return bitNames(uint32(f), "SECURE", "COMPRESS", "AUTH", "CREDS_REQD", "SECURE_ACK", "NO_NSS_INIT",
		"CONTAINER", "CERT_REQD", "BAD_LABEL", "LABELS", "HIGHRES", "DESCS")
}

// MarshalText returns String's text, so that text logs and JSON logs agree.
func (f Features) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// nameOf returns names[n]. If that is missing or empty, it returns n in the format unnamed.
func nameOf[T ~int32 | ~uint8](n T, unnamed string, names ...string) string {
	if i := int(n); i >= 0 && i < len(names) && names[i] != "" {
		return names[i]
	}
	return fmt.Sprintf(unnamed, int(n))
}

// bitNames joins the names of the bits that are set with "|", the lowest bit first. Bits without a name follow as one
// hexadecimal number.
func bitNames(bits uint32, names ...string) string {
	if bits == 0 {
		return "0"
	}
	var set []string
	for i, name := range names {
		if bits&(1<<i) != 0 {
			set = append(set, name)
			bits &^= 1 << i
		}
	}
	if bits != 0 {
		set = append(set, "0x"+strconv.FormatUint(uint64(bits), 16))
	}
	return strings.Join(set, "|")
}

// Creds opens a connection: it names the version of the protocol and the features wanted.
//
//	Sent    client → pmcd after the challenge; agent → pmcd first of all, pmcd → agent in answer
//	Body    n, n × (type, version, features); stock programs send one, of type CVERSION
//	        from in the header is a process id
//	Errors  n outside 1..1024
//	Source  docs/protocol.md 2.2, 4.2, 5.1
type Creds struct {
	Version  uint8 // ProtocolVersion; 0 if no credential names one
	Features Features
}

// credVersion (CVERSION) is the only type of credential there is.
const credVersion = 1

// Kind returns KindCreds.
func (m *Creds) Kind() Kind { return KindCreds }

// Decode reads the body of a CREDS. The last credential that names a version counts.
func (m *Creds) Decode(body []byte) error {
	c := cursor{kind: KindCreds, body: body}
	*m = Creds{}
	n := c.count("numcreds", 1, 4)
	if n > maxCreds {
		c.fail(0, "numcreds", "more than "+strconv.Itoa(maxCreds))
	}
	for range n {
		b := c.bytes(4, "cred")
		if b != nil && b[0] == credVersion {
			*m = Creds{Version: b[1], Features: Features(binary.BigEndian.Uint16(b[2:]))}
		}
	}
	return c.done()
}

// Append appends the PDU, with one credential. from is the sender's process id.
func (m *Creds) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindCreds, from)
	e.i32(1)
	e.u8(credVersion)
	e.u8(m.Version)
	e.u16(uint16(m.Features))
	return e.withLength()
}

func (m *Creds) String() string { return items("version", m.Version, "features", m.Features) }

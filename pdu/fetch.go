package pdu

import "encoding/binary"

// Fetch asks for the values of metrics, limited to the instances that the context's [Profile] selects.
//
//	Sent    client → pmcd → agent; answered by RESULT
//	Body    context, 8 unused bytes, n, n × PMID
//	Errors  n below 1
//	Source  docs/protocol.md 2.6
type Fetch struct {
	Context ContextID
	PMIDs   []PMID // at least one; may repeat
}

// HighResFetch is a Fetch that asks for a time stamp in nanoseconds.
//
//	Sent    client → pmcd if it offers FeatureHighRes; answered by HIGHRES_RESULT
//	Source  docs/protocol.md 2.6
type HighResFetch Fetch

// Kind returns KindFetch.
func (m *Fetch) Kind() Kind { return KindFetch }

// Decode reads the body of a FETCH.
func (m *Fetch) Decode(body []byte) error { return m.decode(KindFetch, body) }

// Append appends the PDU. from is the number of the client, 0 from a client.
func (m *Fetch) Append(dst []byte, from int32) []byte { return m.encode(dst, KindFetch, from) }

func (m *Fetch) String() string {
	return items("ctxid", m.Context, "pmids", list(m.PMIDs, PMID.String))
}

// Kind returns KindHighResFetch.
func (m *HighResFetch) Kind() Kind { return KindHighResFetch }

// Decode reads the body of a HIGHRES_FETCH.
func (m *HighResFetch) Decode(body []byte) error { return (*Fetch)(m).decode(KindHighResFetch, body) }

// Append appends the PDU.
func (m *HighResFetch) Append(dst []byte, from int32) []byte {
	return (*Fetch)(m).encode(dst, KindHighResFetch, from)
}

func (m *HighResFetch) String() string { return (*Fetch)(m).String() }

func (m *Fetch) decode(k Kind, body []byte) error {
	c := cursor{kind: k, body: body}
	m.Context = ContextID(c.i32("ctxid"))
	c.skip(8, "unused")
	m.PMIDs = c.pmids(m.PMIDs, c.count("numpmid", 1, 4))
	return c.done()
}

func (m *Fetch) encode(dst []byte, k Kind, from int32) []byte {
	e := newEncoder(dst, k, from)
	e.i32(int32(m.Context))
	e.u64(0)
	e.pmids(m.PMIDs)
	return e.withLength()
}

// pmids reads n PMIDs into ids. The caller has compared n with the bytes that are left.
func (c *cursor) pmids(ids []PMID, n int) []PMID {
	b := c.bytes(4*n, "pmid[]")
	ids = resized(ids, len(b)/4)
	for i := range ids {
		if len(b) < 4 {
			break // never true; with it the compiler leaves out the bounds check of the read
		}
		ids[i] = PMID(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	return ids
}

// pmids writes the number of ids, then ids.
func (e *encoder) pmids(ids []PMID) {
	e.i32(int32(len(ids)))
	frame := e.frame
	for _, id := range ids {
		frame = binary.BigEndian.AppendUint32(frame, uint32(id))
	}
	e.frame = frame
}

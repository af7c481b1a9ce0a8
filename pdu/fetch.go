package pdu

import "encoding/binary"

// Fetch asks for the values of metrics, of the instances that the context's profile selects.
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
type HighResFetch struct {
	Context ContextID
	PMIDs   []PMID // at least one; may repeat
}

// Kind returns KindFetch.
func (m *Fetch) Kind() Kind { return KindFetch }

// Decode reads the body of a FETCH.
func (m *Fetch) Decode(body []byte) (err error) {
	m.Context, m.PMIDs, err = decodeFetch(KindFetch, body, m.PMIDs)
	return err
}

// Append appends the PDU.
func (m *Fetch) Append(dst []byte, from int32) []byte {
	return appendFetch(dst, KindFetch, from, m.Context, m.PMIDs)
}

func (m *Fetch) String() string { return traceFetch(m.Context, m.PMIDs) }

// Kind returns KindHighResFetch.
func (m *HighResFetch) Kind() Kind { return KindHighResFetch }

// Decode reads the body of a HIGHRES_FETCH.
func (m *HighResFetch) Decode(body []byte) (err error) {
	m.Context, m.PMIDs, err = decodeFetch(KindHighResFetch, body, m.PMIDs)
	return err
}

// Append appends the PDU.
func (m *HighResFetch) Append(dst []byte, from int32) []byte {
	return appendFetch(dst, KindHighResFetch, from, m.Context, m.PMIDs)
}

func (m *HighResFetch) String() string { return traceFetch(m.Context, m.PMIDs) }

func decodeFetch(k Kind, body []byte, ids []PMID) (ContextID, []PMID, error) {
	c := cursor{kind: k, body: body}
	ctx := ContextID(c.i32("ctxid"))
	c.skip(8, "unused")
	n := c.count("numpmid", 1, 4)
	ids = c.pmids(ids, n)
	return ctx, ids, c.done()
}

func appendFetch(dst []byte, k Kind, from int32, ctx ContextID, ids []PMID) []byte {
	start := len(dst)
	dst = appendHeader(dst, k, from)
	dst = appendI32(dst, int32(ctx))
	dst = appendU64(dst, 0)
	dst = appendPMIDs(dst, ids)
	return endFrame(dst, start)
}

func traceFetch(ctx ContextID, ids []PMID) string {
	return items("ctxid", ctx, "pmids", list(ids, PMID.String))
}

// pmids reads n PMIDs into ids; n has been compared with what is left.
func (c *cursor) pmids(ids []PMID, n int) []PMID {
	b := c.take(4*n, "pmid[]")
	ids = resized(ids, len(b)/4)
	for i := range ids {
		if len(b) < 4 {
			break // never: this spares the read its check
		}
		ids[i] = PMID(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	return ids
}

// appendPMIDs appends the number of ids and ids.
func appendPMIDs(dst []byte, ids []PMID) []byte {
	dst = appendI32(dst, int32(len(ids)))
	for _, id := range ids {
		dst = appendU32(dst, uint32(id))
	}
	return dst
}

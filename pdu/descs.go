package pdu

import "encoding/binary"

// DescReq asks for the descriptor of a metric.
//
//	Sent    client → pmcd → agent; answered by DESC
//	Body    PMID
//	Source  docs/protocol.md 2.7
type DescReq struct{ PMID PMID }

// DescReply is a descriptor (DESC).
//
//	Sent    agent → pmcd → client
//	Body    PMID, type, instance domain, semantics, units
//	Source  docs/protocol.md 2.7
type DescReply struct{ Desc Desc }

// DescIDs asks for the descriptors of many metrics.
//
//	Sent    client → pmcd if it offers FeatureDescs; answered by DESCS
//	Body    -1, n, n × PMID
//	Errors  n below 1, another first word
//	Source  docs/protocol.md 2.8
type DescIDs struct{ PMIDs []PMID }

// Descs has one descriptor for each metric of a DescIDs, in its order. A metric without a descriptor has one with
// NoPMID. The protocol does not send the reason: a DescReq for that metric returns it.
//
//	Sent    pmcd → client
//	Body    n, n × descriptor as in DESC
//	Errors  n below 1
//	Source  docs/protocol.md 2.8
type Descs struct{ Descs []Desc }

// descSize is the size of a descriptor in bytes.
const descSize = 20

// Kind returns KindDescReq.
func (m *DescReq) Kind() Kind { return KindDescReq }

// Decode reads the body of a DESC_REQ.
func (m *DescReq) Decode(body []byte) error {
	c := cursor{kind: KindDescReq, body: body}
	m.PMID = PMID(c.u32("pmid"))
	return c.done()
}

// Append appends the PDU.
func (m *DescReq) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindDescReq, from)
	e.u32(uint32(m.PMID))
	return e.withLength()
}

func (m *DescReq) String() string { return items("pmid", m.PMID) }

// Kind returns KindDesc.
func (m *DescReply) Kind() Kind { return KindDesc }

// Decode reads the body of a DESC.
func (m *DescReply) Decode(body []byte) error {
	c := cursor{kind: KindDesc, body: body}
	m.Desc = c.desc("desc")
	return c.done()
}

// Append appends the PDU.
func (m *DescReply) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindDesc, from)
	e.desc(m.Desc)
	return e.withLength()
}

func (m *DescReply) String() string {
	d := m.Desc
	return items("pmid", d.PMID, "type", d.Type, "indom", d.InDom, "sem", d.Sem, "units", hex32(d.Units.Wire()))
}

// Kind returns KindDescIDs.
func (m *DescIDs) Kind() Kind { return KindDescIDs }

// Decode reads the body of a DESC_IDS.
func (m *DescIDs) Decode(body []byte) error {
	c := cursor{kind: KindDescIDs, body: body}
	if sts := c.i32("sts"); sts != -1 {
		c.fail(0, "sts", "not -1")
	}
	n := c.count("numids", 1, 4)
	m.PMIDs = c.pmids(m.PMIDs, n)
	return c.done()
}

// Append appends the PDU.
func (m *DescIDs) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindDescIDs, from)
	e.i32(-1)
	e.pmids(m.PMIDs)
	return e.withLength()
}

func (m *DescIDs) String() string { return items("pmids", list(m.PMIDs, PMID.String)) }

// Kind returns KindDescs.
func (m *Descs) Kind() Kind { return KindDescs }

// Decode reads the body of a DESCS.
func (m *Descs) Decode(body []byte) error {
	c := cursor{kind: KindDescs, body: body}
	m.Descs = resized(m.Descs, c.count("numdescs", 1, descSize))
	for i := range m.Descs {
		c.item = i
		m.Descs[i] = c.desc("desc[]")
	}
	return c.done()
}

// Append appends the PDU.
func (m *Descs) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindDescs, from)
	e.i32(int32(len(m.Descs)))
	for _, d := range m.Descs {
		e.desc(d)
	}
	return e.withLength()
}

func (m *Descs) String() string {
	return items("descs", list(m.Descs, func(d Desc) string { return d.PMID.String() + ":" + d.Type.String() }))
}

// desc reads a descriptor.
func (c *cursor) desc(field string) Desc {
	b := c.bytes(descSize, field)
	if b == nil {
		return Desc{}
	}
	return Desc{
		PMID:  PMID(binary.BigEndian.Uint32(b)),
		Type:  Type(binary.BigEndian.Uint32(b[4:])),
		InDom: InDom(binary.BigEndian.Uint32(b[8:])),
		Sem:   Semantics(binary.BigEndian.Uint32(b[12:])),
		Units: UnitsFromWire(binary.BigEndian.Uint32(b[16:])),
	}
}

func (e *encoder) desc(d Desc) {
	e.u32(uint32(d.PMID))
	e.i32(int32(d.Type))
	e.u32(uint32(d.InDom))
	e.i32(int32(d.Sem))
	e.u32(d.Units.Wire())
}

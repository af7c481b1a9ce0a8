package pdu

// InstanceReq asks for members of an instance domain. It has three forms: all of them (Inst is NoInst, no
// Name), the name of Inst (no Name), or the number of Name (Inst is NoInst).
//
//	Sent    client → pmcd → agent; answered by INSTANCE
//	Body    instance domain, 8 unused bytes, instance, length, name, pad
//	Errors  length below 0 or beyond the end; the pad may be missing
//	Source  docs/protocol.md 2.9
type InstanceReq struct {
	InDom InDom
	Inst  Inst
	Name  string // a copy
}

// InstanceReply has the members asked for (INSTANCE). For a whole domain each has its number and its
// name. For one number it is one member with NoInst and the name, for one name one member with
// the number and no name.
//
//	Sent    agent → pmcd → client
//	Body    instance domain, n, n × (instance, length, name, pad)
//	Errors  n or a length below 0 or beyond the end; the last pad may be missing
//	Source  docs/protocol.md 2.10
type InstanceReply struct {
	InDom InDom

	// Instances has copies of the names. They share one piece of memory: use strings.Clone for a name that
	// is stored longer than the others.
	Instances []Instance
}

// Kind returns KindInstanceReq.
func (m *InstanceReq) Kind() Kind { return KindInstanceReq }

// Decode reads the body of an INSTANCE_REQ.
func (m *InstanceReq) Decode(body []byte) error {
	c := cursor{kind: KindInstanceReq, body: body}
	m.InDom = InDom(c.u32("indom"))
	c.skip(8, "unused")
	m.Inst = Inst(c.i32("inst"))
	m.Name = c.counted("namelen", "name")
	return c.done()
}

// Append appends the PDU.
func (m *InstanceReq) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindInstanceReq, from)
	e.u32(uint32(m.InDom))
	e.u64(0)
	e.i32(int32(m.Inst))
	e.text(m.Name)
	return e.withLength()
}

func (m *InstanceReq) String() string {
	return items("indom", m.InDom, "inst", m.Inst, "name", quoted(m.Name))
}

// Kind returns KindInstance.
func (m *InstanceReply) Kind() Kind { return KindInstance }

// Decode reads the body of an INSTANCE.
func (m *InstanceReply) Decode(body []byte) error {
	c := cursor{kind: KindInstance, body: body}
	m.InDom = InDom(c.u32("indom"))
	m.Instances = resized(m.Instances, c.count("numinst", 0, 8))
	text := c.copyRest(len(m.Instances))
	for i := range m.Instances {
		c.item = i
		m.Instances[i].ID = Inst(c.i32("inst[].id"))
		n := c.count("inst[].namelen", 0, 1)
		m.Instances[i].Name = c.sharedText(text, n, "inst[].name")
	}
	return c.done()
}

// Append appends the PDU.
func (m *InstanceReply) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindInstance, from)
	e.u32(uint32(m.InDom))
	e.i32(int32(len(m.Instances)))
	for _, in := range m.Instances {
		e.i32(int32(in.ID))
		e.text(in.Name)
	}
	return e.withLength()
}

func (m *InstanceReply) String() string {
	return items("indom", m.InDom, "instances", list(m.Instances, func(in Instance) string {
		return itoa(in.ID) + ":" + quoted(in.Name)
	}))
}

// copyRest returns a copy of the rest of the body, from the cursor on. sharedText returns parts of the copy as the
// texts of n items, so all of them cost one allocation. If n is 0, there is no copy.
func (c *cursor) copyRest(n int) string {
	if n == 0 {
		return ""
	}
	return string(c.body[c.off:])
}

// sharedText reads a text of n bytes and its padding, and returns the part of copied that has the text. copied is
// from copyRest.
func (c *cursor) sharedText(copied string, n int, field string) string {
	at := c.off - (len(c.body) - len(copied))
	if c.text(n, field); c.err != nil || n == 0 {
		return ""
	}
	return copied[at : at+n]
}

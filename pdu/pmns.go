package pdu

import (
	"strconv"
	"strings"
)

// PMNSNames is a list of metric names: a request for their PMIDs, or an answer with names.
//
//	Sent    client → pmcd: look up names; pmcd → agent: look up one name; answered by PMNS_IDS.
//	        agent → pmcd → client: answer to PMNS_IDS (all full names of a metric), to
//	        PMNS_CHILD (the next component only), to PMNS_TRAVERSE (full names of leaves)
//	Body    sum of (length+1), number of statuses, n; n × ([status,] length, name, pad)
//	Errors  counts or lengths below 0 or beyond the end; the last pad may be missing
//	Source  docs/protocol.md 2.12
type PMNSNames struct {
	// Names has copies that share one piece of memory: use strings.Clone for a name that is stored longer
	// than the others.
	Names []string

	// Status is empty, or has StatusLeaf or StatusNonLeaf for each name. If it is shorter than Names and not
	// empty, the rest is sent as StatusLeaf.
	Status []int32

	// Code below zero is sent in place of the names. pmcd does so when the agent of a subtree answered
	// PMNS_CHILD with an error.
	Code Code
}

// The statuses of a name (PMNS_LEAF_STATUS, PMNS_NONLEAF_STATUS).
const (
	StatusLeaf    int32 = 0
	StatusNonLeaf int32 = 1
)

// PMNSIDs is a list of PMIDs: a request for the names of one metric, or the answer to a PMNSNames.
//
//	Sent    client → pmcd → agent: the names of one metric, answered by PMNS_NAMES;
//	        agent → pmcd → client: answer to PMNS_NAMES
//	Body    status, n, n × PMID
//	Errors  n below 1
//	Source  docs/protocol.md 2.13
type PMNSIDs struct {
	// Status is 0 in a request. In pmcd's answer it is the number of resolved names, in an agent's
	// it is 0 or a code.
	Status int32
	PMIDs  []PMID // at least one; NoPMID for a name that is not resolved
}

// PMNSChild asks for the children of a node of the name space. The answer has their last components only.
//
//	Sent    client → pmcd → agent; answered by PMNS_NAMES
//	Body    1 with statuses, 0 without; length, name, pad
//	Errors  a length below 0 or beyond the end; the pad may be missing
//	Source  docs/protocol.md 2.14
type PMNSChild struct {
	WithStatus bool   // the answer has StatusLeaf or StatusNonLeaf for each child
	Name       string // of the node; "" is the root
}

// PMNSTraverse asks for the full names of all leaves at or below a node of the name space. Name is the node, "" the
// root.
//
//	Sent    client → pmcd → agent; answered by PMNS_NAMES
//	Body    0; length, name, pad
//	Errors  a length below 0 or beyond the end; the pad may be missing
//	Source  docs/protocol.md 2.14
type PMNSTraverse struct{ Name string }

// LegalName reports whether a metric or a label may have the name. A name is one or more components with dots between
// them. A component begins with a letter and has letters, digits and underscores. Source: docs/protocol.md 3.6.
func LegalName(name string) bool {
	first := true
	for i := range len(name) {
		b := name[i]
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		switch {
		case letter:
			first = false
		case first:
			return false
		case b == '.':
			first = true
		case b != '_' && (b < '0' || b > '9'):
			return false
		}
	}
	return !first
}

// AtOrBelow reports whether a name is a node of the name space, or below it.
func AtOrBelow(name, node string) bool {
	rest, ok := strings.CutPrefix(name, node)
	return ok && (rest == "" || rest[0] == '.')
}

// Kind returns KindPMNSNames.
func (m *PMNSNames) Kind() Kind { return KindPMNSNames }

// Decode reads the body of a PMNS_NAMES.
func (m *PMNSNames) Decode(body []byte) error {
	c := cursor{kind: KindPMNSNames, body: body}
	announced := int(c.i32("nstrbytes"))
	statuses := int(c.i32("numstatus"))
	numnames := c.i32("numnames")
	m.Names, m.Status, m.Code = m.Names[:0], m.Status[:0], 0
	if numnames < 0 {
		m.Code = Code(numnames)
		return c.done()
	}
	n, size := int(numnames), 4
	if statuses != 0 {
		size = 8
	}
	switch {
	case statuses != 0 && statuses != n:
		c.fail(4, "numstatus", "neither 0 nor numnames")
	case n > c.left()/size:
		c.fail(8, "numnames", strconv.Itoa(n)+" names do not fit "+strconv.Itoa(c.left())+" bytes")
	}
	if c.err != nil {
		return c.done()
	}
	m.Names = resized(m.Names, n)
	m.Status = resized(m.Status, statuses)
	text := c.copyRest(n)
	sum := 0
	for i := range m.Names {
		c.item = i
		if statuses != 0 {
			m.Status[i] = c.i32("name[].status")
		}
		n := c.count("name[].namelen", 0, 1)
		m.Names[i] = c.sharedText(text, n, "name[].name")
		sum += n + 1
	}
	if sum > announced {
		c.fail(0, "nstrbytes", strconv.Itoa(announced)+" is less than the names' "+strconv.Itoa(sum))
	}
	return c.done()
}

// Append appends the PDU. A Code below zero is sent in place of the names.
func (m *PMNSNames) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindPMNSNames, from)
	if m.Code < 0 {
		e.u64(0)
		e.i32(int32(m.Code))
		return e.withLength()
	}
	sum, statuses := 0, 0
	for _, name := range m.Names {
		sum += len(name) + 1
	}
	if len(m.Status) > 0 {
		statuses = len(m.Names)
	}
	e.i32(int32(sum))
	e.i32(int32(statuses))
	e.i32(int32(len(m.Names)))
	for i, name := range m.Names {
		switch {
		case i < len(m.Status):
			e.i32(m.Status[i])
		case statuses > 0:
			e.i32(StatusLeaf)
		}
		e.text(name)
	}
	return e.withLength()
}

func (m *PMNSNames) String() string {
	if m.Code < 0 {
		return items("code", m.Code.Name())
	}
	names := make([]string, len(m.Names))
	for i, name := range m.Names {
		names[i] = quoted(name)
		if i < len(m.Status) {
			names[i] += ":" + itoa(m.Status[i])
		}
	}
	return items("names", list(names, strings.Clone))
}

// Kind returns KindPMNSIDs.
func (m *PMNSIDs) Kind() Kind { return KindPMNSIDs }

// Decode reads the body of a PMNS_IDS.
func (m *PMNSIDs) Decode(body []byte) error {
	c := cursor{kind: KindPMNSIDs, body: body}
	m.Status = c.i32("sts")
	n := c.count("numids", 1, 4)
	m.PMIDs = c.pmids(m.PMIDs, n)
	return c.done()
}

// Append appends the PDU.
func (m *PMNSIDs) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindPMNSIDs, from)
	e.i32(m.Status)
	e.pmids(m.PMIDs)
	return e.withLength()
}

func (m *PMNSIDs) String() string { return items("sts", m.Status, "pmids", list(m.PMIDs, PMID.String)) }

// Kind returns KindPMNSChild.
func (m *PMNSChild) Kind() Kind { return KindPMNSChild }

// Decode reads the body of a PMNS_CHILD.
func (m *PMNSChild) Decode(body []byte) error {
	c := cursor{kind: KindPMNSChild, body: body}
	m.WithStatus = c.i32("subtype") != 0
	m.Name = c.counted("namelen", "name")
	return c.done()
}

// Append appends the PDU.
func (m *PMNSChild) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindPMNSChild, from)
	if m.WithStatus {
		e.i32(1)
	} else {
		e.i32(0)
	}
	e.text(m.Name)
	return e.withLength()
}

func (m *PMNSChild) String() string {
	return items("status", m.WithStatus, "name", quoted(m.Name))
}

// Kind returns KindPMNSTraverse.
func (m *PMNSTraverse) Kind() Kind { return KindPMNSTraverse }

// Decode reads the body of a PMNS_TRAVERSE.
func (m *PMNSTraverse) Decode(body []byte) error {
	c := cursor{kind: KindPMNSTraverse, body: body}
	c.skip(4, "subtype")
	m.Name = c.counted("namelen", "name")
	return c.done()
}

// Append appends the PDU.
func (m *PMNSTraverse) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindPMNSTraverse, from)
	e.i32(0)
	e.text(m.Name)
	return e.withLength()
}

func (m *PMNSTraverse) String() string { return items("name", quoted(m.Name)) }

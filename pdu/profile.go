package pdu

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
)

// Profile selects the instances that later fetches of one context report. An agent has to store only the last one that
// it received: pmcd sends another one before a FETCH of a client or a context that the last one was not for.
//
//	Sent    client → pmcd → agent before a FETCH whose profile changed; a good one is never answered
//	Body    context, default state, n, pad; n × (instance domain, state, m, pad); then the n lists
//	        of instances, end to end
//	Errors  a context below 0, counts larger than the body; the first pad may be missing if n is 0 (7.x)
//	Source  docs/protocol.md 2.5, 4.5
//
// The zero value selects all instances of all domains. After Decode, the lists share an array of
// the Profile, which the next Decode reuses.
type Profile struct {
	Context ContextID
	Default ProfileState // of the domains that are not in InDoms
	InDoms  []ProfileInDom

	insts  []Inst // backs the lists after Decode
	sorted bool   // all lists are in ascending order
}

// ProfileInDom is the part of a profile for one instance domain.
type ProfileInDom struct {
	InDom InDom
	State ProfileState
	Insts []Inst // the exceptions from State, in any order
}

// ProfileState says whether the instances that are not listed are selected. A number other than Include means
// that they are not.
type ProfileState int32

// The states.
const (
	Include ProfileState = 0 // all, except those in the list
	Exclude ProfileState = 1 // none, except those in the list
)

// String returns the name in upper case.
func (s ProfileState) String() string {
	return nameOf(s, "ProfileState(%d)", "INCLUDE", "EXCLUDE")
}

// Includes reports whether the profile selects instance i of d. It searches the lists from the start: for many
// instances of one domain use Selects. The value of a singular metric (NoInDom) is always selected.
func (p *Profile) Includes(d InDom, i Inst) bool {
	if d == NoInDom {
		return true
	}
	if e := p.entry(d); e != nil {
		return (e.State == Include) != slices.Contains(e.Insts, i)
	}
	return p.Default == Include
}

// Sort puts the lists of instances in ascending order. The profile selects the same instances, and Selects
// is faster. The lists must not be changed afterwards, except by Decode.
func (p *Profile) Sort() {
	for i := range p.InDoms {
		slices.Sort(p.InDoms[i].Insts)
	}
	p.sorted = true
}

// Selects returns the part of the profile for d, to test many instances with. It borrows from p and is valid
// until p changes. Without a call of Sort it copies and sorts a list that is not in ascending order.
func (p *Profile) Selects(d InDom) Selection {
	if d == NoInDom {
		return Selection{}
	}
	e := p.entry(d)
	if e == nil {
		return Selection{state: p.Default}
	}
	insts := e.Insts
	if !p.sorted && !slices.IsSorted(insts) {
		insts = slices.Clone(insts)
		slices.Sort(insts)
	}
	return Selection{state: e.State, insts: insts}
}

// entry returns the first entry for d, or nil.
func (p *Profile) entry(d InDom) *ProfileInDom {
	for i := range p.InDoms {
		if p.InDoms[i].InDom == d {
			return &p.InDoms[i]
		}
	}
	return nil
}

// Selection is the part of a Profile for one instance domain. The zero value selects all.
type Selection struct {
	state ProfileState
	insts []Inst // sorted
}

// Includes reports whether instance i is selected.
func (s Selection) Includes(i Inst) bool {
	if len(s.insts) == 0 {
		return s.state == Include
	}
	_, listed := slices.BinarySearch(s.insts, i)
	return (s.state == Include) != listed
}

// AppendSelected appends to dst the positions in insts of the instances that are selected. It is fast for
// instances in ascending order, a few ns each; it accepts any order.
func (s Selection) AppendSelected(dst []int, insts []Inst) []int {
	at, last := 0, Inst(math.MinInt32) // all of s.insts[:at] are below last, the previous instance
	for i, inst := range insts {
		if inst < last {
			at = 0
		}
		last = inst
		if at < len(s.insts) && s.insts[at] < inst {
			if at++; at < len(s.insts) && s.insts[at] < inst {
				skip, _ := slices.BinarySearch(s.insts[at:], inst)
				at += skip
			}
		}
		listed := at < len(s.insts) && s.insts[at] == inst
		if listed != (s.state == Include) {
			dst = append(dst, i)
		}
	}
	return dst
}

// All reports whether every instance is selected, listed or not.
func (s Selection) All() bool { return s.state == Include && len(s.insts) == 0 }

// Kind returns KindProfile.
func (p *Profile) Kind() Kind { return KindProfile }

// Decode reads the body of a PROFILE.
func (p *Profile) Decode(body []byte) error {
	const headSize, entrySize = 16, 16
	c := cursor{kind: KindProfile, body: body}
	p.sorted = false
	p.Context = ContextID(c.i32("ctxid"))
	if p.Context < 0 {
		c.fail(0, "ctxid", "below 0")
	}
	p.Default = ProfileState(c.i32("g_state"))
	n := int(c.i32("numprof"))
	if len(body) != headSize-4 { // some clients of 7.x leave it out
		c.skip(4, "pad")
	}
	if c.err == nil && (n < 0 || n > c.left()/entrySize) {
		c.fail(8, "numprof", strconv.Itoa(n)+" entries do not fit "+strconv.Itoa(c.left())+" bytes")
	}
	if c.err != nil {
		return c.done()
	}
	entries := c.bytes(n*entrySize, "prof")
	room := c.left() / 4 // for instances
	p.InDoms = resized(p.InDoms, n)
	p.insts = resized(p.insts, room)
	for i := range room {
		p.insts[i] = Inst(binary.BigEndian.Uint32(body[c.off+4*i:]))
	}
	used := 0
	for i := range p.InDoms {
		e := entries[i*entrySize : (i+1)*entrySize]
		m := int(int32(binary.BigEndian.Uint32(e[8:])))
		if m < 0 || m > room-used {
			c.item = i
			c.fail(headSize+i*entrySize+8, "prof[].numinst", strconv.Itoa(m)+" instances, room for "+
				strconv.Itoa(room-used))
			return c.done()
		}
		p.InDoms[i] = ProfileInDom{
			InDom: InDom(binary.BigEndian.Uint32(e)),
			State: ProfileState(binary.BigEndian.Uint32(e[4:])),
		}
		if m > 0 {
			p.InDoms[i].Insts = p.insts[used : used+m : used+m]
			used += m
		}
	}
	c.skip(4*used, "inst")
	return c.done()
}

// Append appends the PDU. from is the number of the client, 0 from a client.
func (p *Profile) Append(dst []byte, from int32) []byte {
	e := newEncoder(dst, KindProfile, from)
	e.i32(int32(p.Context))
	e.i32(int32(p.Default))
	e.i32(int32(len(p.InDoms)))
	e.i32(0)
	for i := range p.InDoms {
		of := &p.InDoms[i]
		e.u32(uint32(of.InDom))
		e.i32(int32(of.State))
		e.i32(int32(len(of.Insts)))
		e.i32(0)
	}
	for i := range p.InDoms {
		for _, inst := range p.InDoms[i].Insts {
			e.i32(int32(inst))
		}
	}
	return e.withLength()
}

func (p *Profile) String() string {
	return items("ctxid", p.Context, "default", p.Default, "indoms", list(p.InDoms, func(e ProfileInDom) string {
		return items(e.InDom.String()+":"+e.State.String(), list(e.Insts, itoa))
	}))
}

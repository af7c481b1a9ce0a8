package pdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Result is values: the answer to a fetch, or a store.
//
//	Sent    agent → pmcd → client: answer to FETCH, one set for each PMID, in its order;
//	        client → pmcd → agent: a store, answered by ERROR
//	Body    seconds, microseconds, n; n × value set; value blocks
//	        value set    PMID, number of values or code[, format, n × (instance, word)]
//	        word         the value (format InSitu) or the index of its block
//	        value block  type, length (3 bytes), body, pad
//	Errors  counts or indexes that cannot be; blocks that do not fill the rest, one for each value
//	Source  docs/protocol.md 2.3, 2.4
//
// After Decode, the values share an array of the Result, which the next Decode reuses, and the
// Bytes of values are borrowed from the frame.
type Result struct {
	// Sec and Usec are the time of the fetch, from pmcd to a client. From an agent, Sec is a Change and
	// Usec is 0. In a store they mean nothing.
	Sec, Usec int32
	Sets      []ValueSet

	arena valueArena
}

// HighResResult is a Result with a time stamp in nanoseconds.
//
//	Sent    pmcd → client: answer to HIGHRES_FETCH
//	Body    n, seconds (8 bytes), nanoseconds (8 bytes); the rest as in RESULT
//	Errors  as in RESULT; nanoseconds outside 0..999999999
//	Source  docs/protocol.md 2.3, 2.4
type HighResResult struct {
	Sec, Nsec int64 // time of the fetch
	Sets      []ValueSet

	arena valueArena
}

// Sizes of the parts of a RESULT, in bytes.
const (
	emptySetHead = 8  // PMID and count
	setHead      = 12 // and format
	valueSize    = 8  // instance and value
	blockHead    = 4  // type and length of a value block, counted by its length
)

// valueMemory is what a Value takes, in bytes.
const valueMemory = 40

// Kind returns KindResult.
func (m *Result) Kind() Kind { return KindResult }

// Decode reads the body of a RESULT.
func (m *Result) Decode(body []byte) (err error) {
	c := cursor{kind: KindResult, body: body}
	m.Sec = c.i32("sec")
	m.Usec = c.i32("usec")
	n := c.count("numpmid", 0, emptySetHead)
	m.Sets, err = m.arena.decode(&c, n, m.Sets)
	return err
}

// Append appends the PDU. A set whose value is larger than MaxBlockBody goes out as ErrTooBig.
func (m *Result) Append(dst []byte, from int32) []byte {
	start := len(dst)
	dst = appendHeader(dst, KindResult, from)
	dst = appendI32(dst, m.Sec)
	dst = appendI32(dst, m.Usec)
	dst = appendI32(dst, int32(len(m.Sets)))
	dst = appendSets(dst, start, m.Sets)
	return endFrame(dst, start)
}

func (m *Result) String() string {
	l := line{}
	l.item("time", fmt.Sprintf("%d.%06d", m.Sec, m.Usec))
	l.sets(m.Sets)
	return l.String()
}

// Kind returns KindHighResResult.
func (m *HighResResult) Kind() Kind { return KindHighResResult }

// Decode reads the body of a HIGHRES_RESULT.
func (m *HighResResult) Decode(body []byte) (err error) {
	c := cursor{kind: KindHighResResult, body: body}
	var n int
	n, m.Sec, m.Nsec = c.highResHead()
	m.Sets, err = m.arena.decode(&c, n, m.Sets)
	return err
}

// highResHead reads what is in front of the n value sets of a HIGHRES_RESULT.
func (c *cursor) highResHead() (n int, sec, nsec int64) {
	n = int(c.i32("numpmid"))
	sec = c.i64("sec")
	nsec = c.i64("nsec")
	switch {
	case n < 0 || n > c.left()/emptySetHead:
		c.fail(0, "numpmid", strconv.Itoa(n)+" items do not fit "+strconv.Itoa(c.left())+" bytes")
	case nsec < 0 || nsec >= 1e9:
		c.fail(c.off-8, "nsec", "not a fraction of a second")
	}
	return n, sec, nsec
}

// Append appends the PDU. A set whose value is larger than MaxBlockBody goes out as ErrTooBig.
func (m *HighResResult) Append(dst []byte, from int32) []byte {
	start := len(dst)
	dst = appendHeader(dst, KindHighResResult, from)
	dst = appendI32(dst, int32(len(m.Sets)))
	dst = appendU64(dst, uint64(m.Sec))
	dst = appendU64(dst, uint64(m.Nsec))
	dst = appendSets(dst, start, m.Sets)
	return endFrame(dst, start)
}

func (m *HighResResult) String() string {
	l := line{}
	l.item("time", fmt.Sprintf("%d.%09d", m.Sec, m.Nsec))
	l.sets(m.Sets)
	return l.String()
}

// appendSets appends sets and blocks to the PDU that begins at byte start of dst.
func appendSets(dst []byte, start int, sets []ValueSet) []byte {
	var w ResultWriter
	head := len(dst) - start
	w.reset(head, head)
	for i := range sets {
		w.Set(&sets[i])
	}
	return append(dst, w.finish()[head:]...)
}

// valueArena holds the values of all sets of one decoded result.
type valueArena struct {
	values []Value
	keep   retention
}

// decode reads n value sets and their blocks, to the end of the body, into sets; n has been
// compared with what is left.
func (a *valueArena) decode(c *cursor, n int, sets []ValueSet) ([]ValueSet, error) {
	sets = sets[:0]
	if c.err != nil {
		return sets, c.done()
	}
	total, end := c.scanSets(n)
	if c.err != nil {
		return sets, c.done()
	}
	if a.keep.excess(cap(a.values)*valueMemory, total*valueMemory) {
		a.values, sets = nil, nil
	}
	a.values = resized(a.values, total)
	sets = resized(sets, n)

	b := blocks{cursor: c, begin: c.off, end: end, next: end, ordered: true}
	rest := a.values
	for i := range sets {
		p := c.body[c.off:]
		numval := int(int32(binary.BigEndian.Uint32(p[4:])))
		set := &sets[i]
		*set = ValueSet{PMID: PMID(binary.BigEndian.Uint32(p))}
		if numval <= 0 {
			set.Code = Code(numval)
			c.off += emptySetHead
			continue
		}
		set.Format = ValueFormat(binary.BigEndian.Uint32(p[8:]))
		set.Values, rest = rest[:numval:numval], rest[numval:]
		c.off += setHead
		if set.Format == InSitu {
			p = p[setHead : setHead+numval*valueSize]
			for j := range set.Values {
				set.Values[j] = Value{
					Inst: Inst(binary.BigEndian.Uint32(p[valueSize*j:])),
					Type: TypeUnknown,
					Bits: uint64(binary.BigEndian.Uint32(p[valueSize*j+4:])),
				}
			}
			c.off += numval * valueSize
			continue
		}
		c.item = i
		for j := range set.Values {
			if !b.value(&set.Values[j]) {
				return sets, c.done()
			}
		}
	}
	b.check()
	c.off = len(c.body)
	return sets, c.done()
}

// scanSets checks n value sets without moving the cursor. It returns the number of their values
// and where they end.
func (c *cursor) scanSets(n int) (values, end int) {
	off := c.off
	for i := range n {
		c.item = i
		left := len(c.body) - off
		if left < emptySetHead {
			c.fail(off, "vset[]", fmt.Sprintf("%d bytes wanted, %d left", emptySetHead, left))
			return 0, 0
		}
		numval := int(int32(binary.BigEndian.Uint32(c.body[off+4:])))
		if numval <= 0 {
			off += emptySetHead
			continue
		}
		if left < setHead || numval > (left-setHead)/valueSize {
			c.fail(off+4, "vset[].numval", fmt.Sprintf("%d values do not fit %d bytes", numval, left))
			return 0, 0
		}
		format := ValueFormat(binary.BigEndian.Uint32(c.body[off+8:]))
		if format < InSitu || format > StaticBlock {
			c.fail(off+8, "vset[].valfmt", itoa(format)+" is no format")
			return 0, 0
		}
		values += numval
		off += setHead + numval*valueSize
	}
	return values, off
}

// blocks reads the value blocks of a result. Stock senders put them in the order of the
// values, which needs no memory to check.
type blocks struct {
	*cursor
	begin   int  // of the value sets
	end     int  // of the value sets: the blocks fill the body from here
	next    int  // where the next block is, if they are in order
	ordered bool // all so far were
	n       int  // blocks so far
}

// value reads the value at the cursor, whose second word is the index of a block. It reports
// whether that was possible.
func (b *blocks) value(v *Value) bool {
	body, off := b.body, b.off
	index := binary.BigEndian.Uint32(body[off+4:])
	at := int64(index)*4 - HeaderSize
	if at < int64(b.end) || at > int64(len(body)-blockHead) {
		b.fail(off+4, "vset[].index", fmt.Sprintf("word %d is not in the value blocks", index))
		return false
	}
	p := body[at:]
	word := binary.BigEndian.Uint32(p)
	t, length := Type(word>>24), int(word&0xffffff)
	if length < blockHead || pad4(length) > len(p) {
		b.fail(int(at), "vset[].vlen", fmt.Sprintf("%d bytes, %d left", length, len(p)))
		return false
	}
	if t == TypeUnknown { // or it would seem to have travelled in situ; as a byte it is TypeNoSupport, too
		t = TypeNoSupport
	}
	*v = Value{Inst: Inst(binary.BigEndian.Uint32(body[off:])), Type: t}
	data := p[blockHead:length:length]
	switch t {
	case Type32, TypeU32:
		// What stock code, which does not swap these, writes on the hosts it runs on.
		if len(data) == 4 {
			v.Bits = uint64(binary.LittleEndian.Uint32(data))
		}
	case TypeFloat:
		if len(data) == 4 {
			v.Bits = uint64(binary.BigEndian.Uint32(data))
		}
	case Type64, TypeU64, TypeDouble:
		if len(data) == 8 {
			v.Bits = binary.BigEndian.Uint64(data)
		}
	case TypeString:
		if i := bytes.IndexByte(data, 0); i >= 0 {
			data = data[:i:i]
		}
		v.Bytes = data
	default:
		v.Bytes = data
	}
	if t.Numeric() && len(data) != t.size() {
		b.fail(int(at), "vset[].vlen", fmt.Sprintf("%d bytes for a value of type %v", length, t))
		return false
	}
	b.off += valueSize
	b.n++
	if int(at) != b.next {
		b.ordered = false
	}
	b.next = int(at) + pad4(length)
	return true
}

// check fails unless the blocks fill the body after the value sets, each belonging to one value.
func (b *blocks) check() {
	if b.ordered {
		if b.next != len(b.body) {
			b.fail(b.next, "end", strconv.Itoa(len(b.body)-b.next)+" bytes left over")
		}
		return
	}
	if !b.tile() {
		b.fail(b.end, "value blocks", "not one for each value, end to end")
	}
}

// tile walks from block to block and marks where each begins, then takes back the mark of each
// value's block: each must be there to be taken, and none may be left.
func (b *blocks) tile() bool {
	begins := make([]uint64, (len(b.body)-b.end)/4/64+1)
	walked, at := 0, b.end
	for ; at < len(b.body); walked++ {
		if len(b.body)-at < blockHead {
			return false
		}
		length := int(binary.BigEndian.Uint32(b.body[at:]) & 0xffffff)
		if length < blockHead {
			return false
		}
		word := (at - b.end) / 4
		begins[word/64] |= 1 << (word % 64)
		at += pad4(length)
	}
	if walked != b.n || at != len(b.body) {
		return false
	}
	for off := b.begin; off < b.end; {
		numval := int(int32(binary.BigEndian.Uint32(b.body[off+4:])))
		if numval <= 0 {
			off += emptySetHead
			continue
		}
		inBlocks := ValueFormat(binary.BigEndian.Uint32(b.body[off+8:])) != InSitu
		off += setHead
		for range numval {
			if inBlocks {
				word := int(binary.BigEndian.Uint32(b.body[off+4:])) - (HeaderSize+b.end)/4
				mark := uint64(1) << (word % 64)
				if begins[word/64]&mark == 0 {
					return false
				}
				begins[word/64] &^= mark
			}
			off += valueSize
		}
	}
	return true
}

func (l *line) sets(sets []ValueSet) {
	l.list("sets", len(sets), func(i int) string { return sets[i].String() })
}

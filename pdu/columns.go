package pdu

import (
	"encoding/binary"
	"strconv"
	"time"
)

// Columns has the values of a RESULT or HIGHRES_RESULT as columns, without a Value for each number. [Result] and
// [HighResResult] decode with it, too. The zero value is ready. It is for one goroutine at a time.
type Columns struct {
	Time time.Time // of the fetch; see [Result] for a RESULT from an agent
	Sets []Column  // in the order of the FETCH

	sec, fraction int64 // the words of Time
	blobs         [][]byte
	single        []Inst // the list of a singular metric
	columnUse     bufferUse

	sets     []ValueSet // made by ValueSets
	values   []Value    // of sets
	valueUse bufferUse
}

// Column is the answer for one metric: a Code below zero, or values, perhaps none. Bits or Blobs has one value for
// each of Insts.
type Column struct {
	PMID PMID // NoPMID: the set cannot be read

	// Code < 0 is the reason why there are no values; otherwise it is 0. It is the agent's, or Decode's
	// own: ErrConv for a number that is not as long as its type, ErrIPC for any other fault of the set.
	Code Code

	// Type is the type of all values. It is TypeUnknown for values in situ: the descriptor of the metric has their type.
	// It is TypeNoSupport for values of different types or of none; then Bits and Blobs are nil.
	Type Type

	// Format is the format in which the values were sent.
	Format ValueFormat

	// Insts has the instance of each value. Decode never changes its elements, and the receiver must not
	// change them: both may store the list for as long as they like. If the instances are those of the
	// previous Decode or of the previous set, it is that list again, not a copy. A receiver may put an equal
	// list in its place, which the next Decode then compares with.
	Insts []Inst
	last  []Inst // the most recent Insts that were not nil

	// Bits has numbers in the form of Value.Bits. The memory is new with each Decode and belongs to the receiver.
	Bits []uint64

	// Blobs has values that are not numeric, in the form of Value.Bytes. The bytes are borrowed from the
	// frame; the list itself is valid until the next Decode.
	Blobs [][]byte
}

// Decode reads the body of a RESULT or HIGHRES_RESULT. It overwrites the columns of the previous Decode, except
// their Bits and Insts. The error describes the first fault. A fault of one set does not harm the others: there are as
// many Sets as the PDU announced, and only the wrong ones have an ErrIPC or ErrConv. There are no Sets if the announced
// number itself cannot be true.
func (m *Columns) Decode(f Frame) error {
	c := cursor{kind: f.Kind, body: f.Body}
	n := m.head(&c)
	if c.err == nil {
		m.decode(&c, n)
	} else {
		m.Sets = m.Sets[:0]
	}
	return c.done()
}

// Borrows reports whether any Column has Blobs, which are borrowed from the frame. If not, the frame can be reused.
func (m *Columns) Borrows() bool { return len(m.blobs) > 0 }

// head reads the time stamp and the number of sets, and returns the number.
func (m *Columns) head(c *cursor) (n int) {
	switch c.kind {
	case KindResult:
		m.sec, m.fraction = int64(c.i32("sec")), int64(c.i32("usec"))
		m.Time = time.Unix(m.sec, m.fraction*int64(time.Microsecond))
		return c.count("numpmid", 0, emptySetHead)
	case KindHighResResult:
		n = int(c.i32("numpmid"))
		m.sec, m.fraction = c.i64("sec"), c.i64("nsec")
		m.Time = time.Unix(m.sec, m.fraction)
		if n < 0 || n > c.left()/emptySetHead {
			c.fail(0, "numpmid", strconv.Itoa(n)+" items do not fit "+strconv.Itoa(c.left())+" bytes")
		}
		return n
	default:
		c.fail(0, "type", c.kind.String()+" holds no values")
		return 0
	}
}

func (m *Columns) decode(c *cursor, n int) {
	whole, total, end := c.scanSets(n)
	const columnMemory, blobMemory = 120, 24 // bytes
	if m.single == nil {
		m.single = []Inst{NoInst}
	}
	if m.columnUse.tooLarge(cap(m.Sets)*columnMemory+cap(m.blobs)*blobMemory, n*columnMemory+len(m.blobs)*blobMemory) {
		m.Sets, m.blobs = nil, nil
	}
	if old := len(m.Sets); n > old {
		m.Sets = resized(m.Sets, n)
		clear(m.Sets[old:])
	}
	clear(m.Sets[n:]) // so that their lists can be freed
	m.Sets = m.Sets[:n]
	clear(m.blobs)
	m.blobs = m.blobs[:0]
	numbers := make([]uint64, total)
	b := blocks{cursor: c, end: end, left: len(c.body) - end}
	var before []Inst // of the set before
	for i := range m.Sets[:whole] {
		c.item = i
		set := &m.Sets[i]
		p := c.body[c.off:]
		count := int(int32(binary.BigEndian.Uint32(p[4:])))
		set.PMID, set.Code, set.Type, set.Format = PMID(binary.BigEndian.Uint32(p)), 0, TypeUnknown, InSitu
		if set.Insts != nil {
			set.last = set.Insts
		}
		set.Insts, set.Bits, set.Blobs = nil, nil, nil
		if count <= 0 {
			set.Code = Code(count)
			c.off += emptySetHead
			continue
		}
		set.Format = ValueFormat(binary.BigEndian.Uint32(p[8:]))
		c.off += setHead
		heads := c.body[c.off : c.off+count*valueSize]
		if count == 1 && Inst(binary.BigEndian.Uint32(heads)) == NoInst {
			set.Insts = m.single
		} else {
			set.Insts = instancesOf(heads, set.last, before)
			before = set.Insts
		}
		set.Bits, numbers = numbers[:count:count], numbers[count:]
		switch {
		case set.Format == InSitu:
			for j := range set.Bits {
				set.Bits[j] = uint64(binary.BigEndian.Uint32(heads[valueSize*j+4:]))
			}
		case set.Format != Block && set.Format != StaticBlock:
			c.fail(c.off-4, "vset[].valfmt", itoa(set.Format)+" is not a valid format")
			set.fail(ErrIPC)
		case b.regular(set, heads):
		default:
			m.decodeEach(&b, set)
		}
		c.off += len(heads)
	}
	for i := range m.Sets[whole:] {
		set := &m.Sets[whole+i]
		set.PMID = NoPMID
		set.fail(ErrIPC)
	}
	c.off = len(c.body) - b.left
}

// fail replaces the values of a set by a code.
func (set *Column) fail(code Code) {
	set.Code, set.Type, set.Format = code, TypeUnknown, InSitu
	set.Insts, set.Bits, set.Blobs = nil, nil, nil
}

// ValueSets returns the sets with a Value for each value: easier to use than columns, and slower. The next call reuses
// their memory, and Bytes are borrowed from the frame. Values of different types in one set have the type
// TypeNoSupport, no Bits and no Bytes.
func (m *Columns) ValueSets() []ValueSet {
	const valueMemory = 40 // bytes
	total := 0
	for i := range m.Sets {
		total += len(m.Sets[i].Insts)
	}
	if m.valueUse.tooLarge(cap(m.values)*valueMemory, total*valueMemory) {
		m.values, m.sets = nil, nil
	}
	m.values, m.sets = resized(m.values, total), resized(m.sets, len(m.Sets))
	rest := m.values
	for i := range m.Sets {
		from, to := &m.Sets[i], &m.sets[i]
		*to = ValueSet{PMID: from.PMID, Code: from.Code, Format: from.Format}
		n := len(from.Insts)
		if n == 0 {
			continue
		}
		to.Values, rest = rest[:n:n], rest[n:]
		for j, inst := range from.Insts {
			v := Value{Inst: inst, Type: from.Type}
			switch {
			case from.Bits != nil:
				v.Bits = from.Bits[j]
			case from.Blobs != nil:
				v.Bytes = from.Blobs[j]
			}
			to.Values[j] = v
		}
	}
	return m.sets
}

// decodeEach reads the values of a set one by one. It accepts values of any type, with blocks in any order.
func (m *Columns) decodeEach(b *blocks, set *Column) {
	start := len(m.blobs)
	mixed := false
	for j := range set.Bits {
		var v Value
		if code := b.value(&v, b.off+valueSize*j); code < 0 {
			set.fail(code)
			m.blobs = m.blobs[:start]
			return
		}
		if j == 0 {
			set.Type = v.Type
		}
		mixed = mixed || v.Type != set.Type
		if v.Type.Numeric() {
			set.Bits[j] = v.Bits
		} else {
			m.blobs = append(m.blobs, v.Bytes)
		}
	}
	switch {
	case mixed || set.Type == TypeNoSupport:
		set.Type, set.Bits = TypeNoSupport, nil
	case !set.Type.Numeric():
		set.Bits, set.Blobs = nil, m.blobs[start:len(m.blobs):len(m.blobs)]
	}
}

// instancesOf returns the instances of values. If one of the known lists is equal, it returns that list.
func instancesOf(heads []byte, known ...[]Inst) []Inst {
	n := len(heads) / valueSize
	for _, list := range known {
		if len(list) == n && sameInstances(heads, list) {
			return list
		}
	}
	list := make([]Inst, n)
	for j := range list {
		list[j] = Inst(binary.BigEndian.Uint32(heads[valueSize*j:]))
	}
	return list
}

func sameInstances(heads []byte, list []Inst) bool {
	const step = 64 // instances that are compared between two tests of the result
	for len(list) > 0 {
		part := list[:min(step, len(list))]
		p := heads[:valueSize*len(part)]
		differ := uint32(0)
		for j, inst := range part {
			differ |= binary.BigEndian.Uint32(p[valueSize*j:]) ^ uint32(inst)
		}
		if differ != 0 {
			return false
		}
		list, heads = list[len(part):], heads[len(p):]
	}
	return true
}

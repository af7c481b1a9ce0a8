package pdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strconv"
)

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
	for index := range indexes(b.body[b.begin:b.end]) {
		word := int(binary.BigEndian.Uint32(index)) - (HeaderSize+b.end)/4
		mark := uint64(1) << (word % 64)
		if begins[word/64]&mark == 0 {
			return false
		}
		begins[word/64] &^= mark
	}
	return true
}

// indexes yields the indexes of value blocks, 4 bytes each, in value sets as they are sent.
func indexes(sets []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(sets) > 0 {
			numval := int(int32(binary.BigEndian.Uint32(sets[4:])))
			if numval <= 0 {
				sets = sets[emptySetHead:]
				continue
			}
			format := ValueFormat(binary.BigEndian.Uint32(sets[8:]))
			values := sets[setHead : setHead+valueSize*numval]
			sets = sets[setHead+valueSize*numval:]
			for ; format != InSitu && len(values) > 0; values = values[valueSize:] {
				if !yield(values[4:valueSize]) {
					return
				}
			}
		}
	}
}

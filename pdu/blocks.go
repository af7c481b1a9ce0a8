package pdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// scanSets checks that n value sets are in the body, and does not move the cursor. It returns how many are whole, the
// number of their values, and the offset in bytes of their end.
func (c *cursor) scanSets(n int) (whole, values, end int) {
	off := c.off
	for ; whole < n; whole++ {
		c.item = whole
		left := len(c.body) - off
		if left < emptySetHead {
			c.fail(off, "vset[]", fmt.Sprintf("%d bytes wanted, %d left", emptySetHead, left))
			break
		}
		numval := int(int32(binary.BigEndian.Uint32(c.body[off+4:])))
		if numval <= 0 {
			off += emptySetHead
			continue
		}
		if left < setHead || numval > (left-setHead)/valueSize {
			c.fail(off+4, "vset[].numval", fmt.Sprintf("%d values do not fit %d bytes", numval, left))
			break
		}
		values += numval
		off += setHead + numval*valueSize
	}
	return whole, values, off
}

// blocks reads the value blocks of a result, in any order.
type blocks struct {
	*cursor
	end int // of the value sets, in bytes of the body: the blocks come after it

	// left is the number of bytes that further values may have. It begins with the size of all blocks. So values that
	// name one large block again and again do not make the receiver store more than was sent.
	left int
}

// value reads one value. Its instance and the index of its block are at byte off of the body. The code is ErrIPC
// if there is no such block, and ErrConv if the block is not as long as its type.
func (b *blocks) value(v *Value, off int) Code {
	body := b.body
	index := binary.BigEndian.Uint32(body[off+4:])
	at := int64(index)*4 - HeaderSize
	if at < int64(b.end) || at > int64(len(body)-blockHead) {
		b.fail(off+4, "vset[].index", fmt.Sprintf("word %d is not in the value blocks", index))
		return ErrIPC
	}
	p := body[at:]
	word := binary.BigEndian.Uint32(p)
	t, length := Type(word>>24), int(word&0xffffff)
	if length < blockHead || pad4(length) > min(len(p), b.left) {
		b.fail(int(at), "vset[].vlen", fmt.Sprintf("%d bytes, %d left", length, min(len(p), b.left)))
		return ErrIPC
	}
	b.left -= pad4(length)
	if t == TypeUnknown { // TypeUnknown would mean in situ; as a byte it is TypeNoSupport, too
		t = TypeNoSupport
	}
	*v = Value{Inst: Inst(binary.BigEndian.Uint32(body[off:])), Type: t}
	data := p[blockHead:length:length]
	if t.Numeric() && len(data) != t.size() {
		b.fail(int(at), "vset[].vlen", fmt.Sprintf("%d bytes for a value of type %v", length, t))
		return ErrConv
	}
	switch t {
	case Type32, TypeU32:
		// Stock code does not swap these, and runs on little-endian hosts.
		v.Bits = uint64(binary.LittleEndian.Uint32(data))
	case TypeFloat:
		v.Bits = uint64(binary.BigEndian.Uint32(data))
	case Type64, TypeU64, TypeDouble:
		v.Bits = binary.BigEndian.Uint64(data)
	case TypeString:
		v.Bytes, _, _ = bytes.Cut(data, []byte{0})
		v.Bytes = slices.Clip(v.Bytes)
	default:
		v.Bytes = data
	}
	return 0
}

// regularBlock is the size of a value block with a 64-bit number.
const regularBlock = blockHead + 8

// regular reads 64-bit numbers whose blocks follow each other in the order of the values, as stock senders write
// them. It is much faster than value. It reports whether the blocks were like that; if not, it has read nothing.
func (b *blocks) regular(set *Column, heads []byte) bool {
	index := binary.BigEndian.Uint32(heads[4:])
	at, size := int64(index)*4-HeaderSize, int64(len(set.Bits)*regularBlock)
	if at < int64(b.end) || size > min(int64(len(b.body))-at, int64(b.left)) {
		return false
	}
	data := b.body[at : at+size]
	head := binary.BigEndian.Uint32(data)
	t := Type(head >> 24)
	if t.size() != 8 || head&0xffffff != regularBlock {
		return false
	}
	wrong := uint32(0) // not zero if any head or index is not as expected: one test for all is faster
	for j := range set.Bits {
		d, h := (*[regularBlock]byte)(data), (*[valueSize]byte)(heads)
		data, heads = data[regularBlock:], heads[valueSize:]
		wrong |= (binary.BigEndian.Uint32(d[:]) ^ head) | (binary.BigEndian.Uint32(h[4:]) ^ index)
		set.Bits[j] = binary.BigEndian.Uint64(d[blockHead:])
		index += regularBlock / 4
	}
	if wrong != 0 {
		return false
	}
	set.Type = t
	b.left -= int(size)
	return true
}

package pdu

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// DecodeError reports a PDU whose body breaks its layout. The stream is intact: the next PDU
// follows. It unwraps to ErrIPC.
type DecodeError struct {
	Kind   Kind
	Field  string // name of the field in docs/protocol.md, with indexes: "name[3].namelen"
	Offset int    // of the field, in bytes from the start of the PDU
	Reason string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode %v: %s at byte %d: %s", e.Kind, e.Field, e.Offset, e.Reason)
}

// Unwrap makes a DecodeError an ErrIPC.
func (e *DecodeError) Unwrap() error { return ErrIPC }

// cursor reads one body from front to back. Its first failure sticks, and every read after it
// gives zero, so that a Decode is a straight list of reads. Fields are named as in the spec; "[]"
// in a name stands for the current item.
type cursor struct {
	kind Kind
	body []byte
	off  int
	item int
	err  *DecodeError
}

func (c *cursor) left() int { return len(c.body) - c.off }

// fail notes a failure of the field that begins at byte at of the body.
func (c *cursor) fail(at int, field, reason string) {
	if c.err != nil {
		return
	}
	field = strings.Replace(field, "[]", "["+strconv.Itoa(c.item)+"]", 1)
	c.err = &DecodeError{Kind: c.kind, Field: field, Offset: HeaderSize + at, Reason: reason}
}

// bytes returns the next n bytes, or nil after a failure.
func (c *cursor) bytes(n int, field string) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.left() {
		c.fail(c.off, field, fmt.Sprintf("%d bytes wanted, %d left", n, c.left()))
		return nil
	}
	b := c.body[c.off : c.off+n]
	c.off += n
	return b
}

func (c *cursor) skip(n int, field string) { c.bytes(n, field) }

func (c *cursor) u8(field string) uint8 {
	b := c.bytes(1, field)
	if b == nil {
		return 0
	}
	return b[0]
}

func (c *cursor) u16(field string) uint16 {
	b := c.bytes(2, field)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint16(b)
}

func (c *cursor) u32(field string) uint32 {
	b := c.bytes(4, field)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

func (c *cursor) i32(field string) int32 { return int32(c.u32(field)) }

func (c *cursor) i64(field string) int64 {
	b := c.bytes(8, field)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// count reads a number of items of at least size bytes each, and refuses it below least or when
// the rest of the body cannot hold that many.
func (c *cursor) count(field string, least, size int) int {
	at := c.off
	n := int(c.i32(field))
	switch {
	case c.err != nil:
		return 0
	case n < least:
		c.fail(at, field, fmt.Sprintf("%d is below %d", n, least))
		return 0
	case n > c.left()/size && size == 1:
		c.fail(at, field, fmt.Sprintf("%d bytes wanted, %d left", n, c.left()))
		return 0
	case n > c.left()/size:
		c.fail(at, field, fmt.Sprintf("%d items do not fit %d bytes", n, c.left()))
		return 0
	}
	return n
}

// text reads n bytes and the padding after them, of which the end of the body may lack some.
func (c *cursor) text(n int, field string) []byte {
	b := c.bytes(n, field)
	if c.err == nil {
		c.off += min(pad4(n)-n, c.left())
	}
	return b
}

// counted reads a text behind its length, and gives a copy.
func (c *cursor) counted(lenField, field string) string {
	return string(c.text(c.count(lenField, 0, 1), field))
}

// done returns the first failure; bytes left over are one.
func (c *cursor) done() error {
	if c.err == nil && c.left() > 0 {
		c.fail(c.off, "end", strconv.Itoa(c.left())+" bytes left over")
	}
	if c.err == nil {
		return nil
	}
	return c.err
}

// padding is what stock senders fill with.
const padding = "~~~"

// pad4 rounds n up to a multiple of four.
func pad4(n int) int { return (n + 3) &^ 3 }

// encoder appends one PDU to what is in frame already. It writes fields from front to back as a cursor reads them.
type encoder struct {
	frame []byte
	start int // of the PDU
}

// newEncoder writes a header whose length end fills in.
func newEncoder(dst []byte, k Kind, from int32) encoder {
	e := encoder{frame: dst, start: len(dst)}
	e.u32(0)
	e.u32(uint32(k))
	e.i32(from)
	return e
}

func (e *encoder) withLength() []byte {
	binary.BigEndian.PutUint32(e.frame[e.start:], uint32(len(e.frame)-e.start))
	return e.frame
}

func (e *encoder) u8(v uint8)   { e.frame = append(e.frame, v) }
func (e *encoder) u16(v uint16) { e.frame = binary.BigEndian.AppendUint16(e.frame, v) }
func (e *encoder) u32(v uint32) { e.frame = binary.BigEndian.AppendUint32(e.frame, v) }
func (e *encoder) i32(v int32)  { e.u32(uint32(v)) }
func (e *encoder) u64(v uint64) { e.frame = binary.BigEndian.AppendUint64(e.frame, v) }

// raw writes s as it is.
func (e *encoder) raw(s string) { e.frame = append(e.frame, s...) }

// text writes the length of s, s and its padding.
func (e *encoder) text(s string) {
	e.i32(int32(len(s)))
	e.raw(s)
	e.raw(padding[:pad4(len(s))-len(s)])
}

// resized returns a slice of n elements that uses the array of s when it is large enough. What
// the elements hold is unspecified.
func resized[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}

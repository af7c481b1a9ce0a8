package pdu

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// DecodeError reports a PDU whose body does not have its layout. The stream is still good: the next
// PDU can be read. It unwraps to ErrIPC.
type DecodeError struct {
	Kind   Kind
	Field  string // name of the field in docs/protocol.md, with indexes: "name[3].namelen"
	Offset int    // of the field, in bytes from the start of the PDU
	Reason string
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode %v: %s at byte %d: %s", e.Kind, e.Field, e.Offset, e.Reason)
}

// Unwrap returns ErrIPC.
func (e *DecodeError) Unwrap() error { return ErrIPC }

// cursor reads one body from front to back. Its first failure stays, and every read after it
// returns zero, so that a Decode is a straight list of reads with one check at its end. Fields are named
// as in docs/protocol.md; "[]" in a name stands for the index of the current item.
type cursor struct {
	kind Kind
	body []byte
	off  int          // of the next read, in bytes of body
	item int          // index for "[]" in the names of fields
	err  *DecodeError // the first failure
}

func (c *cursor) left() int { return len(c.body) - c.off }

// fail stores the failure of the field that begins at byte at of the body, unless there was one before.
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

// text reads n bytes and the padding after them. Some senders leave out the padding at the end of a body.
func (c *cursor) text(n int, field string) []byte {
	b := c.bytes(n, field)
	if c.err == nil {
		c.off += min(pad4(n)-n, c.left())
	}
	return b
}

// counted reads a length and a text of that length, and returns a copy of the text.
func (c *cursor) counted(lenField, field string) string {
	return string(c.text(c.count(lenField, 0, 1), field))
}

// done returns the first failure. Bytes left over at the end are one.
func (c *cursor) done() error {
	if c.err == nil && c.left() > 0 {
		c.fail(c.off, "end", strconv.Itoa(c.left())+" bytes left over")
	}
	if c.err == nil {
		return nil
	}
	return c.err
}

// padding is up to three of the bytes that stock senders pad with.
const padding = "~~~"

// pad4 rounds n up to a multiple of four.
func pad4(n int) int { return (n + 3) &^ 3 }

// encoder appends one PDU to frame, which may hold other PDUs before it. It writes fields from front to back, as a
// cursor reads them.
type encoder struct {
	frame []byte
	start int // of the PDU in frame
}

// newEncoder appends a header to dst. withLength writes its length word.
func newEncoder(dst []byte, k Kind, from int32) encoder {
	e := encoder{frame: dst, start: len(dst)}
	e.u32(0)
	e.u32(uint32(k))
	e.i32(from)
	return e
}

// withLength writes the length of the PDU into its header and returns the frame.
func (e *encoder) withLength() []byte {
	binary.BigEndian.PutUint32(e.frame[e.start:], uint32(len(e.frame)-e.start))
	return e.frame
}

func (e *encoder) u8(v uint8)   { e.frame = append(e.frame, v) }
func (e *encoder) u16(v uint16) { e.frame = binary.BigEndian.AppendUint16(e.frame, v) }
func (e *encoder) u32(v uint32) { e.frame = binary.BigEndian.AppendUint32(e.frame, v) }
func (e *encoder) i32(v int32)  { e.u32(uint32(v)) }
func (e *encoder) u64(v uint64) { e.frame = binary.BigEndian.AppendUint64(e.frame, v) }

// raw writes the bytes of s without a length and without padding.
func (e *encoder) raw(s string) { e.frame = append(e.frame, s...) }

// text writes the length of s, then s, then its padding.
func (e *encoder) text(s string) {
	e.i32(int32(len(s)))
	e.raw(s)
	e.raw(padding[:pad4(len(s))-len(s)])
}

// resized returns a slice of n elements that uses the array of s when it is large enough. The values of
// the elements are unspecified.
func resized[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}

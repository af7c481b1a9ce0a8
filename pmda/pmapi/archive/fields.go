package archive

import (
	"bytes"
	"encoding/binary"
	"time"
)

// fields reads what is in a record from front to back. The first failure sticks, and every read after it gives zero.
type fields struct {
	b      []byte
	off    int
	failed bool
}

// take returns the next n bytes, nil if there are fewer.
func (f *fields) take(n int) []byte {
	if f.failed || n < 0 || n > len(f.b)-f.off {
		f.failed = true
		return nil
	}
	b := f.b[f.off : f.off+n]
	f.off += n
	return b
}

func (f *fields) u16() uint16 {
	if b := f.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (f *fields) u8() uint8 {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (f *fields) u32() uint32 {
	if b := f.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (f *fields) i32() int32 { return int32(f.u32()) }

// i64 reads a number of two words, of which the one with the low bits is the first.
func (f *fields) i64() int64 {
	low := f.u32()
	return int64(uint64(f.u32())<<32 | uint64(low))
}

// count reads a number of items of at least size bytes each; it fails if the rest cannot hold that many.
func (f *fields) count(size int) int {
	n := int(f.i32())
	if n < 0 || n > (len(f.b)-f.off)/size {
		f.failed = true
		return 0
	}
	return n
}

// time reads a time stamp of a version.
func (f *fields) time(version int) time.Time {
	if version == 2 {
		sec, usec := f.i32(), f.i32()
		return time.Unix(int64(sec), int64(usec)*int64(time.Microsecond))
	}
	sec, nsec := f.i64(), f.i32()
	return time.Unix(sec, int64(nsec))
}

// text reads n bytes as text that a NUL may end before.
func (f *fields) text(n int) string {
	b, _, _ := bytes.Cut(f.take(n), []byte{0})
	return string(b)
}

// left is how many bytes have not been read.
func (f *fields) left() int { return len(f.b) - f.off }

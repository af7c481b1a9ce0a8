package logfile

import (
	"bytes"
	"encoding/binary"
	"time"
)

// Fields reads the fields of a record from front to back. The first failure stays, and every read after it returns
// zero.
type Fields struct {
	b      []byte
	off    int
	failed bool
}

// Failed reports whether a read went beyond the end of the record, or Fail was called.
func (f *Fields) Failed() bool { return f.failed }

// Fail makes all later reads fail. The caller calls it for a field with an impossible value.
func (f *Fields) Fail() { f.failed = true }

// Bytes returns the next n bytes, nil if there are fewer.
func (f *Fields) Bytes(n int) []byte {
	if f.failed || n < 0 || n > len(f.b)-f.off {
		f.failed = true
		return nil
	}
	b := f.b[f.off : f.off+n]
	f.off += n
	return b
}

// Part returns the next n bytes as Fields of their own.
func (f *Fields) Part(n int) *Fields { return &Fields{b: f.Bytes(n), failed: f.failed} }

// U8 reads a byte.
func (f *Fields) U8() uint8 {
	if b := f.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (f *Fields) U16() uint16 {
	if b := f.Bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

// U32 reads a word.
func (f *Fields) U32() uint32 {
	if b := f.Bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// I32 reads a word with a sign.
func (f *Fields) I32() int32 { return int32(f.U32()) }

// i64 reads a number of two words, the low word first.
func (f *Fields) i64() int64 {
	low := f.U32()
	return int64(uint64(f.U32())<<32 | uint64(low))
}

// Count reads a number of items of at least size bytes each. It fails if the rest of the record is too short for that
// many.
func (f *Fields) Count(size int) int {
	n := int(f.I32())
	if n < 0 || n > f.Left()/size {
		f.failed = true
		return 0
	}
	return n
}

// Time reads a time stamp in the form of an archive of that version.
func (f *Fields) Time(version int) time.Time {
	if version == 2 {
		sec, usec := f.I32(), f.I32()
		return time.Unix(int64(sec), int64(usec)*int64(time.Microsecond))
	}
	sec, nsec := f.i64(), f.I32()
	return time.Unix(sec, int64(nsec))
}

// Text reads n bytes and returns them up to the first NUL.
func (f *Fields) Text(n int) string {
	b, _, _ := bytes.Cut(f.Bytes(n), []byte{0})
	return string(b)
}

// Left returns the number of bytes that have not been read.
func (f *Fields) Left() int { return len(f.b) - f.off }

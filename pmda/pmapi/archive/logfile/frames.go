package logfile

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"pmdaderived/pdu"
)

// maxRecord is the length in bytes of the longest record that is read. A record of pmlogger is not longer than a
// reply of pmcd.
const maxRecord = pdu.ClientLimit

// frames reads the records of a file from front to back:
//
//	length N (4 bytes) | N-8 bytes | length N again
type frames struct {
	file *file
	r    *bufio.Reader
	off  int64  // of the next record, in bytes
	buf  []byte // of the last record
}

// lengths is the size in bytes of the two lengths of a record.
const lengths = 8

// framesOf returns the frames of a file, from its first record on.
func framesOf(f *file) *frames {
	s := &frames{file: f}
	s.seek(0)
	return s
}

func (s *frames) seek(off int64) {
	const ahead = 64 << 10
	section := io.NewSectionReader(s.file.os, off, max(0, s.file.size-off))
	if s.r == nil {
		s.r = bufio.NewReaderSize(section, ahead)
	} else {
		s.r.Reset(section)
	}
	s.off = off
}

// next returns the contents of the next record, without the lengths. They are valid until the next call. The error is
// io.EOF at the end. After a [DamageError] the rest of the file cannot be read.
func (s *frames) next() ([]byte, error) {
	head, err := s.r.Peek(4)
	if len(head) == 0 {
		if s.file.broken != nil {
			return nil, s.damage("%v", s.file.broken)
		}
		return nil, io.EOF
	}
	if err != nil {
		return nil, s.damage("the record is truncated within its length")
	}
	n := int64(binary.BigEndian.Uint32(head))
	left := s.file.size - s.off
	switch {
	case n < lengths || n > maxRecord:
		return nil, s.damage("%d is not a valid record length", n)
	case n > left:
		return nil, s.damage("the record is truncated: %d of %d bytes", left, n)
	}
	if int64(cap(s.buf)) < n || cap(s.buf) > 1<<20 && int64(cap(s.buf)) > 8*n {
		s.buf = make([]byte, n)
	}
	buf := s.buf[:n]
	if _, err := io.ReadFull(s.r, buf); err != nil {
		return nil, s.damage("%v", err)
	}
	if again := int64(binary.BigEndian.Uint32(buf[n-4:])); again != n {
		return nil, s.damage("the record begins with length %d, but ends with length %d", n, again)
	}
	s.off += n
	return buf[4 : n-4], nil
}

// atRecord reports whether a record begins at the offset, or the file ends there.
func (s *frames) atRecord() bool { return s.off == s.file.size || s.file.hasRecord(s.off) }

// hasRecord reports whether a whole record begins at an offset.
func (f *file) hasRecord(off int64) bool {
	var head, tail [4]byte
	if _, err := f.os.ReadAt(head[:], off); err != nil {
		return false
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n < lengths || n > f.size-off {
		return false
	}
	_, err := f.os.ReadAt(tail[:], off+n-4)
	return err == nil && head == tail
}

// resume returns the offset behind a damaged record at which reading goes on, which the index has; ok is false if there
// is none.
func (v *volume) resume(f *file, damaged int64) (off int64, ok bool) {
	for _, off := range v.indexed {
		if off > damaged && f.hasRecord(off) {
			return off, true
		}
	}
	return 0, false
}

func (s *frames) damage(format string, args ...any) *DamageError {
	return &DamageError{File: s.file.path, Offset: s.off, Reason: fmt.Sprintf(format, args...), Code: pdu.ErrLogRec}
}

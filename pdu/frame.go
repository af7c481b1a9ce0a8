package pdu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Frame is one PDU cut from a stream and not decoded yet.
type Frame struct {
	Kind Kind
	From int32 // the number of a client, or in CREDS a process id; see the package comment

	// Body has the bytes after the header. It is borrowed from the buffer of the Reader or Splitter
	// and valid until the next [Reader.Next] or [Splitter.Buffer].
	Body []byte
}

// FrameError reports a header that no PDU can have. The begin of the next PDU is unknown after it, so the
// stream is over. It unwraps to ErrIPC.
type FrameError struct {
	Length int32 // the length word
	Kind   Kind  // the type word
	Limit  int   // the receiver's limit, in bytes
}

func (e *FrameError) Error() string {
	switch {
	case e.Length < HeaderSize:
		return fmt.Sprintf("frame of %d bytes is shorter than its header", e.Length)
	case int(e.Length) > e.Limit:
		return fmt.Sprintf("frame of %d bytes exceeds the limit of %d", e.Length, e.Limit)
	}
	return fmt.Sprintf("frame with type word %#x is not a PDU", uint32(e.Kind))
}

// Unwrap returns ErrIPC.
func (e *FrameError) Unwrap() error { return ErrIPC }

// Splitter cuts frames from bytes that arrive in pieces, for input that must not block. Read into
// Buffer, call Advance with the number of bytes read, then call Next until it has no frame. It is for
// one goroutine at a time. To read a stream that may block use [Reader].
type Splitter struct {
	limit int
	buf   []byte // its whole length is usable space
	r, w  int    // buf[r:w] has arrived and is not cut yet
	need  int    // length of the frame that buf[r:] begins with, 0 if unknown
	err   error

	small   []byte // buf before a large message
	large   spare
	largest int // length of the last large message
}

// NewSplitter returns a Splitter for frames of at most limit bytes, header included: [AgentLimit],
// [ClientLimit] or one's own.
func NewSplitter(limit int) *Splitter { return &Splitter{limit: limit} }

// Buffer returns space to read into. It is never empty, and valid until the next call of any method.
// Buffer invalidates the bodies of earlier frames. Its memory is bounded: at most the size of the bytes that
// have arrived of the current frame, of an earlier frame, or a few KiB.
func (s *Splitter) Buffer() []byte {
	if s.r == s.w {
		s.Release()
		s.r, s.w = 0, 0
	}
	if s.r > 0 && len(s.buf)-s.w < minRead {
		s.w = copy(s.buf, s.buf[s.r:s.w])
		s.r = 0
	}
	if s.w == len(s.buf) {
		grown := s.grown()
		copy(grown, s.buf[:s.w])
		if len(grown) > retainedBytes && len(s.buf) <= retainedBytes {
			s.small = s.buf
		}
		s.buf = grown
	}
	return s.buf[s.w:]
}

// grown returns a larger buffer. It doubles the size, whatever length the header announces: a peer has to
// send as much as it announces before that much is allocated. A size that was sent before is allocated at once.
func (s *Splitter) grown() []byte {
	if s.need > retainedBytes {
		if memory := s.large.get(s.need); memory != nil {
			return memory
		}
		if s.need <= s.largest {
			return make([]byte, s.need)
		}
	}
	size := 2 * len(s.buf)
	if s.need > 0 {
		size = min(size, s.need)
	}
	return make([]byte, max(size, minBuffer))
}

// Release declares that the bodies of all frames so far are no longer used. Calling it is optional: after a large
// frame it lets the garbage collector have the memory earlier. The memory is reused if another large frame follows
// soon.
func (s *Splitter) Release() {
	if len(s.buf) <= retainedBytes || s.r != s.w {
		return
	}
	s.largest = s.w
	s.large.put(s.buf)
	s.buf, s.small = s.small, nil
	s.r, s.w = 0, 0
}

// Advance declares that n bytes have been read into the slice that Buffer returned last.
func (s *Splitter) Advance(n int) { s.w += n }

// Pending returns the number of bytes that have arrived and are not cut yet. If it is not zero at the end
// of the stream, the last PDU is incomplete.
func (s *Splitter) Pending() int { return s.w - s.r }

// Next cuts the next whole frame, whose body is valid until the next call of Buffer. It returns false when
// the bytes so far do not complete a frame. The error is a *FrameError, and every later call returns it again.
func (s *Splitter) Next() (Frame, bool, error) {
	if s.err != nil {
		return Frame{}, false, s.err
	}
	have := s.buf[s.r:s.w]
	if len(have) < HeaderSize {
		return Frame{}, false, nil
	}
	length := int32(binary.BigEndian.Uint32(have))
	kind := Kind(binary.BigEndian.Uint32(have[4:]))
	if length < HeaderSize || int64(length) > int64(s.limit) || kind < firstKind || kind > lastKind {
		s.err = &FrameError{Length: length, Kind: kind, Limit: s.limit}
		return Frame{}, false, s.err
	}
	n := int(length)
	if len(have) < n {
		s.need = n
		return Frame{}, false, nil
	}
	s.r += n
	s.need = 0
	from := int32(binary.BigEndian.Uint32(have[8:]))
	return Frame{Kind: kind, From: from, Body: have[HeaderSize:n:n]}, true, nil
}

// Reader reads frames from a stream. It is for one goroutine at a time.
type Reader struct {
	r   io.Reader
	s   *Splitter
	err error // of the last Read, returned after the frames that it completed
}

// NewReader returns a Reader that accepts frames of at most limit bytes, header included:
// AgentLimit, ClientLimit or one's own.
func NewReader(r io.Reader, limit int) *Reader { return &Reader{r: r, s: NewSplitter(limit)} }

// emptyReads is how often in a row a Read may return neither bytes nor an error, before Next fails.
const emptyReads = 100

// Next waits for the next frame and returns it. The body is valid until the next call. The error is
// io.EOF between two PDUs, io.ErrUnexpectedEOF inside one, a *FrameError for a header that no PDU can
// have, or the error of the stream's Read. After any of these the stream is over.
func (r *Reader) Next() (Frame, error) {
	for empty := 0; ; {
		f, ok, err := r.s.Next()
		if err != nil || ok {
			return f, err
		}
		if r.err != nil {
			if errors.Is(r.err, io.EOF) && r.s.Pending() > 0 {
				r.err = io.ErrUnexpectedEOF
			}
			return Frame{}, r.err
		}
		n, err := r.r.Read(r.s.Buffer())
		r.s.Advance(n)
		r.err = err
		if empty++; n > 0 {
			empty = 0
		} else if empty == emptyReads {
			r.err = io.ErrNoProgress
		}
	}
}

// Pending returns the number of bytes that have been read from the stream after the last frame.
func (r *Reader) Pending() int { return r.s.Pending() }

// Writer writes PDUs to a stream, each with one Write. It is for one goroutine at a time.
type Writer struct {
	w   io.Writer
	buf []byte
	use bufferUse
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write encodes m and writes it. from is 0, the number of a client or, in CREDS, a process id.
// A PDU larger than MaxPDU is refused with ErrTooBig and nothing is written. After any other error the
// peer may have got a part of the PDU: the stream is over.
func (w *Writer) Write(m Message, from int32) error { return w.WriteFrame(w.Encode(m, from)) }

// Encode encodes m for WriteFrame. from is as in Write. The frame belongs to the Writer and is valid until
// the next Encode or Write.
func (w *Writer) Encode(m Message, from int32) []byte {
	frame := m.Append(w.buf[:0], from)
	w.buf = frame
	if w.use.tooLarge(cap(frame), len(frame)) {
		w.buf = nil
	}
	return frame
}

// WriteFrame writes a PDU that is encoded already, by [Writer.Encode] or [ResultWriter.Frame]. Errors are those
// of Write. frame is not used after the return.
func (w *Writer) WriteFrame(frame []byte) error {
	if len(frame) > MaxPDU {
		return fmt.Errorf("frame of %d bytes: %w", len(frame), ErrTooBig)
	}
	n, err := w.w.Write(frame)
	if err == nil && n < len(frame) {
		err = io.ErrShortWrite
	}
	return err
}

package pdu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stream is all recorded PDUs of the conversations, end to end, and the frames it has.
func stream(t testing.TB) ([]byte, []Frame) {
	t.Helper()
	var all []byte
	var frames []Frame
	for _, r := range loadConversations(t) {
		all = append(all, r.frame...)
		frames = append(frames, Frame{
			Kind: Kind(binary.BigEndian.Uint32(r.frame[4:])),
			From: int32(binary.BigEndian.Uint32(r.frame[8:])),
			Body: r.frame[HeaderSize:],
		})
	}
	return all, frames
}

func assertFrame(t testing.TB, want, got Frame) {
	t.Helper()
	require.Equal(t, want.Kind, got.Kind)
	require.Equal(t, want.From, got.From)
	require.True(t, bytes.Equal(want.Body, got.Body), "body of %v", want.Kind)
}

func TestReaderAnyPieces(t *testing.T) {
	all, frames := stream(t)
	for _, tt := range []struct {
		name string
		wrap func(io.Reader) io.Reader
	}{
		{"whole", func(r io.Reader) io.Reader { return r }},
		{"one byte at a time", iotest.OneByteReader},
		{"half of what is asked for", iotest.HalfReader},
		{"data with EOF", iotest.DataErrReader},
		{"one byte, data with EOF", func(r io.Reader) io.Reader { return iotest.DataErrReader(iotest.OneByteReader(r)) }},
		{"empty reads between", func(r io.Reader) io.Reader { return &lazyReader{r: iotest.OneByteReader(r)} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReader(tt.wrap(bytes.NewReader(all)), AgentLimit)
			for _, want := range frames {
				got, err := r.Next()
				require.NoError(t, err)
				assertFrame(t, want, got)
			}
			for range 3 {
				_, err := r.Next()
				assert.Equal(t, io.EOF, err)
			}
		})
	}
}

// lazyReader gives nothing every other time, as io.Reader allows.
type lazyReader struct {
	r     io.Reader
	reads int
}

func (r *lazyReader) Read(p []byte) (int, error) {
	if r.reads++; r.reads%2 == 0 {
		return 0, nil
	}
	return r.r.Read(p)
}

func TestReaderEveryPrefix(t *testing.T) {
	for _, v := range loadVectors(t) {
		for n := range v.frame {
			want := io.ErrUnexpectedEOF
			if n == 0 {
				want = io.EOF
			}
			_, err := NewReader(bytes.NewReader(v.frame[:n]), AgentLimit).Next()
			require.Equal(t, want, err, "%s: %d bytes", v.name, n)
		}
	}
}

func TestReaderHeader(t *testing.T) {
	head := func(length, kind uint32) []byte {
		b := binary.BigEndian.AppendUint32(nil, length)
		b = binary.BigEndian.AppendUint32(b, kind)
		return append(binary.BigEndian.AppendUint32(b, 0), make([]byte, 100)...)
	}
	for _, tt := range []struct {
		name  string
		frame []byte
		want  string // error text, "" for a good one
	}{
		{"smallest", head(12, 0x7003), ""},
		{"odd length", head(13, 0x7011), ""},
		{"at the limit", head(64, 0x7003), ""},
		{"above the limit", head(65, 0x7003), "frame of 65 bytes exceeds the limit of 64"},
		{"largest length", head(0x7fffffff, 0x7003), "frame of 2147483647 bytes exceeds the limit of 64"},
		{"shorter than a header", head(11, 0x7003), "frame of 11 bytes is shorter than its header"},
		{"length 0", head(0, 0x7003), "frame of 0 bytes is shorter than its header"},
		{"negative length", head(0xffffffff, 0x7003), "frame of -1 bytes is shorter than its header"},
		{"kind of a later version", head(16, 0x7018), ""},
		{"negative kind", head(16, 0x80007003), "frame with type word 0x80007003 is not a PDU"},
		{"kind 0", head(16, 0), "frame with type word 0x0 is not a PDU"},
		{"kind of another protocol", head(16, 0x8000), "frame with type word 0x8000 is not a PDU"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewReader(bytes.NewReader(tt.frame), 64)
			_, err := r.Next()
			if tt.want == "" {
				assert.NoError(t, err)
				return
			}
			var wrong *FrameError
			require.ErrorAs(t, err, &wrong)
			assert.EqualError(t, err, tt.want)
			assert.ErrorIs(t, err, ErrIPC)
			_, again := r.Next()
			assert.Equal(t, err, again, "the stream is over")
		})
	}
}

func TestReaderErrors(t *testing.T) {
	fault := errors.New("fault")
	frame := (&DescReq{PMID: 1}).Append(nil, 0)

	t.Run("frame first, then the error", func(t *testing.T) {
		r := NewReader(io.MultiReader(bytes.NewReader(frame), iotest.ErrReader(fault)), AgentLimit)
		_, err := r.Next()
		require.NoError(t, err)
		_, err = r.Next()
		assert.Equal(t, fault, err)
	})
	t.Run("error beside the last bytes", func(t *testing.T) {
		r := NewReader(&bytesAndError{frame, fault}, AgentLimit)
		_, err := r.Next()
		require.NoError(t, err)
		_, err = r.Next()
		assert.Equal(t, fault, err)
	})
	t.Run("nothing for ever", func(t *testing.T) {
		_, err := NewReader(&lazyReader{r: bytes.NewReader(nil), reads: 1}, AgentLimit).Next()
		assert.Equal(t, io.EOF, err, "one empty read is no error")
		_, err = NewReader(emptyReader{}, AgentLimit).Next()
		assert.Equal(t, io.ErrNoProgress, err)
	})
}

type bytesAndError struct {
	b   []byte
	err error
}

func (r *bytesAndError) Read(p []byte) (int, error) {
	n := copy(p, r.b)
	r.b = r.b[n:]
	return n, r.err
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

func TestSplitterSplitAnywhere(t *testing.T) {
	all, frames := stream(t)
	for _, chunk := range []int{1, 2, 3, 4, 7, 11, 12, 13, 16, 20, 31, 64, 100, 101, 500, 1000, minBuffer - 1, minBuffer} {
		s := NewSplitter(AgentLimit)
		i := 0
		for rest := all; len(rest) > 0; {
			buf := s.Buffer()
			require.NotEmpty(t, buf)
			n := copy(buf, rest[:min(chunk, len(rest))])
			s.Advance(n)
			rest = rest[n:]
			for {
				f, ok, err := s.Next()
				require.NoError(t, err)
				if !ok {
					break
				}
				assertFrame(t, frames[i], f)
				i++
			}
		}
		require.Equal(t, len(frames), i, "pieces of %d bytes", chunk)
		require.Zero(t, s.Pending())
	}
}

// The announced length costs nothing until bytes arrive.
func TestSplitterMemoryFollowsBytes(t *testing.T) {
	const announced = 200 << 20
	s := NewSplitter(ClientLimit)
	head := binary.BigEndian.AppendUint32(nil, announced)
	head = binary.BigEndian.AppendUint32(head, uint32(KindResult))
	head = binary.BigEndian.AppendUint32(head, 0)
	s.Advance(copy(s.Buffer(), head))
	got := len(head)
	for got < 3<<20 {
		_, ok, err := s.Next()
		require.NoError(t, err)
		require.False(t, ok)
		n := min(len(s.Buffer()), 1000)
		s.Advance(n)
		got += n
		require.LessOrEqual(t, len(s.buf), max(minBuffer, 2*got))
	}
}

func TestBuffersShrinkAfterAnOutlier(t *testing.T) {
	small := (&DescReq{PMID: 1}).Append(nil, 0)
	large := (&Text{Text: string(make([]byte, 4<<20))}).Append(nil, 0)

	t.Run("Reader", func(t *testing.T) {
		r := NewReader(bytes.NewReader(append(bytes.Clone(large), bytes.Repeat(small, 3*useWindow)...)), AgentLimit)
		f, err := r.Next()
		require.NoError(t, err)
		require.Len(t, f.Body, len(large)-HeaderSize)
		require.Greater(t, len(r.s.buf), 4<<20-1)
		for range 3 * useWindow {
			_, err := r.Next()
			require.NoError(t, err)
		}
		_, err = r.Next()
		require.Equal(t, io.EOF, err)
		assert.LessOrEqual(t, len(r.s.buf), retainedBytes)
	})
	t.Run("Writer", func(t *testing.T) {
		w := NewWriter(io.Discard)
		require.NoError(t, w.Write(&Text{Text: string(make([]byte, 4<<20))}, 0))
		require.Greater(t, cap(w.buf), 4<<20)
		for range 2 * useWindow {
			require.NoError(t, w.Write(&DescReq{}, 0))
		}
		assert.LessOrEqual(t, cap(w.buf), retainedBytes)
	})
	t.Run("large PDUs all the time keep it", func(t *testing.T) {
		w := NewWriter(io.Discard)
		m := &Text{Text: string(make([]byte, 1<<20))}
		for range 3 * useWindow {
			require.NoError(t, w.Write(m, 0))
			require.Greater(t, cap(w.buf), 1<<20)
		}
	})
}

type writes struct {
	sizes []int
	bytes.Buffer
}

func (w *writes) Write(p []byte) (int, error) {
	w.sizes = append(w.sizes, len(p))
	return w.Buffer.Write(p)
}

func TestWriterOneWritePerPDU(t *testing.T) {
	var out writes
	w := NewWriter(&out)
	var want []int
	for _, v := range loadVectors(t) {
		m, err := Decode(readFrame(t, v.frame))
		require.NoError(t, err)
		require.NoError(t, w.Write(m, v.from()))
		require.NoError(t, w.WriteFrame(v.frame))
		want = append(want, len(v.frame), len(v.frame))
	}
	assert.Equal(t, want, out.sizes)
	r := NewReader(&out, AgentLimit)
	for _, v := range loadVectors(t) {
		for range 2 {
			f, err := r.Next()
			require.NoError(t, err)
			require.Equal(t, v.kind(), f.Kind)
			require.Equal(t, v.from(), f.From)
		}
	}
}

type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestWriterErrors(t *testing.T) {
	fault := errors.New("fault")
	_, pipe := io.Pipe()
	require.NoError(t, pipe.CloseWithError(fault))
	assert.Equal(t, io.ErrClosedPipe, NewWriter(pipe).Write(&DescReq{}, 0))
	assert.Equal(t, io.ErrShortWrite, NewWriter(shortWriter{}).Write(&DescReq{}, 0))
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A Writer that has encoded a large PDU keeps its memory for a while, and not for ever.
func TestWriterGivesMemoryBack(t *testing.T) {
	w := NewWriter(io.Discard)
	large, small := &PMNSNames{Names: []string{strings.Repeat("x", 1<<20)}}, &Fetch{}
	w.Encode(large, 0)
	w.Encode(small, 0)
	require.Greater(t, cap(w.buf), 1<<20, "it may come again")
	for range 2 * useWindow {
		w.Encode(small, 0)
	}
	assert.Less(t, cap(w.buf), 1<<20)
}

package pdu

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzDecode: what can be decoded can be encoded, and that is stable: decoding it again gives the
// same bytes, whatever the message held before.
func FuzzDecode(f *testing.F) {
	for _, v := range loadVectors(f) {
		f.Add(uint8(v.kind()-firstKind), v.body())
	}
	for _, m := range allMalformed() {
		f.Add(uint8(m.kind-firstKind), m.body)
	}
	f.Fuzz(func(t *testing.T, k uint8, body []byte) {
		kind := firstKind + Kind(k)
		m := New(kind)
		if m == nil {
			return
		}
		before := bytes.Clone(body)
		err := m.Decode(body)
		require.True(t, bytes.Equal(before, body), "the body is only read")
		if err != nil {
			require.ErrorIs(t, err, ErrIPC)
			return
		}
		require.NotContains(t, m.String(), "\n")
		frame := m.Append(nil, 5)
		got, err := NewReader(bytes.NewReader(frame), MaxPDU).Next()
		require.NoError(t, err)
		require.Equal(t, kind, got.Kind)
		require.Equal(t, int32(5), got.From)
		again := New(kind)
		require.NoError(t, again.Decode(got.Body))
		require.Equal(t, frame, again.Append(nil, 5))
		require.NoError(t, again.Decode(body), "into a used message")
		require.Equal(t, frame, again.Append(nil, 5))
	})
}

// FuzzReader: any bytes in any pieces give the same frames and the same end.
func FuzzReader(f *testing.F) {
	all, _ := stream(f)
	f.Add(all[:500], []byte{1})
	f.Add(all[:200], []byte{200, 3, 77})
	f.Add([]byte("\x00\x00\x00\x0b\x00\x00\x70\x00"), []byte{5})
	f.Add(
		[]byte("\x00\x00\x00\x0c\x00\x00\x70\x00\x00\x00\x00\x07\x7f\xff\xff\xff\x00\x00\x70\x03\x00\x00\x00\x00abc"),
		[]byte{13, 1},
	)
	for _, length := range []string{"\x00\x00\x00\x00", "\x00\x00\x00\x03", "\x80\x00\x00\x0c", "\xff\xff\xff\xf4"} {
		f.Add([]byte(length+"\x00\x00\x70\x00\x00\x00\x00\x07\x7f\xff\xff\xff"), []byte{5})
	}
	f.Fuzz(func(t *testing.T, data, sizes []byte) {
		want, wantErr := readAll(NewReader(bytes.NewReader(data), AgentLimit))
		got, gotErr := readAll(NewReader(&pieces{data: data, sizes: sizes}, AgentLimit))
		require.Equal(t, wantErr, gotErr)
		require.Len(t, got, len(want))
		for i := range want {
			assertFrame(t, want[i], got[i])
		}
		total := 0
		for _, frame := range want {
			total += HeaderSize + len(frame.Body)
		}
		if errors.Is(wantErr, io.EOF) {
			assert.Equal(t, len(data), total)
		} else {
			assert.Less(t, total, len(data))
		}
	})
}

func readAll(r *Reader) ([]Frame, error) {
	var all []Frame
	for {
		f, err := r.Next()
		if err != nil {
			return all, err
		}
		f.Body = bytes.Clone(f.Body)
		all = append(all, f)
	}
}

// pieces gives data in pieces of the sizes in turn, sometimes none.
type pieces struct {
	data, sizes []byte
	turn        int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	size := 1
	if len(p.sizes) > 0 && p.turn%2 == 0 {
		size = int(p.sizes[p.turn/2%len(p.sizes)])
	}
	p.turn++
	n := copy(b, p.data[:min(size, len(p.data))])
	p.data = p.data[n:]
	if len(p.data) == 0 {
		return n, io.EOF
	}
	return n, nil
}

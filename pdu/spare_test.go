package pdu

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// largeFrame is a frame of n bytes whose last one is mark.
func largeFrame(n int, mark byte) []byte {
	frame := make([]byte, n)
	binary.BigEndian.PutUint32(frame, uint32(n))
	binary.BigEndian.PutUint32(frame[4:], uint32(KindResult))
	frame[n-1] = mark
	return frame
}

// feed lets a Splitter read all of stream and returns the only frame in it.
func feed(t *testing.T, s *Splitter, stream []byte) Frame {
	t.Helper()
	for len(stream) > 0 {
		n := copy(s.Buffer(), stream)
		stream = stream[n:]
		s.Advance(n)
		if f, ok, err := s.Next(); ok || err != nil {
			require.NoError(t, err)
			require.Empty(t, stream)
			return f
		}
	}
	require.FailNow(t, "no frame")
	return Frame{}
}

func TestSplitterReleases(t *testing.T) {
	s := NewSplitter(AgentLimit)
	for i := range 10 {
		large := largeFrame(20*retainedBytes, byte(i))
		require.Equal(t, large[HeaderSize:], feed(t, s, large).Body)
		s.Release()
		assert.LessOrEqual(t, len(s.buf), retainedBytes)
		small := largeFrame(100, byte(i))
		require.Equal(t, small[HeaderSize:], feed(t, s, small).Body)
		s.Release()
		assert.Zero(t, s.Pending())
		if i%3 == 0 {
			runtime.GC() // may take the memory away
		}
	}

	large := largeFrame(20*retainedBytes, 1)
	feed(t, s, large)
	n := copy(s.Buffer(), large[:100])
	s.Advance(n)
	s.Release()
	require.Equal(t, n, s.Pending(), "the beginning of the next frame stays")
	require.Equal(t, large[HeaderSize:], feed(t, s, large[n:]).Body)
}

// Memory that is lent again and again is allocated once; two collections take it away.
func TestLargeMessagesNeedNoMemoryBetween(t *testing.T) {
	const size = 8 << 20
	inUse := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	large := largeFrame(size, 1)
	bits, insts := make([]uint64, size/20), make([]Inst, size/20)
	s, w := NewSplitter(AgentLimit), &ResultWriter{}
	before := inUse()
	feed(t, s, large)
	w.Reset()
	w.Numbers(NewPMID(1, 1, 1), TypeDouble, insts, bits)
	length := len(w.Frame(0, 0))
	assert.GreaterOrEqual(t, inUse(), before+size)
	s.Release()
	w.Release()
	assert.Less(t, inUse(), before+size/8)

	// One allocation of the right size brings it back.
	w.Reset()
	w.Numbers(NewPMID(1, 1, 1), TypeDouble, insts, bits)
	assert.Len(t, w.Frame(0, 0), length)
	feed(t, s, large)
	assert.Len(t, s.buf, len(large))
	runtime.KeepAlive(large)
}

func TestResultWriterReleases(t *testing.T) {
	id := NewPMID(1, 1, 1)
	bits, insts := make([]uint64, 10_000), make([]Inst, 10_000)
	var w, fresh ResultWriter
	for _, n := range []int{10_000, 10, 10_000, 9_999, 1, 5_000} {
		for i := range n {
			bits[i], insts[i] = uint64(n+i), Inst(i)
		}
		w.Reset()
		fresh = ResultWriter{}
		for _, to := range []*ResultWriter{&w, &fresh} {
			to.Numbers(id, TypeU64, insts[:n], bits[:n])
		}
		require.Equal(t, fresh.Frame(7, 0), w.Frame(7, 0), "%d values", n)
		w.Release()
		assert.LessOrEqual(t, cap(w.sets.data), retainedBytes)
		assert.LessOrEqual(t, cap(w.blocks.data), retainedBytes)
	}
}

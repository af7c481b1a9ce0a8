package mmv

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"testing"

	"github.com/performancecopilot/speed/v4"
	"github.com/stretchr/testify/require"
)

// FuzzLayout sorts the sections of any file: nothing outside of them is touched, no block is lost, and what
// is no such file is an error.
func FuzzLayout(f *testing.F) {
	header := make([]byte, tocStart+2*speed.TocLength)
	binary.LittleEndian.PutUint32(header[tocCount:], 2)
	for i, kind := range []uint32{sectionInstances, sectionValues} {
		toc := header[tocStart+i*speed.TocLength:]
		binary.LittleEndian.PutUint32(toc, kind)
		binary.LittleEndian.PutUint32(toc[4:], 2)
		binary.LittleEndian.PutUint64(toc[8:], uint64(len(header)+i*2*speed.Instance1Length))
	}
	f.Add(append(header, make([]byte, 2*speed.Instance1Length+2*speed.ValueLength)...))
	f.Add(header)
	f.Add([]byte("MMV\x00\x01\x00\x00\x00"))
	lying := bytes.Clone(header)
	binary.LittleEndian.PutUint64(lying[tocStart+8:], 1<<63)
	binary.LittleEndian.PutUint32(lying[tocStart+4:], 1<<32-1)
	f.Add(lying)
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := findSection(data, sectionValues, speed.ValueLength)
		if err != nil {
			require.ErrorIs(t, err, errLayout)
			return
		}
		s, err := findSection(data, sectionInstances, speed.Instance1Length)
		if err != nil {
			require.ErrorIs(t, err, errLayout)
			return
		}
		if s.offset < values.end() && values.offset < s.end() {
			return // they overlap, as no file of speed's does
		}
		key := func(block []byte) int { return int(binary.LittleEndian.Uint32(block[instanceID:])) }
		before := bytes.Clone(data)
		s.sort(data, values, valueInstance, key)
		require.Equal(t, before[:min(s.offset, values.offset)], data[:min(s.offset, values.offset)])
		require.Equal(t, before[max(s.end(), values.end()):], data[max(s.end(), values.end()):])
		sum := func(all []byte) (n int) {
			for _, b := range all[s.offset:s.end()] {
				n += int(b)
			}
			return n
		}
		require.Equal(t, sum(before), sum(data))
		for at := s.offset + s.block; at < s.end(); at += s.block {
			require.LessOrEqual(t, cmp.Compare(key(data[at-s.block:]), key(data[at:])), 0)
		}
	})
}

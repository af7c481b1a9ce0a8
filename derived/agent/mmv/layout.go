package mmv

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"github.com/performancecopilot/speed/v4"
)

// Places in blocks of the format, version 1, in bytes. Source: mmv(5).
const (
	tocCount = 24 // in the header
	tocStart = speed.HeaderLength

	metricName    = 0
	instanceID    = 12
	valueMetric   = 16 // offset of its metric
	valueInstance = 24 // offset of its instance
)

// Kinds of sections.
const (
	sectionInstances = 2
	sectionMetrics   = 3
	sectionValues    = 4
)

var errLayout = errors.New("speed has written a file of another layout")

// sortFile gives instances the order of their numbers, and metrics the reverse order of the table, which
// the MMV agent turns round once more. speed writes both in the order of a Go map, another one each time,
// and that is how tools would show them. It must be done before others see the file.
func sortFile(f *os.File, size int64, all []metric) error {
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil {
		return err
	}
	values, err := findSection(data, sectionValues, speed.ValueLength)
	if err != nil {
		return err
	}
	metrics, err := findSection(data, sectionMetrics, speed.Metric1Length)
	if err != nil {
		return err
	}
	instances, err := findSection(data, sectionInstances, speed.Instance1Length)
	if err != nil {
		return err
	}
	order := make(map[string]int, len(all))
	for i, m := range all {
		order[m.name] = -i
	}
	metrics.sort(data, values, valueMetric, func(block []byte) int {
		name, _, _ := bytes.Cut(block[metricName:metricName+maxName+1], []byte{0})
		return order[string(name)]
	})
	instances.sort(data, values, valueInstance, func(block []byte) int {
		return int(binary.LittleEndian.Uint32(block[instanceID:]))
	})
	// Only these: of values, speed knows the places and nothing else does.
	for _, s := range []section{metrics, instances, values} {
		if _, err := f.WriteAt(data[s.offset:s.end()], int64(s.offset)); err != nil {
			return err
		}
	}
	return nil
}

// section is a run of blocks of one size.
type section struct {
	offset, count, block int
}

func (s section) end() int { return s.offset + s.count*s.block }

// findSection looks a kind of section up in the table of contents.
func findSection(data []byte, kind uint32, block int) (section, error) {
	if len(data) < tocStart {
		return section{}, errLayout
	}
	for i := range int(binary.LittleEndian.Uint32(data[tocCount:])) {
		at := tocStart + i*speed.TocLength
		if at+speed.TocLength > len(data) {
			break
		}
		if binary.LittleEndian.Uint32(data[at:]) != kind {
			continue
		}
		s := section{
			offset: int(binary.LittleEndian.Uint64(data[at+8:])),
			count:  int(binary.LittleEndian.Uint32(data[at+4:])),
			block:  block,
		}
		if s.offset < 0 || s.offset > len(data) || s.end() > len(data) {
			return section{}, errLayout
		}
		return s, nil
	}
	return section{}, errLayout
}

// sort orders the blocks by key and corrects the values, which refer to them by their offset, found at
// reference in each.
func (s section) sort(data []byte, values section, reference int, key func(block []byte) int) {
	type placed struct {
		from  int
		block []byte
	}
	blocks := make([]placed, s.count)
	for i := range blocks {
		from := s.offset + i*s.block
		blocks[i] = placed{from, bytes.Clone(data[from : from+s.block])}
	}
	slices.SortFunc(blocks, func(a, b placed) int { return cmp.Compare(key(a.block), key(b.block)) })
	moved := make(map[uint64]uint64, s.count)
	for i, b := range blocks {
		to := s.offset + i*s.block
		copy(data[to:], b.block)
		moved[uint64(b.from)] = uint64(to)
	}
	for at := values.offset; at < values.end(); at += values.block {
		place := data[at+reference:]
		if to, ok := moved[binary.LittleEndian.Uint64(place)]; ok {
			binary.LittleEndian.PutUint64(place, to)
		}
	}
}

package operand

import (
	"slices"

	"pmdaderived/pdu"
)

// Source has operands that are always fetched together, so that their values have one time stamp.
type Source interface {
	comparable
	Operands() []pdu.Desc // the same at each call
	Size() int            // expected number of values
}

// Batch has the sources of one fetch and their operands, each once. It is immutable.
type Batch[S Source] struct {
	*List
	Sources []S
	indexes []int32 // in List, of the operands of each source in turn
}

// CountValues calls yield with each source and the number of values that a sample of the batch has for it.
func (b *Batch[S]) CountValues(s *Sample, yield func(source S, values int)) {
	indexes := b.indexes
	for _, source := range b.Sources {
		n, values := len(source.Operands()), 0
		for _, at := range indexes[:n] {
			values += s.vectors[at].Len()
		}
		indexes = indexes[n:]
		yield(source, values)
	}
}

// Size returns the expected number of values of a sample.
func (b *Batch[S]) Size() int {
	values := 0
	for _, s := range b.Sources {
		values += s.Size()
	}
	return values
}

// matches reports whether newBatch would return an equal batch for the waiting sources.
func (b *Batch[S]) matches(waiting []S, operands, values int) bool {
	n := len(b.Sources)
	if n == 0 || n > len(waiting) || !slices.Equal(b.Sources, waiting[:n]) {
		return false
	}
	size := b.Size()
	if n > 1 && (len(b.IDs) > operands || size > values) {
		return false
	}
	return n == len(waiting) || len(b.IDs)+len(waiting[n].Operands()) > operands || size+waiting[n].Size() > values
}

// maxBatches limits the remembered batches. Clients fetch the same metrics again and again, and several clients fetch
// different metrics in turns.
const maxBatches = 8

// BatchCache makes batches and remembers the last ones. Batches of the same sources are the same pointer.
type BatchCache[S Source] struct {
	recent  []*Batch[S]        // the last one first
	indexOf map[pdu.PMID]int32 // scratch space of newBatch
}

// Batch returns a batch of the first waiting sources, as many as fit. It has at least one source, and at most so many
// operands and expected values unless that source alone has more. The operands of one source stay together.
func (bs *BatchCache[S]) Batch(waiting []S, operands, values int) *Batch[S] {
	for i, b := range bs.recent {
		if b.matches(waiting, operands, values) {
			copy(bs.recent[1:i+1], bs.recent)
			bs.recent[0] = b
			return b
		}
	}
	if len(bs.recent) < maxBatches {
		bs.recent = append(bs.recent, nil)
	}
	copy(bs.recent[1:], bs.recent)
	bs.recent[0] = bs.newBatch(waiting, operands, values)
	return bs.recent[0]
}

// Clear drops all batches, and so the references to their sources.
func (bs *BatchCache[S]) Clear() { bs.recent = nil }

// newBatch returns a batch of the first sources, as many as fit.
func (bs *BatchCache[S]) newBatch(sources []S, operands, values int) *Batch[S] {
	if bs.indexOf == nil {
		bs.indexOf = make(map[pdu.PMID]int32)
	}
	clear(bs.indexOf)
	b := &Batch[S]{}
	var descs []pdu.Desc
	total := 0
	for i, s := range sources {
		total += s.Size()
		if i > 0 && (len(descs)+len(s.Operands()) > operands || total > values) {
			break
		}
		b.Sources = append(b.Sources, s)
		for _, d := range s.Operands() {
			at, ok := bs.indexOf[d.PMID]
			if !ok {
				at = int32(len(descs))
				bs.indexOf[d.PMID] = at
				descs = append(descs, d)
			}
			b.indexes = append(b.indexes, at)
		}
	}
	b.List = NewList(descs...)
	return b
}

package operand

import (
	"slices"

	"pmdaderived/pdu"
)

// Source is what has operands that are fetched together.
type Source interface {
	comparable
	Operands() []pdu.Desc // always the same
	Size() int            // how many values they will have
}

// Batch is what one fetch is for: some sources and their operands, each once. Immutable.
type Batch[S Source] struct {
	*List
	Sources []S
	indexes []int32 // of the operands of each source in turn, in the list
}

// CountValues calls yield with each source and how many values a sample of the batch has for it.
func (b *Batch[S]) CountValues(s *Sample, yield func(source S, values int)) {
	places := b.indexes
	for _, source := range b.Sources {
		n, values := len(source.Operands()), 0
		for _, at := range places[:n] {
			values += s.vectors[at].Len()
		}
		places = places[n:]
		yield(source, values)
	}
}

// Size is how many values a sample will have.
func (b *Batch[S]) Size() int {
	values := 0
	for _, s := range b.Sources {
		values += s.Size()
	}
	return values
}

// matches reports whether b is still what make would make of the waiting sources.
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

// maxBatches is how many batches are remembered: clients fetch the same metrics again and again, but different ones
// at the same time.
const maxBatches = 8

// BatchCache makes batches. It remembers the last ones: those of the same sources are the same.
type BatchCache[S Source] struct {
	recent  []*Batch[S]        // the last one first
	indexOf map[pdu.PMID]int32 // scratch space
}

// Batch returns a batch of as many of the waiting sources, of which there is one, as one fetch may be for: it has
// at most so many operands and values, unless a single source has more. The operands of one source are never parted:
// they have one time stamp.
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

// Forget drops all batches and the sources in them.
func (bs *BatchCache[S]) Clear() { bs.recent = nil }

// newBatch makes a batch of the first sources, as many as fit.
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

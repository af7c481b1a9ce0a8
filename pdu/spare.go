package pdu

import "sync"

// spare keeps the memory of a large message for the next one. Where none comes between two collections of garbage
// it is given back: so large messages need no allocations, and no memory once there are none. The zero
// value is ready.
type spare struct {
	pool sync.Pool
	lent *block // what was taken last
}

// block is what the pool keeps: a pointer, since a slice would be allocated each time.
type block struct{ memory []byte }

// get returns memory of n bytes at least, or nil. It is lent to one at a time.
func (s *spare) get(n int) []byte {
	kept, ok := s.pool.Get().(*block)
	if !ok || len(kept.memory) < n {
		return nil
	}
	s.lent = kept
	return kept.memory
}

// put keeps memory, from get or not.
func (s *spare) put(memory []byte) {
	kept := s.lent
	if kept == nil {
		kept = &block{}
	}
	s.lent = nil
	kept.memory = memory
	s.pool.Put(kept)
}

// buffer is memory that is written piece by piece. The zero value is ready.
type buffer struct {
	data  []byte // as far as it is written
	small []byte // data before it was large
	large spare
}

// extend returns the next n bytes of the buffer. They hold anything.
func (b *buffer) extend(n int) []byte {
	end := len(b.data) + n
	if end > cap(b.data) {
		b.grow(end)
	}
	b.data = b.data[:end]
	return b.data[end-n:]
}

// grow makes room for n bytes in all and some more.
func (b *buffer) grow(n int) {
	var grown []byte
	size := max(n+n/2, minBuffer)
	switch {
	case n <= retainedBytes:
		size = min(size, retainedBytes)
	case cap(b.data) <= retainedBytes:
		b.small = b.data[:0]
		grown = b.large.get(n)
	default:
	}
	if grown == nil {
		grown = make([]byte, size)
	}
	b.data = append(grown[:0], b.data...)
}

// release empties the buffer. Memory of up to retainedBytes stays, more is spare.
func (b *buffer) release() {
	if cap(b.data) > retainedBytes {
		b.large.put(b.data[:cap(b.data)])
		b.data, b.small = b.small, nil
	}
	b.data = b.data[:0]
}

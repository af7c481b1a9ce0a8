package pdu

import "sync"

// spare stores the memory of a large message for the next one. The garbage collector frees it when no large message
// comes between two collections. So a series of large messages allocates once, and its memory does not stay. The
// zero value is ready.
type spare struct {
	pool sync.Pool
	lent *block // the block whose memory get returned
}

// block is an element of the pool. It is a pointer because a slice in an interface would be allocated at each Put.
type block struct{ memory []byte }

// get returns memory of n bytes at least, or nil. The caller gives it back with put before the next get.
func (s *spare) get(n int) []byte {
	b, ok := s.pool.Get().(*block)
	if !ok || len(b.memory) < n {
		return nil
	}
	s.lent = b
	return b.memory
}

// put stores memory for the next get. It need not come from get.
func (s *spare) put(memory []byte) {
	b := s.lent
	if b == nil {
		b = &block{}
	}
	s.lent = nil
	b.memory = memory
	s.pool.Put(b)
}

// buffer is memory that is written piece by piece. The zero value is ready.
type buffer struct {
	data  []byte // the bytes that are written so far
	small []byte // the array of data before data was large; release returns to it
	large spare
}

// extend returns the next n bytes of the buffer, for the caller to write. Their content is unspecified.
func (b *buffer) extend(n int) []byte {
	end := len(b.data) + n
	if end > cap(b.data) {
		b.grow(end)
	}
	b.data = b.data[:end]
	return b.data[end-n:]
}

// grow makes room for n bytes in all, and for half as many more.
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

// release empties the buffer. It keeps up to retainedBytes of memory and puts a larger array into the spare.
func (b *buffer) release() {
	if cap(b.data) > retainedBytes {
		b.large.put(b.data[:cap(b.data)])
		b.data, b.small = b.small, nil
	}
	b.data = b.data[:0]
}

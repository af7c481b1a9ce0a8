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

// take returns memory of n bytes at least, or nil. It is lent to one at a time.
func (s *spare) take(n int) []byte {
	kept, ok := s.pool.Get().(*block)
	if !ok || len(kept.memory) < n {
		return nil
	}
	s.lent = kept
	return kept.memory
}

// put keeps memory, from take or not.
func (s *spare) put(memory []byte) {
	kept := s.lent
	if kept == nil {
		kept = &block{}
	}
	s.lent = nil
	kept.memory = memory
	s.pool.Put(kept)
}

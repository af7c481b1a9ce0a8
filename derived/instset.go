package derived

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"

	"pmdaderived/pdu"
)

// InstSet is an ordered list of instances, normally distinct. It is immutable and meant to be
// shared: operators find out by comparing pointers that two operands have the same instances, so
// whoever makes samples should use one InstSet again while the instances stay the same.
//
// What is found out about a set is kept with it, for all evaluations that meet it.
type InstSet struct {
	ids   []pdu.Inst
	index atomic.Pointer[index]   // made when first needed
	self  atomic.Pointer[token]   // made when first needed
	joins [2]atomic.Pointer[join] // the last ones with this set on the left
}

// token stands for a set in the joins of others, which must not keep the set itself: in a system where
// instances come and go every set is joined with the one before, back to the first.
type token struct{ _ byte }

// NewInstSet makes a set of the given instances and keeps ids.
func NewInstSet(ids []pdu.Inst) *InstSet { return &InstSet{ids: ids} }

// IDs returns the instances in order; read-only.
func (s *InstSet) IDs() []pdu.Inst {
	if s == nil {
		return nil
	}
	return s.ids
}

// Len is the number of instances.
func (s *InstSet) Len() int { return len(s.ids) }

// Index returns the position of an instance, of its first occurrence if there are several, or -1.
// Safe for concurrent use.
func (s *InstSet) Index(id pdu.Inst) int { return s.indexed().find(s.ids, id) }

// near is Index for an instance that is probably at the position hint.
func (s *InstSet) near(id pdu.Inst, hint int) int {
	if hint < len(s.ids) && s.ids[hint] == id {
		return hint
	}
	return s.Index(id)
}

// token returns what stands for s.
func (s *InstSet) token() *token {
	if t := s.self.Load(); t != nil {
		return t
	}
	s.self.CompareAndSwap(nil, &token{})
	return s.self.Load()
}

// indexed returns the index of s. Two makers at once make equal ones.
func (s *InstSet) indexed() *index {
	if x := s.index.Load(); x != nil {
		return x
	}
	x := newIndex(s.ids)
	s.index.Store(x)
	return x
}

// index finds the positions of instances: in a table with a slot for every number between the lowest
// and the highest instance if that is not much longer than the list, else in a hash table with
// linear probing. Slots hold positions plus 1.
type index struct {
	low    pdu.Inst
	direct []uint32
	hashed []uint32 // a power of two, at most half full
	factor uint64   // odd and random: whoever numbers instances cannot know which ones collide
	shift  int
}

// sparseness is how many slots for each instance a direct table may have.
const sparseness = 4

func newIndex(ids []pdu.Inst) *index {
	x := &index{}
	if len(ids) == 0 {
		return x
	}
	low, high := ids[0], ids[0]
	for _, id := range ids {
		low, high = min(low, id), max(high, id)
	}
	if width := int64(high) - int64(low) + 1; width <= sparseness*int64(len(ids)) {
		x.low, x.direct = low, make([]uint32, width)
		for i := len(ids) - 1; i >= 0; i-- {
			x.direct[ids[i]-low] = uint32(i + 1)
		}
		return x
	}
	width := bits.Len(uint(2*len(ids) - 1))
	x.hashed, x.shift, x.factor = make([]uint32, 1<<width), 64-width, rand.Uint64()|1
	for i, id := range ids {
		if at := x.slot(ids, id); x.hashed[at] == 0 {
			x.hashed[at] = uint32(i + 1)
		}
	}
	return x
}

// slot returns where an instance is in the hash table, or the free slot where it would be.
func (x *index) slot(ids []pdu.Inst, id pdu.Inst) int {
	mask := len(x.hashed) - 1
	at := int(uint64(uint32(id)) * x.factor >> x.shift)
	for {
		at &= mask
		if i := x.hashed[at]; i == 0 || ids[i-1] == id {
			return at
		}
		at++
	}
}

// find returns the position of id among the ids that the index was made of, -1 if it is not there.
func (x *index) find(ids []pdu.Inst, id pdu.Inst) int {
	if x.hashed != nil {
		return int(x.hashed[x.slot(ids, id)]) - 1
	}
	if at := int64(id) - int64(x.low); at >= 0 && at < int64(len(x.direct)) {
		return int(x.direct[at]) - 1
	}
	return -1
}

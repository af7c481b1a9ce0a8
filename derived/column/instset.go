package column

import (
	"slices"
	"sync/atomic"

	"pmdaderived/pdu"
)

// InstSet is an ordered list of instances, normally distinct. It is immutable and meant to be shared: operators compare
// pointers to see that two operands have the same instances. So samples should share one InstSet while the instances
// stay the same.
//
// A set keeps its index and its last joins, for all evaluations that use it.
type InstSet struct {
	ids   []pdu.Inst
	index atomic.Pointer[map[pdu.Inst]int32] // the position of each; nil: not yet needed
	self  atomic.Pointer[token]              // nil: not yet needed
	joins [2]atomic.Pointer[Join]            // the last ones with this set on the left
}

// token identifies a set in the joins of others, which must not keep the set itself: where instances come and go, each
// set is joined with the one before, so that all sets would stay in memory.
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

// Len returns the number of instances.
func (s *InstSet) Len() int { return len(s.ids) }

// Union returns the set of the instances of s and t. It is s itself if both are equal, and t if s is t without some
// instances. Nil is an empty set.
func (s *InstSet) Union(t *InstSet) *InstSet {
	same := 0 // of s, in the order of t
	for _, id := range t.IDs() {
		if same < len(s.IDs()) && s.ids[same] == id {
			same++
		}
	}
	switch same {
	case len(t.IDs()):
		return s
	case len(s.IDs()):
		return t
	}
	ids := slices.Clone(t.ids)
	for k, id := range s.ids {
		if t.Near(id, k) < 0 {
			ids = append(ids, id)
		}
	}
	return NewInstSet(ids)
}

// HasAll reports whether s has every instance of t.
func (s *InstSet) HasAll(t *InstSet) bool {
	if s == t {
		return true
	}
	for k, id := range t.IDs() {
		if s.Near(id, k) < 0 {
			return false
		}
	}
	return true
}

// Index returns the position of an instance, of its first occurrence if there are several, or -1.
// Safe for concurrent use.
func (s *InstSet) Index(id pdu.Inst) int {
	if at, ok := s.indexed()[id]; ok {
		return int(at)
	}
	return -1
}

// Near is Index for an instance that is probably at the position hint.
func (s *InstSet) Near(id pdu.Inst, hint int) int {
	if hint < len(s.ids) && s.ids[hint] == id {
		return hint
	}
	return s.Index(id)
}

// token returns the token of s.
func (s *InstSet) token() *token {
	if t := s.self.Load(); t != nil {
		return t
	}
	s.self.CompareAndSwap(nil, &token{})
	return s.self.Load()
}

// indexed returns the position of each instance. Two goroutines that make the map at the same time make equal ones.
func (s *InstSet) indexed() map[pdu.Inst]int32 {
	if known := s.index.Load(); known != nil {
		return *known
	}
	made := make(map[pdu.Inst]int32, len(s.ids))
	for i := len(s.ids) - 1; i >= 0; i-- {
		made[s.ids[i]] = int32(i)
	}
	s.index.Store(&made)
	return made
}

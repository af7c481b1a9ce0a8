package interp

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/archive/metadata"
)

// series has the values of a metric around now, of one segment.
type series struct {
	desc   pdu.Desc
	domain *metadata.InDom      // nil: the metric is singular
	newest column               // the last record up to now
	older  map[pdu.Inst]*sample // the last values of instances that are not in newest
	ahead  []column             // records after now, up to the next mark at most

	later map[pdu.Inst]*sample   // the next values of instances that findMissing has searched for
	last  map[pdu.Inst]time.Time // once the segment is scanned: the times of the last values of instances

	present map[pdu.Inst]bool // of a discrete metric: the instances that have had a value and are not dropped
	dropped map[pdu.Inst]bool // the instances that dropGone has dropped: they have no value until the next restart

	value pdu.Column // of the last fetch
	skips bool       // the next fetch returns no value: this is a counter, and a mark came after its last value
}

func newSeries(m *metadata.Metadata, desc pdu.Desc) *series {
	s := &series{desc: desc}
	if desc.InDom != pdu.NoInDom {
		if s.domain = m.InDoms[desc.InDom]; s.domain == nil {
			s.domain = &metadata.InDom{}
		}
	}
	return s
}

// column has the values of a metric in a record. The zero value means that there is no record.
type column struct {
	t     time.Time
	insts []pdu.Inst
	bits  []uint64
	blobs [][]byte
}

// sample is one value of an instance.
type sample struct {
	t    time.Time // of the record
	bits uint64
	blob []byte
}

// makeSingular keeps the first value of a column and makes its instance NoInst: archives that were converted from
// version 1 have any instance number for a singular metric.
func (c *column) makeSingular() {
	if len(c.insts) == 1 && c.insts[0] == pdu.NoInst {
		return
	}
	c.insts = []pdu.Inst{pdu.NoInst}
	if c.bits != nil {
		c.bits = c.bits[:1]
	} else {
		c.blobs = c.blobs[:1]
	}
}

func (c *column) sample(i int) sample {
	s := sample{t: c.t}
	if c.bits != nil {
		s.bits = c.bits[i]
	} else {
		s.blob = c.blobs[i]
	}
	return s
}

// clone returns copies of values that are not numeric, which are borrowed from the record.
func clone(blobs [][]byte) [][]byte {
	if blobs == nil {
		return nil
	}
	owned := make([][]byte, len(blobs))
	for i, b := range blobs {
		owned[i] = bytes.Clone(b)
	}
	return owned
}

// fits reports whether values of a type can be read as values of type t, that of the descriptor.
func fits(values, t pdu.Type) bool {
	switch {
	case values == t:
		return t.Numeric() || t == pdu.TypeString || t == pdu.TypeAggregate || t == pdu.TypeAggregateStatic
	case values == pdu.TypeUnknown: // in situ
		return t == pdu.Type32 || t == pdu.TypeU32 || t == pdu.TypeFloat
	case t == pdu.TypeAggregate || t == pdu.TypeAggregateStatic:
		return values == pdu.TypeAggregate || values == pdu.TypeAggregateStatic
	}
	return false
}

// add makes c, a record that is newer than all others, the newest.
func (s *series) add(c column) {
	if !slices.Equal(s.newest.insts, c.insts) {
		if s.older == nil {
			s.older = make(map[pdu.Inst]*sample)
		}
		for i, id := range s.newest.insts {
			one := s.newest.sample(i)
			s.older[id] = &one
		}
		for _, id := range c.insts {
			delete(s.older, id)
		}
	}
	s.newest = c
}

// addOlder adds the values of old, which are older than all values of s, for instances that have none.
func (s *series) addOlder(old *series) {
	if len(s.newest.insts) == 0 {
		s.newest, s.older = old.newest, old.older
		return
	}
	has := make(map[pdu.Inst]bool)
	for _, id := range s.newest.insts {
		has[id] = true
	}
	if s.older == nil {
		s.older = make(map[pdu.Inst]*sample)
	}
	for i, id := range old.newest.insts {
		if s.older[id] == nil && !has[id] {
			one := old.newest.sample(i)
			s.older[id] = &one
		}
	}
	for id, one := range old.older {
		if s.older[id] == nil && !has[id] {
			s.older[id] = one
		}
	}
}

// fewInstances is the number of instances up to which dropGone drops none, as in libpcp.
const fewInstances = 15

// dropGone drops instances that are in no later record of their domain. It does so only for a discrete metric with
// many instances: without a next record a discrete value would stay for ever.
func (s *series) dropGone(now time.Time) {
	if s.domain == nil || s.desc.Sem != pdu.SemDiscrete {
		return
	}
	if s.present == nil {
		s.present, s.dropped = make(map[pdu.Inst]bool), make(map[pdu.Inst]bool)
	}
	for _, id := range s.newest.insts {
		if !s.dropped[id] {
			s.present[id] = true
		}
	}
	if len(s.present) <= fewInstances {
		return
	}
	state := s.domain.Until(now) - 1
	for id := range s.present {
		if last, ok := s.domain.Last[id]; !ok || last < state {
			delete(s.present, id)
			s.dropped[id] = true
			delete(s.older, id)
		}
	}
}

// exists reports whether an instance may have a value: its domain has it at some time, and it was not dropped.
func (s *series) exists(id pdu.Inst) bool {
	_, ok := s.domain.Last[id]
	return ok && !s.dropped[id]
}

// pending reports whether the value of a series depends on records after now.
func (s *series) pending() bool {
	return s.desc.Sem != pdu.SemDiscrete && len(s.newest.insts)+len(s.older) > 0
}

// unresolved yields the instances that have a value up to now, if it is not known whether they have one after now.
// rest is unread or scanned.
func (s *series) unresolved(now time.Time, rest rest) iter.Seq[pdu.Inst] {
	return func(yield func(pdu.Inst) bool) {
		open := func(id pdu.Inst, i int) bool {
			if rest == scanned && !s.last[id].After(now) {
				return false
			}
			_, ok := s.next(id, i, now)
			return !ok
		}
		if !s.newest.t.Equal(now) {
			for i, id := range s.newest.insts {
				if open(id, i) && !yield(id) {
					return
				}
			}
		}
		for id := range s.older {
			if open(id, -1) && !yield(id) {
				return
			}
		}
	}
}

// next returns the first value of an instance after now, if it is known. i is the index of the instance in the newest
// record or -1; usually it has the same index in the next record.
func (s *series) next(id pdu.Inst, i int, now time.Time) (sample, bool) {
	for j := range s.ahead {
		c := &s.ahead[j]
		if i >= len(c.insts) || i < 0 || c.insts[i] != id {
			i = slices.Index(c.insts, id)
		}
		if i >= 0 {
			return c.sample(i), true
		}
	}
	if later := s.later[id]; later != nil && later.t.After(now) {
		return *later, true
	}
	return sample{}, false
}

// interpolate computes s.value, the values at the time now.
func (s *series) interpolate(now time.Time) {
	counter, discrete := s.desc.Sem == pdu.SemCounter, s.desc.Sem == pdu.SemDiscrete
	v := &s.value
	before := v.Insts
	*v = pdu.Column{PMID: s.desc.PMID, Type: s.desc.Type}
	if s.skips {
		s.skips = false
		return
	}
	n := len(s.newest.insts) + len(s.older)
	insts := make([]pdu.Inst, 0, n)
	numeric := s.desc.Type.Numeric()
	one := func(id pdu.Inst, prior sample, i int) {
		if s.domain != nil && !s.exists(id) {
			return
		}
		if !discrete && !prior.t.Equal(now) {
			next, ok := s.next(id, i, now)
			if !ok {
				return
			}
			if counter && numeric {
				part := float64(now.Sub(prior.t)) / float64(next.t.Sub(prior.t))
				prior.bits = between(s.desc.Type, prior.bits, next.bits, part)
			}
		}
		insts = append(insts, id)
		if numeric {
			v.Bits = append(v.Bits, prior.bits)
		} else {
			v.Blobs = append(v.Blobs, prior.blob)
		}
	}
	if numeric {
		v.Bits = make([]uint64, 0, n)
	}
	for i, id := range s.newest.insts {
		one(id, s.newest.sample(i), i)
	}
	for _, id := range slices.Sorted(maps.Keys(s.older)) {
		one(id, *s.older[id], -1)
	}
	switch {
	case len(insts) == 0:
		v.Bits = nil
	case slices.Equal(insts, before):
		v.Insts = before
	default:
		v.Insts = insts
	}
}

package derived

import "pmdaderived/pdu"

// Layout says which operands the samples of a series have and where each lies in their lists of vectors.
// Immutable and meant to be shared: an evaluation looks an operand up once for each Layout, not for each
// sample, so whoever makes samples should use one Layout again while the operands stay the same.
type Layout struct {
	at map[pdu.PMID]int32
}

// NewLayout makes a layout of operands in the order of their vectors; of an operand that is there twice
// the first counts.
func NewLayout(ids []pdu.PMID) *Layout {
	l := &Layout{at: make(map[pdu.PMID]int32, len(ids))}
	for i, id := range ids {
		if _, ok := l.at[id]; !ok {
			l.at[id] = int32(i)
		}
	}
	return l
}

// Find returns the position of an operand's vector. The nil Layout has none.
func (l *Layout) Find(id pdu.PMID) (at int, ok bool) {
	if l == nil {
		return 0, false
	}
	i, ok := l.at[id]
	return int(i), ok
}

// Arranged is a Sample that has its vectors in a list, too.
type Arranged interface {
	Sample

	// Vectors returns where the operands are and their vectors, which are those that Values
	// returns. An operand that the Layout lacks has none.
	Vectors() (*Layout, []Vector)
}

// arranged is the list of a sample, empty if it has none.
type arranged struct {
	layout  *Layout
	vectors []Vector
}

func arrangedOf(s Sample) arranged {
	if a, ok := s.(Arranged); ok {
		layout, vectors := a.Vectors()
		return arranged{layout, vectors}
	}
	return arranged{}
}

// place is where an operand was found the last time.
type place struct {
	layout *Layout
	at     int32
}

// values returns the vector of the operand of a step, nil if there is no sample so old.
func (e *Evaluation) values(s *step) *Vector {
	if int(s.age) >= len(e.history) {
		return nil
	}
	id, list := pdu.PMID(s.id), &e.lists[s.age]
	if list.layout == nil {
		return e.history[s.age].Values(id)
	}
	if e.places == nil {
		e.places = make([]place, e.set.program.operands)
	}
	p := &e.places[s.a]
	if p.layout != list.layout {
		at, ok := list.layout.Find(id)
		if !ok {
			return e.history[s.age].Values(id)
		}
		*p = place{list.layout, int32(at)}
	}
	return &list.vectors[p.at]
}

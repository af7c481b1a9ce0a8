package ere

import "strings"

// maxSearch is the largest number of places a search visits for one subject, which bounds its
// memory to some 20 MB. A subject that needs more does not match.
const maxSearch = 1 << 16

// search decides whether a program with back-references matches anywhere in a subject. It goes
// wherever the program leads, but to each place only once, so that it always ends. There can be
// very many places, which is why they are counted.
type search struct {
	program *program
	subject string
	word    byteSet
	seen    map[place]struct{}
	pending []place // seen, but not yet left
}

// place is one point of a search: an instruction, the offset of the next byte, and what the
// groups have matched on the way, as far as a back-reference asks for it.
type place struct {
	at, offset uint32
	groups     [lastBackref + 1]span
}

// span is what a group matched, as offsets of its first byte and of the one behind its last.
type span struct {
	first, past uint32
	closed      bool // false: the group has matched nothing yet
}

func newSearch(p *program) *search {
	return &search{program: p, word: wordSet(), seen: map[place]struct{}{}}
}

// match searches from each byte of subject, up to its end or its first NUL.
func (s *search) match(subject string) bool {
	s.begin(cString(subject))
	for offset := range len(s.subject) + 1 {
		s.visit(place{at: s.program.start, offset: uint32(offset)})
		for len(s.pending) > 0 {
			here := s.pending[len(s.pending)-1]
			s.pending = s.pending[:len(s.pending)-1]
			if s.leave(here) {
				return true
			}
		}
	}
	return false
}

// begin empties the scratch space, and gives it back when the last subject took a lot of it.
func (s *search) begin(subject string) {
	const keep = 1 << 10 // places
	s.subject = subject
	s.pending = s.pending[:0]
	if len(s.seen) > keep {
		s.seen = map[place]struct{}{}
		s.pending = nil
	}
	clear(s.seen)
}

func (s *search) visit(p place) {
	if _, known := s.seen[p]; known || len(s.seen) == maxSearch {
		return
	}
	s.seen[p] = struct{}{}
	s.pending = append(s.pending, p)
}

// leave visits the places that follow p, and says whether p is the end of the program.
func (s *search) leave(p place) bool {
	i := &s.program.code[p.at]
	rest := s.subject[p.offset:]
	p.at = i.next
	switch i.op {
	case opMatch:
		return true
	case opByte:
		if rest == "" || !s.program.sets[i.arg].has(rest[0]) {
			return false
		}
		p.offset++
	case opSplit:
		other := p
		other.at = i.other
		s.visit(other)
	case opAssert:
		if !assertion(i.arg).holds(s.neighbour(int(p.offset)-1), s.neighbour(int(p.offset))) {
			return false
		}
	case opOpen:
		p.groups[i.arg] = span{first: p.offset}
	case opClose:
		p.groups[i.arg].past = p.offset
		p.groups[i.arg].closed = true
	case opBackref:
		group := p.groups[i.arg]
		if !group.closed || !strings.HasPrefix(rest, s.subject[group.first:group.past]) {
			return false
		}
		p.offset += group.past - group.first
	}
	s.visit(p)
	return false
}

// neighbour returns what an assertion sees of the byte at offset.
func (s *search) neighbour(offset int) neighbour {
	switch {
	case offset < 0 || offset >= len(s.subject):
		return neighbourNone
	case s.word.has(s.subject[offset]):
		return neighbourWord
	}
	return neighbourOther
}

package ere

import "slices"

// filtered is a search that is spared the subjects that do not match even when a back-reference takes
// anything, which are most.
type filtered struct {
	loose *automaton
	exact *search
}

func newFiltered(p *program) *filtered {
	return &filtered{loose: newAutomaton(loosened(p)), exact: newSearch(p)}
}

func (f *filtered) match(subject string) bool {
	return f.loose.match(subject) && f.exact.match(subject)
}

// loosened is a program without back-references that matches whatever p does, and more.
func loosened(p *program) *program {
	loose := &program{code: slices.Clone(p.code), start: p.start, sets: slices.Clone(p.sets), seesWords: p.seesWords}
	loose.sets = append(loose.sets, byteSet{}.complement())
	anything := uint32(len(loose.sets) - 1)
	for at, i := range p.code {
		switch i.op {
		case opOpen, opClose:
			loose.code[at] = instruction{op: opSplit, next: i.next, other: i.next}
		case opBackref:
			loose.code[at] = instruction{op: opSplit, next: uint32(len(loose.code)), other: i.next}
			loose.code = append(loose.code, instruction{op: opByte, arg: anything, next: uint32(at)})
		case opMatch, opByte, opSplit, opAssert:
		}
	}
	return loose
}

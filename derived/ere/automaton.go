package ere

import (
	"encoding/binary"
	"slices"
)

// maxCache is the memory in bytes that the states of one automaton may take, give or take one
// state. When it is used up all states are forgotten, and found again as needed.
const maxCache = 1 << 20

// stateID names a state of an automaton; the ids below firstState have no state behind them.
type stateID uint32

const (
	unknown  stateID = iota // a transition that was not needed yet
	accepted                // the pattern has matched, whatever follows
	refused                 // the pattern can no longer match
	firstState
)

// automaton decides in one step per byte whether a program without back-references matches
// anywhere in a subject. A state is built when it is first met and costs time in proportion to
// the program; from then on a step is one look into a table.
type automaton struct {
	program  *program
	anchored bool // every match begins where the subject does
	classes
	table   []stateID // one row per state id, one column per class
	states  []state
	ids     map[string]stateID // by state.key
	size    int                // bytes that the states take, roughly
	initial stateID

	// Scratch space, reused from step to step.
	reached, next places
	pending       []uint32
	key           []byte
}

// state is what is known between two bytes of a subject: the instructions that the bytes so far
// lead to, sorted. Those that take no byte are not followed yet, because an assertion needs to
// see the next byte.
type state struct {
	at     []uint32
	before neighbour
}

func newAutomaton(p *program) *automaton {
	a := &automaton{
		program: p,
		classes: classify(p),
		reached: newPlaces(len(p.code)),
		next:    newPlaces(len(p.code)),
	}
	a.anchored = a.isAnchored()
	a.forget()
	return a
}

// isAnchored says whether the program gets to no byte and no end but from the start of a subject.
func (a *automaton) isAnchored() bool {
	for _, before := range []neighbour{neighbourWord, neighbourOther} {
		for _, after := range []neighbour{neighbourNone, neighbourWord, neighbourOther} {
			if a.follow(state{at: []uint32{a.program.start}, before: before}, after) {
				return false
			}
			for _, at := range a.reached.list {
				if a.program.code[at].op == opByte {
					return false
				}
			}
		}
	}
	return true
}

func (a *automaton) forget() {
	a.table = make([]stateID, int(firstState)*a.columns())
	a.states = make([]state, firstState)
	a.ids = map[string]stateID{}
	a.size = 0
	a.initial = unknown
}

// match runs over subject up to its end or its first NUL.
func (a *automaton) match(subject string) bool {
	if a.initial == unknown {
		a.next.clear()
		a.next.add(a.program.start)
		a.initial = a.intern(neighbourNone)
	}
	id := a.initial
	for i := range len(subject) {
		id = a.move(id, int(a.class[subject[i]]))
		if id < firstState {
			return id == accepted
		}
	}
	return a.move(id, a.end()) == accepted
}

func (a *automaton) move(from stateID, column int) stateID {
	if to := a.table[int(from)*a.columns()+column]; to != unknown {
		return to
	}
	return a.step(from, column)
}

// step finds a transition that is not in the table yet.
func (a *automaton) step(from stateID, column int) stateID {
	after := a.neighbours[column]
	matched := a.follow(a.states[from], after)
	var to stateID
	switch {
	case matched:
		to = accepted
	case column == a.end():
		to = refused
	case !a.take(a.sample[column]):
		to = refused
	case a.size > maxCache:
		a.forget() // the row of from as well
		return a.intern(after)
	default:
		to = a.intern(after)
	}
	a.table[int(from)*a.columns()+column] = to
	return to
}

// follow collects in reached every instruction that s leads to without taking a byte, and says
// whether the end of the program is one of them.
func (a *automaton) follow(s state, after neighbour) bool {
	a.reached.clear()
	a.pending = append(a.pending[:0], s.at...)
	for len(a.pending) > 0 {
		at := a.pending[len(a.pending)-1]
		a.pending = a.pending[:len(a.pending)-1]
		if !a.reached.add(at) {
			continue
		}
		switch i := &a.program.code[at]; i.op {
		case opMatch:
			return true
		case opSplit:
			a.pending = append(a.pending, i.next, i.other)
		case opAssert:
			if assertion(i.arg).holds(s.before, after) {
				a.pending = append(a.pending, i.next)
			}
		case opByte, opOpen, opClose, opBackref:
			// take sees to the first; the others come only with back-references.
		}
	}
	return false
}

// take collects in next where the instructions reached lead to when the next byte is b, and says
// whether there is anything. A match can begin at every byte, so the start of the program is
// among them unless it has to be at the start of the subject.
func (a *automaton) take(b byte) bool {
	a.next.clear()
	if !a.anchored {
		a.next.add(a.program.start)
	}
	for _, at := range a.reached.list {
		if i := &a.program.code[at]; i.op == opByte && a.program.sets[i.arg].has(b) {
			a.next.add(i.next)
		}
	}
	return len(a.next.list) > 0
}

// intern returns the id of the state made of next and before.
func (a *automaton) intern(before neighbour) stateID {
	slices.Sort(a.next.list)
	a.key = append(a.key[:0], byte(before))
	for _, at := range a.next.list {
		a.key = binary.LittleEndian.AppendUint32(a.key, at)
	}
	if id, known := a.ids[string(a.key)]; known {
		return id
	}
	const bookkeeping = 128 // bytes: headers, and the entry of ids
	id := stateID(len(a.states))
	a.ids[string(a.key)] = id
	a.states = append(a.states, state{at: slices.Clone(a.next.list), before: before})
	a.table = append(a.table, make([]stateID, a.columns())...)
	a.size += 2*len(a.key) + 4*a.columns() + bookkeeping
	return id
}

// places is a set of instructions that is quick to empty.
type places struct {
	list  []uint32 // the members
	mark  []uint32 // mark[i] == round: i is a member
	round uint32
}

func newPlaces(n int) places { return places{mark: make([]uint32, n), round: 1} }

func (p *places) clear() {
	p.list = p.list[:0]
	p.round++
	if p.round == 0 { // marks of 2³² rounds ago would count again
		clear(p.mark)
		p.round = 1
	}
}

// add says whether i is new.
func (p *places) add(i uint32) bool {
	if p.mark[i] == p.round {
		return false
	}
	p.mark[i] = p.round
	p.list = append(p.list, i)
	return true
}

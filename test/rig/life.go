package rig

import (
	"fmt"
	"math"
	"time"

	"pmdaderived/pdu"
)

// Life is the life of an instance of births: it has counted Start when it comes, and grows by Rate each microsecond. Its
// counter may be reset, and then begins at 0 again.
type Life struct {
	Inst               pdu.Inst
	Comes, Goes, Reset uint64 // ns since the Epoch; Reset is 0 if there is none
	Start, Rate        uint64
	Again              bool // its number had lives before, and will have others
}

// Slots is the number of lives that there can be at a time. In each slot there is one life after the other, with a time
// of nobody in between.
const Slots = 24

// ClockInst is the instance of births that is always there. It has the time, in ns, to the microsecond.
const ClockInst = 0

// Numbers of a slot are different for 20,000 lives, more than a day, or always the same.
const freshNumbers, numbersPerTurn = 20_000, 32

// LeastLife is the least time from the begin of a life to its end, and from its begin to its reset.
const LeastLife = 4 * time.Second

// mix returns a number without a pattern.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
	for range 2 {
		x = (x ^ x>>31) * 0xbf58476d1ce4e5b9
	}
	return x ^ x>>29
}

// turn returns how long a turn of a slot is: one life at most.
func turn(slot uint64) uint64 { return (9 + mix(slot, 1)%13) * 1e9 }

// LifeIn returns the life of a slot in the turn that has a time. There may be none.
func LifeIn(slot, at uint64) (l Life, ok bool) {
	length := turn(slot)
	n := at / length
	random := mix(slot, n)
	pick := func(below uint64) (x uint64) {
		x, random = random%below, mix(random, 2)
		return x
	}
	if pick(5) == 0 {
		return l, false
	}
	least := uint64(LeastLife)
	l.Comes = n*length + pick(length/4000)*1000 // whole microseconds
	l.Goes = l.Comes + least + pick((n+1)*length-l.Comes-least-1e9)
	l.Start, l.Rate = 1+pick(5000), pick(3)
	if l.Goes-l.Comes > 2*least && l.Rate > 0 && pick(3) == 0 {
		l.Reset = l.Comes + least
	}
	l.Again, l.Inst = slot%2 == 1, pdu.Inst(slot)
	if !l.Again {
		l.Inst = pdu.Inst(numbersPerTurn*(1+n%freshNumbers) + slot)
	}
	return l, true
}

// LifeOf returns the life that a number has at a time.
func LifeOf(inst pdu.Inst, at uint64) (l Life, ok bool) {
	if inst == ClockInst {
		return Life{Goes: math.MaxUint64, Rate: 1000, Again: true}, true
	}
	l, ok = LifeIn(uint64(inst)%numbersPerTurn, at)
	return l, ok && l.Inst == inst && l.Comes <= at && at < l.Goes
}

// LivesBefore returns the lives before this one of the same slot, in the last turns.
func (l *Life) LivesBefore(turns uint64) (all []Life) {
	slot := uint64(l.Inst) % numbersPerTurn
	for k := range turns {
		if former, ok := LifeIn(slot, l.Comes-(k+1)*turn(slot)); ok {
			all = append(all, former)
		}
	}
	return all
}

// Shows returns the counter of a life.
func (l *Life) Shows(at uint64) uint64 {
	if l.Reset != 0 && at >= l.Reset {
		return l.Rate * ((at - l.Reset) / 1000)
	}
	return l.Start + l.Rate*((at-l.Comes)/1000)
}

// away is the time for which births has no values, once in each awayTurn.
const (
	away     = uint64(1500 * time.Millisecond)
	awayTurn = uint64(40 * time.Second)
)

// Away returns when births last began to have no values before a time, and until when. failed says that it then has an
// error, and no empty list.
func Away(at uint64) (from, until uint64, failed bool) {
	n := at / awayTurn
	of := func(n uint64) uint64 { return n*awayTurn + mix(n, 3)%(awayTurn-away) }
	if from = of(n); from > at {
		n--
		from = of(n)
	}
	return from, from + away, mix(n, 4)%2 == 0
}

// BirthMembers returns the instances of births; none while it is away.
func BirthMembers(at uint64) (insts []pdu.Inst) {
	if _, until, _ := Away(at); at < until {
		return nil
	}
	insts = []pdu.Inst{ClockInst}
	for slot := range uint64(Slots) {
		if l, ok := LifeIn(slot+1, at); ok && l.Comes <= at && at < l.Goes {
			insts = append(insts, l.Inst)
		}
	}
	return insts
}

// Birth returns the counter of an instance of births.
func Birth(at uint64, inst pdu.Inst) uint64 {
	l, _ := LifeOf(inst, at)
	return l.Shows(at)
}

// Kinds is the number of kinds of the instances of births, which their names begin with and their labels have.
const Kinds = 3

// KindOf returns the kind of an instance.
func KindOf(inst pdu.Inst) string { return fmt.Sprintf("k%d", inst%Kinds) }

// birthInstances returns the instances of births, with those of the last turns: clients ask for names after the values.
func birthInstances(at uint64) []pdu.Instance {
	named := func(inst pdu.Inst) pdu.Instance {
		return pdu.Instance{ID: inst, Name: fmt.Sprintf("%s-%d", KindOf(inst), inst)}
	}
	all := []pdu.Instance{named(ClockInst)}
	for slot := range uint64(Slots) {
		for k := range uint64(3) {
			l, ok := LifeIn(slot+1, at-k*turn(slot+1))
			if !ok || l.Comes > at {
				continue
			}
			if all = append(all, named(l.Inst)); l.Again {
				break
			}
		}
	}
	return all
}

// Counted returns all that a life has counted, also before its reset.
func (l *Life) Counted(at uint64) uint64 {
	if l.Reset != 0 && at >= l.Reset {
		return l.Start + l.Rate*((l.Reset-l.Comes)/1000) + l.Shows(at)
	}
	return l.Shows(at)
}

package soak

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
	"pmdaderived/test/rig"
)

// birthsFetch is what an agent serves of a sample at a time, after one at another: 0 if the time of that is not known.
func birthsFetch(at, before uint64, first bool) rig.Fetched {
	f := rig.Fetched{Sent: time.Unix(0, int64(at)), Answered: time.Unix(0, int64(at)).Add(time.Millisecond), Sets: make([]pdu.ValueSet, birthSets)}
	add := func(set int, inst pdu.Inst, value float64) {
		f.Sets[set].Values = append(f.Sets[set].Values, pdu.DoubleValue(inst, value))
	}
	f.Sets[plainSet].Values = []pdu.Value{pdu.Uint64Value(pdu.NoInst, at)}
	add(clockSet, pdu.NoInst, float64(at)/1e9)
	groups := map[string]float64{}
	for _, inst := range rig.BirthMembers(at) {
		life, _ := rig.LifeOf(inst, at)
		f.Sets[shownSet].Values = append(f.Sets[shownSet].Values, pdu.Uint64Value(inst, life.Shows(at)))
		grown := float64(life.Shows(at))
		switch {
		case life.Comes <= before && life.Shows(before) <= life.Shows(at):
			grown -= float64(life.Shows(before))
			add(deltaSet, inst, grown)
		case life.Comes > before && (life.Again || first):
			continue
		}
		add(increaseSet, inst, grown)
		kind := rig.KindOf(inst)
		groups[kind] += grown
		switch kind {
		case "k1":
			add(pickedSet, inst, grown)
		case "k2":
			add(labelledSet, inst, grown)
		}
	}
	for kind, sum := range groups {
		add(groupsSet, pdu.Inst(kind[1]), sum)
	}
	return f
}

// quietBegin returns a time from which on births is not away for some time, and a new instance comes in between.
func quietBegin(t *testing.T) (begin uint64, born pdu.Inst) {
	t.Helper()
	for begin = uint64(1_700_000_000e9); ; begin += 1e9 {
		_, until, _ := rig.Away(begin + 9e9)
		if until+12e9 > begin {
			continue
		}
		for _, inst := range rig.BirthMembers(begin + 5e9) {
			if l, ok := rig.LifeOf(inst, begin+5e9); ok && !l.Again && l.Comes > begin && l.Comes < begin+1e9 && l.Goes > begin+8e9 && l.Reset == 0 && l.Rate > 0 {
				return begin, inst
			}
		}
	}
}

// Each row is what an agent does in the second fetch, 5 s after the first one, and what the judge says. An instance is new
// in it.
func TestBirthJudge(t *testing.T) {
	begin, born := quietBegin(t)
	without := func(set int, inst pdu.Inst) func([]pdu.ValueSet) {
		return func(sets []pdu.ValueSet) {
			sets[set].Values = slices.DeleteFunc(sets[set].Values, func(v pdu.Value) bool { return v.Inst == inst })
		}
	}
	having := func(set int, inst pdu.Inst, value float64) func([]pdu.ValueSet) {
		return func(sets []pdu.ValueSet) {
			without(set, inst)(sets)
			sets[set].Values = append(sets[set].Values, pdu.DoubleValue(inst, value))
		}
	}
	life, _ := rig.LifeOf(born, begin+5e9)
	for _, row := range []struct {
		name   string
		spoil  func(sets []pdu.ValueSet)
		reason string // "": nothing is wrong
	}{
		{"all is right", func([]pdu.ValueSet) {}, ""},
		{"the birth is lost", without(increaseSet, born), "no increase of instance"},
		{"it counts twice", having(increaseSet, born, 2*float64(life.Shows(begin+5e9))), "the increase of instance"},
		{"what was there before counts from 0", having(increaseSet, rig.ClockInst, float64(begin)+5e9), "the increase of instance 0"},
		{"an instance lacks its change", without(increaseSet, rig.ClockInst), "no increase of instance 0"},
		{"a group has another sum", having(groupsSet, '0', 1), "the groups are"},
		{"a selection lacks all", func(sets []pdu.ValueSet) { sets[pickedSet].Values = nil }, "derived.births.picked is"},
		{"the time is another", having(clockSet, pdu.NoInst, float64(begin)/1e9), "now() is"},
		{"one that is not there", having(increaseSet, 77_777, 1), "instances that are not there"},
		{"since another sample", having(deltaSet, rig.ClockInst, 4e9), "have to be since"},
		{"no values", func(sets []pdu.ValueSet) { clear(sets[shownSet:]) }, "no value of births"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var log strings.Builder
			s := &shared{
				tally: &tally{log: &log, begin: time.Unix(0, int64(begin)).Add(-Grace)}, disturbances: &disturbances{}, births: &birthTally{},
			}
			j := newBirthJudge(s, "client", make([]pdu.Type, birthSets))
			j.check(birthsFetch(begin, begin-1e9, true))
			require.Zero(t, s.tally.total(), log.String())
			f := birthsFetch(begin+5e9, begin, false)
			row.spoil(f.Sets)
			j.check(f)
			s.tally.judgeSkews(nil)
			if row.reason == "" {
				assert.Empty(t, log.String())
				return
			}
			assert.Contains(t, log.String(), row.reason)
		})
	}
}

// A number that comes back between two samples is one whose counter was reset, if no sample shows that it was away.
func TestBirthsThatNoSampleShows(t *testing.T) {
	for before := uint64(1_700_000_000e9); ; before += 1e9 {
		at := before + 8e9
		_, until, _ := rig.Away(at)
		for _, inst := range rig.BirthMembers(at) {
			was, there := rig.LifeOf(inst, before)
			if life, _ := rig.LifeOf(inst, at); there && until < before-10e9 && was.Comes < life.Comes && life.Shows(at) < was.Shows(before) {
				for got, wrong := range map[uint64]bool{life.Shows(at): false, life.Shows(at) + 1: true} {
					s := &shared{
						tally: &tally{log: io.Discard, begin: time.Unix(0, int64(before)-1e12)}, disturbances: &disturbances{}, births: &birthTally{},
					}
					j := newBirthJudge(s, "client", nil)
					j.before, j.fetched = before, time.Unix(0, int64(at))
					j.checkLife(at, pdu.Uint64Value(inst, life.Shows(at)), float64(got), true, 0)
					assert.Equal(t, wrong, s.tally.total() > 0)
				}
				return
			}
		}
	}
}

// A window has what its ticks counted: all of an instance that is born in it.
func TestBirthsInWindows(t *testing.T) {
	begin, born := quietBegin(t)
	life, _ := rig.LifeOf(born, begin+5e9)
	all := float64(life.Shows(begin + 5e9))
	for sum, wrong := range map[float64]bool{all: false, all - float64(life.Start): true, all + 1: true, 0: true} {
		s := &shared{
			tally: &tally{log: io.Discard, begin: time.Unix(0, int64(begin)).Add(-Grace)}, disturbances: &disturbances{}, births: &birthTally{},
		}
		f := birthsFetch(begin+9e9, begin, false)
		f.Sets[lastSet].Values = []pdu.Value{pdu.Uint64Value(rig.ClockInst, begin+5e9)}
		f.Sets[summedSet].Values = []pdu.Value{pdu.DoubleValue(rig.ClockInst, 5e9), pdu.DoubleValue(born, sum)}
		newBirthJudge(s, "client", make([]pdu.Type, birthSets)).checkWindow(f)
		assert.Equal(t, wrong, s.tally.total() > 0, sum)
	}
}

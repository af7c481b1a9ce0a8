package column

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
)

// lifeline adds a sample each second, and tells what is born.
type lifeline struct {
	*Births
	at    time.Time
	last  *Lives
	names *NameTable
}

func newLifeline() *lifeline { return &lifeline{Births: &Births{}, at: time.Unix(1_000_000, 0)} }

// add adds a sample of the instances from to to-1, and reports whether one of them was born since the sample before.
func (l *lifeline) add(ranges ...pdu.Inst) bool {
	var ids []pdu.Inst
	for i := 0; i < len(ranges); i += 2 {
		for id := ranges[i]; id < ranges[i+1]; id++ {
			ids = append(ids, id)
		}
	}
	l.at = l.at.Add(time.Second)
	lives, before := l.Add(&Vector{Insts: NewInstSet(ids)}, l.names, l.at, l.at), l.last
	l.last = lives
	for k, id := range ids {
		if _, born := lives.Began(id, k, before); born {
			return true
		}
	}
	return false
}

// Numbers are remembered up to a limit; beyond it nothing is born for a day.
func TestNumbersAreRemembered(t *testing.T) {
	l := newLifeline()
	assert.False(t, l.add(0, 10), "the first sample")
	assert.True(t, l.add(0, 11))
	assert.True(t, l.add(0, 10, 11, maxRemembered))
	assert.True(t, l.add(0, 1, maxRemembered, maxRemembered+1), "the sample that exceeds the limit")
	assert.False(t, l.add(0, 1, maxRemembered, maxRemembered+2))
	assert.Empty(t, l.gone)
	for range 23 {
		l.at = l.at.Add(time.Hour)
		assert.False(t, l.add(0, 1))
	}
	assert.False(t, l.add(0, 2), "it was forgotten, and it is not a day ago")
	l.at = l.at.Add(time.Hour)
	assert.True(t, l.add(0, 3, 5, 6), "a day has passed")
	l.add(0, 3)
	assert.False(t, l.add(0, 3, 5, 6), "it comes back")
	assert.True(t, l.add(0, 4))
	l.add(0, maxRemembered+1)
	assert.Nil(t, l.last, "nothing is kept of so many")
	l.add(0, 4)
	assert.False(t, l.add(0, 5))
}

// An instance that is born counts from 0 at the first sample at which its name is known, once, and has no value before.
// One that may be old begins with its first sample: it has nothing to wait for.
func TestBirthsAwaitNames(t *testing.T) {
	l := newLifeline()
	l.names = NewNameTable(map[pdu.Inst]string{0: "zero"}, nil)
	l.add(0, 2)
	first := l.last
	assert.False(t, l.add(0, 3), "it has no name")
	for range 2 {
		began, _ := l.last.Began(2, 2, first)
		assert.True(t, began, "no difference either")
		assert.False(t, l.add(0, 3))
	}
	l.names = NewNameTable(map[pdu.Inst]string{0: "zero", 1: "one", 2: "two"}, nil)
	assert.True(t, l.add(0, 3))
	assert.False(t, l.add(0, 3))
	began, _ := l.last.Began(1, 1, first)
	assert.False(t, began)
	l.Doubt()
	assert.False(t, l.add(0, 4))
	l.names = NewNameTable(map[pdu.Inst]string{0: "zero", 1: "one", 2: "two", 3: "three"}, nil)
	assert.False(t, l.add(0, 4), "its name came after its life")
}

// A host that was suspended, a clock that was set, and samples that are missing cast doubt on births; a short interval
// between two samples does not, if the metric usually has a longer one.
func TestPausesCastDoubt(t *testing.T) {
	for name, row := range map[string]struct {
		interval       time.Duration
		byPMCD, byOurs time.Duration // since the sample before
		born           bool
	}{
		"as always":         {byPMCD: time.Second, byOurs: time.Second, born: true},
		"late":              {byPMCD: 3 * time.Second, byOurs: 3 * time.Second, born: true},
		"a pause":           {byPMCD: 4 * time.Second, byOurs: 4 * time.Second},
		"usually sampled":   {interval: 5 * time.Second, byPMCD: 15 * time.Second, byOurs: 15 * time.Second, born: true},
		"a longer pause":    {interval: 5 * time.Second, byPMCD: 16 * time.Second, byOurs: 16 * time.Second},
		"suspended":         {byPMCD: time.Hour, byOurs: time.Second},
		"the clock set":     {byPMCD: -time.Hour, byOurs: 4 * time.Second},
		"the clock set now": {byPMCD: -time.Hour, byOurs: time.Second, born: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLifeline()
			l.Interval = row.interval
			for range 3 {
				l.add(0, 1)
			}
			lives := l.Add(&Vector{Insts: NewInstSet([]pdu.Inst{0, 1})}, nil, l.at.Add(row.byPMCD), l.at.Add(row.byOurs))
			_, born := lives.Began(1, 1, l.last)
			assert.Equal(t, row.born, born)
		})
	}
}

// A pause does not make the next one seem usual, but a metric may be sampled at another interval from some time on.
func TestPausesAreNoIntervals(t *testing.T) {
	l := newLifeline()
	last := pdu.Inst(1)
	born := func(after time.Duration) bool {
		l.at, last = l.at.Add(after-time.Second), last+1
		return l.add(0, last)
	}
	l.add(0, 1)
	for range 5 {
		assert.True(t, born(time.Second))
	}
	assert.False(t, born(time.Hour))
	assert.True(t, born(time.Second))
	assert.False(t, born(3*time.Hour))
	assert.True(t, born(time.Second))
	assert.False(t, born(time.Minute))
	assert.False(t, born(time.Minute))
	assert.True(t, born(time.Minute))
}

// Records have 32-bit numbers without their type: a signed counter that rises from below 0 is not lower.
func TestSignedRecords(t *testing.T) {
	b, at := &Births{}, time.Unix(1_000_000, 0)
	began := func(bits uint32) bool {
		older := b.Recorded()
		set := pdu.Column{Type: pdu.TypeUnknown, Insts: []pdu.Inst{pdu.NoInst}, Bits: []uint64{uint64(bits)}}
		at = at.Add(time.Second)
		b.AddRecord(&set, pdu.Type32, at)
		after, _ := b.Recorded().Began(pdu.NoInst, 0, older)
		return after
	}
	began(0xffff_fff0)
	assert.False(t, began(5))
	assert.True(t, began(0xffff_fff0))
}

// Records of a group are at intervals, too: the longest of the last four counts, and one pause does not.
func TestPausesOfRecords(t *testing.T) {
	b, at, last := &Births{}, time.Unix(1_000_000, 0), pdu.Inst(1)
	born := func(after time.Duration) bool {
		older := b.Recorded()
		last++
		at = at.Add(after)
		set := pdu.Column{Type: pdu.TypeU64, Insts: []pdu.Inst{0, last}, Bits: []uint64{5, 5}}
		b.AddRecord(&set, pdu.TypeU64, at)
		_, born := b.Recorded().Began(last, 1, older)
		return born
	}
	born(0)
	for _, after := range []time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second, time.Second, 5 * time.Second} {
		assert.True(t, born(after), after)
	}
	assert.False(t, born(time.Minute))
	assert.True(t, born(time.Second))
	assert.False(t, born(time.Minute))
	assert.False(t, born(time.Minute))
	assert.True(t, born(time.Minute))
}

// pmlogger may have an instance in two groups. The record of the smaller one does not say that others have gone, and the
// first record of the larger one that they were born.
func TestRecordsOfOverlappingGroups(t *testing.T) {
	for name, smallFirst := range map[string]bool{"the larger first": false, "the smaller first": true} {
		t.Run(name, func(t *testing.T) {
			b, start := &Births{}, time.Unix(1_000_000, 0)
			add := func(at time.Time, ids ...pdu.Inst) {
				b.AddRecord(&pdu.Column{Type: pdu.TypeU64, Insts: ids, Bits: make([]uint64, len(ids))}, pdu.TypeU64, at)
			}
			older := b.Recorded()
			for tick := range 40 {
				at := start.Add(time.Duration(tick) * 100 * time.Millisecond)
				if smallFirst && tick == 0 {
					add(at, 0)
					older = b.Recorded()
				}
				if tick%5 == 0 {
					add(at.Add(time.Millisecond), 0, 1, 2)
					began, born := b.Recorded().Began(1, 1, older)
					assert.False(t, born)
					if tick > 5 {
						assert.False(t, began)
					}
					older = b.Recorded()
				}
				add(at.Add(2*time.Millisecond), 0)
			}
		})
	}
}

// Instances that are all replaced with each record cost no more with each of them.
func TestRecordsOfChangingInstances(t *testing.T) {
	b, at := &Births{}, time.Unix(1_000_000, 0)
	for id := range pdu.Inst(3000) {
		at = at.Add(time.Second)
		b.AddRecord(&pdu.Column{Type: pdu.TypeU64, Insts: []pdu.Inst{id}, Bits: []uint64{1}}, pdu.TypeU64, at)
	}
	assert.LessOrEqual(t, b.Recorded().of.insts.Len(), maxUnpaced+1)
}

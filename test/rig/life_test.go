package rig

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
)

// In some hours instances come and go, new ones and some that were there before; counters grow, and some are reset.
func TestLives(t *testing.T) {
	const begin, hours = 1_700_000_000e9, 30
	all, again, resets, failed, empty := map[pdu.Inst]Life{}, 0, 0, 0, 0
	for at := uint64(begin); at < begin+hours*3600e9; at += 13e9 - 1 {
		if _, until, code := Away(at); at < until {
			assert.Empty(t, BirthMembers(at))
			if code {
				failed++
			} else {
				empty++
			}
			continue
		}
		for _, inst := range BirthMembers(at) {
			l, ok := LifeOf(inst, at)
			assert.True(t, ok)
			if former, known := all[inst]; known && former.Comes != l.Comes {
				assert.Less(t, former.Goes, l.Comes)
				assert.True(t, l.Again, "a number of a day before")
				assert.Contains(t, l.LivesBefore(20), former)
				again++
			}
			all[inst] = l
			assert.Equal(t, l.Shows(at), Birth(at, inst))
			assert.LessOrEqual(t, l.Shows(at), l.Counted(at))
			assert.GreaterOrEqual(t, l.Goes-l.Comes, uint64(LeastLife))
			if l.Reset != 0 && at >= l.Reset {
				resets++
				assert.Less(t, l.Shows(l.Reset), l.Shows(l.Reset-1))
			}
		}
	}
	assert.Greater(t, len(all), 1000)
	for _, n := range []int{again, resets, failed, empty} {
		assert.Greater(t, n, 100)
	}
	for _, inst := range BirthMembers(begin)[1:] {
		_, ok := LifeOf(inst, all[inst].Goes)
		assert.False(t, ok, inst)
	}
}

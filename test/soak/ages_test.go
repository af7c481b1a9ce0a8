package soak

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/test/rig"
)

func TestTimeShown(t *testing.T) {
	for _, row := range []struct {
		name, text string
		ok         bool
	}{
		{"pmval", "  1795262325706817377", true},
		{"pmrep", "2026-11-21 11:58:05,1795262325706817377", true},
		{"header of pmval", "samples:   13", false},
		{"no value", "No values available", false},
		{"empty cell", "2026-11-21 11:58:05,", false},
		{"nothing", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			at, ok := timeShown(row.text)
			assert.Equal(t, row.ok, ok)
			if ok {
				assert.EqualValues(t, 1795262325706817377, at)
			}
		})
	}
}

// A kind of fetch that was not measured keeps no promise.
func TestAges(t *testing.T) {
	young := rig.Durations{time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	for _, r := range (&ages{first: young, second: young, periodic: young, irregular: young}).rows(nil) {
		assert.True(t, r.OK, r.What)
	}
	old := rig.Durations{2 * time.Second}
	rows := (&ages{first: old, periodic: old, irregular: old}).rows(nil)
	for _, r := range rows[:len(rows)-1] {
		assert.False(t, r.OK, r.What)
	}
}

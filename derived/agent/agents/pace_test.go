package agents

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An agent that always claims to have other names makes all names be looked up ever more seldom; one that claims other agents never does.
func TestPaceOfClaims(t *testing.T) {
	for _, row := range []struct {
		name                           string
		agents, names, changed, others bool // what is announced, what the look shows, what the lookup finds
		want                           int  // lookups in ten minutes
	}{
		{"other agents, not true", true, false, false, false, 0},
		{"other names, never any", false, true, false, false, 15},
		{"both, not true", true, true, false, false, 15},
		{"other names, always some", false, true, false, true, 600},
		{"other agents, and so it is", true, false, true, false, 600},
		{"pmcd does not tell of agents, names are claimed", false, true, true, false, 15},
	} {
		t.Run(row.name, func(t *testing.T) {
			var p Pace
			begin := time.Unix(1_000_000, 0)
			var look, bind, bound time.Time
			lookups := 0
			for now := begin; now.Sub(begin) < 10*time.Minute; now = now.Add(100 * time.Millisecond) {
				look = now.Add(p.Announced(row.agents, row.names, now)) // in each answer
				if !look.After(now) {
					if wait, ok := p.Looked(row.changed, bound, now); ok {
						bind = now.Add(wait)
					}
				}
				if !bind.IsZero() && !bind.After(now) {
					bind, bound = time.Time{}, now
					lookups++
					p.Bound(row.others)
				}
			}
			assert.InDelta(t, row.want, lookups, 1)
		})
	}
}

// After a time of silence names are believed again at once.
func TestPaceForgets(t *testing.T) {
	var p Pace
	now := time.Unix(1_000_000, 0)
	for range 10 {
		p.Announced(false, true, now)
		_, ok := p.Looked(false, now, now)
		assert.True(t, ok)
		p.Bound(false)
	}
	p.Announced(false, true, now)
	wait, _ := p.Looked(false, now, now)
	assert.Equal(t, mostGap, wait)
	later := now.Add(2*mostGap + 1)
	assert.Zero(t, p.Announced(false, true, later))
	wait, ok := p.Looked(false, now, later)
	assert.True(t, ok)
	assert.Zero(t, wait)
	assert.Equal(t, LookGap, p.Announced(true, false, later))
}

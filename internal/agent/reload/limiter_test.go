package reload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An agent that announces changed names all the time causes lookups with longer and longer gaps if no name has
// changed.
func TestLookupLimiter(t *testing.T) {
	for _, row := range []struct {
		name   string
		others bool // what the lookup finds
		want   int  // lookups in ten minutes
	}{
		{"other names, never any", false, 15},
		{"other names, always some", true, 600},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newLookupLimiter()
			begin := time.Unix(1_000_000, 0)
			var bound time.Time
			lookups := 0
			for now := begin; now.Sub(begin) < 10*time.Minute; now = now.Add(100 * time.Millisecond) {
				if p.delay(bound, now) == 0 { // in each answer
					bound = now
					lookups++
					p.recordLookup(row.others)
				}
			}
			assert.InDelta(t, row.want, lookups, 1)
		})
	}
}

// After a time without announcements, the next one causes a lookup at once.
func TestLookupLimiterResets(t *testing.T) {
	p := newLookupLimiter()
	now := time.Unix(1_000_000, 0)
	for range 10 {
		p.delay(now, now)
		p.recordLookup(false)
	}
	assert.Equal(t, mostGap, p.delay(now, now))
	later := now.Add(2*mostGap + 1)
	assert.Zero(t, p.delay(now, later))
	p.recordLookup(false)
	assert.Equal(t, leastGap, p.delay(later, later))
}

package reload

import (
	"time"

	"pmdaderived/internal/wait"
)

// All names are looked up at most once in leastGap because pmcd says that they or its agents are others, at most once in mostGap where that has shown
// nothing new: any agent can make pmcd say so.
const (
	leastGap = time.Second
	mostGap  = time.Minute
)

// lookupLimiter says how soon to look up all names because they are announced to be others.
type lookupLimiter struct {
	backoff        wait.Backoff
	byAnnouncement bool // nothing but the announcement speaks for the next lookup
}

func newLookupLimiter() lookupLimiter {
	return lookupLimiter{backoff: wait.Backoff{Least: leastGap, Most: mostGap}}
}

// delay notes an announcement, and returns how long to wait until all names are looked up, which was done last at bound.
func (p *lookupLimiter) delay(bound, now time.Time) time.Duration {
	since := now.Sub(bound)
	if since > 2*p.backoff.Last() {
		p.backoff.Reset()
	}
	p.byAnnouncement = true
	return max(0, max(p.backoff.Last(), leastGap)-since)
}

// recordLookup notes that all names have been looked up, and whether that has shown anything new.
func (p *lookupLimiter) recordLookup(changed bool) {
	switch {
	case !p.byAnnouncement:
	case changed:
		p.backoff.Reset()
	default:
		p.backoff.Next()
	}
	p.byAnnouncement = false
}

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

// pace says how soon to look up all names because they are announced to be others.
type pace struct {
	gap     wait.Backoff
	claimed bool // nothing but the announcement speaks for the next lookup
}

func newPace() pace { return pace{gap: wait.Backoff{Least: leastGap, Most: mostGap}} }

// announced notes an announcement, and returns how long to wait until all names are looked up, which was done last at bound.
func (p *pace) announced(bound, now time.Time) time.Duration {
	since := now.Sub(bound)
	if since > 2*p.gap.Last() {
		p.gap.Reset()
	}
	p.claimed = true
	return max(0, max(p.gap.Last(), leastGap)-since)
}

// lookedUp notes that all names have been looked up, and whether that has shown anything new.
func (p *pace) lookedUp(changed bool) {
	switch {
	case !p.claimed:
	case changed:
		p.gap.Reset()
	default:
		p.gap.Next()
	}
	p.claimed = false
}

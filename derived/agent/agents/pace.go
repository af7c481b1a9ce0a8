package agents

import (
	"time"

	"pmdaderived/internal/wait"
)

const (
	// LookGap is how far apart two looks at the agents of a pmcd are at least: any of them can make it say that they are others.
	LookGap = time.Second

	// leastGap is how far apart two lookups of all names are at least, mostGap where they have found nothing: any agent can
	// make pmcd say that there are other names.
	leastGap = time.Second
	mostGap  = time.Minute
)

// Pace says how soon to do something about agents and names that are announced to be others. The zero value is ready for use.
type Pace struct {
	looked        time.Time // at the agents
	agents, names bool      // announced since
	gap           wait.Backoff
	claimed       bool // nothing but the announcement speaks for the next lookup
}

// Announced notes what is said to be others, and returns how long to wait until the agents are looked at: they come together.
func (p *Pace) Announced(agents, names bool, now time.Time) time.Duration {
	p.agents, p.names = p.agents || agents, p.names || names
	return max(0, LookGap-now.Sub(p.looked))
}

// Looked notes that the agents have been looked at, and whether they have changed. It returns how long to wait until
// all names are looked up, which was done last at bound; false: there is no reason to.
func (p *Pace) Looked(changed bool, bound, now time.Time) (wait time.Duration, ok bool) {
	agents, names := p.agents, p.names
	p.looked, p.agents, p.names = now, false, false
	p.gap.Least, p.gap.Most = leastGap, mostGap
	gap := max(p.gap.Last(), leastGap)
	switch since := now.Sub(bound); {
	case changed && agents, names && since > 2*gap:
		p.gap.Reset()
		gap = leastGap
	case !names:
		return 0, false
	}
	p.claimed = !changed || !agents
	return max(0, gap-now.Sub(bound)), true
}

// Bound notes that all names have been looked up, and whether that has shown anything new.
func (p *Pace) Bound(changed bool) {
	switch {
	case !p.claimed:
	case changed:
		p.gap.Reset()
	default:
		p.gap.Next()
	}
	p.claimed = false
}

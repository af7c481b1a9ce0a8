package slow

import (
	"maps"
	"slices"
	"time"
)

const (
	// Long is the time from which a fetch holds pmcd up, which serves nobody meanwhile.
	// A busy pmcd may take as long to come to a fetch (docs/pmcd.md b.3), hence no less.
	Long = 100 * time.Millisecond

	// incident is for how long something else may hold up pmcd, an agent or the machine: long fetches that end
	// within it, from the end of the first one on, count as one.
	incident = time.Second

	// suspectFor is for how long a quick fetch does not clear an agent that had several long ones within an incident: it may
	// have slow metrics and quick ones.
	suspectFor = 10 * incident

	// shareOfPMCD is how many times as long as their fetches took slow agents are left alone: they
	// get at most a tenth of pmcd's time, all of them together.
	shareOfPMCD = 9
)

// Agents knows the agents that are slow or suspected to be, by their domains. One long fetch makes an agent a suspect:
// pmcd may have been held up by somebody else. From then on it is in quarantine: asked apart from others, which shows
// whose fault it was. From the second time in a row on, an incident later, it backs off: it is asked so seldom that pmcd can
// bear it.
type Agents map[int]*agent

type agent struct {
	asked bool          // a fetch is on its way
	long  int           // long fetches since it is known
	inRow int           // times in a row that fetches were long; an incident is one
	since time.Time     // when the first fetch of the last one ended
	debt  time.Duration // what long fetches took that no rest has followed
	ended time.Time     // the last of them
}

// backsOff reports whether an agent is left alone now and then.
func (a *agent) backsOff() bool { return a.inRow > 1 }

// Among returns those of the domains that are in quarantine, as a key: series with the same ones are fetched
// together. Nil: none is.
func (s Agents) Among(domains []int) []int {
	var found []int
	for _, d := range domains {
		if s[d] != nil {
			found = append(found, d)
		}
	}
	return found
}

// Resting reports whether one of the domains has cost pmcd so much that it is left alone for now: until a rest
// has been taken for what it took last, which while it is asked nobody knows.
func (s Agents) Resting(domains []int, now time.Time) bool {
	for _, d := range domains {
		a := s[d]
		if a != nil && a.backsOff() && (a.asked || now.Sub(a.ended) < shareOfPMCD*a.debt*time.Duration(s.BackingOff())) {
			return true
		}
	}
	return false
}

// Begin notes that domains are asked: what they owed is paid.
func (s Agents) Begin(domains []int) {
	for _, d := range domains {
		a := s[d]
		if a == nil {
			continue
		}
		a.asked = true
		if a.backsOff() {
			a.debt = 0
		}
	}
}

// Answered notes that nothing is on its way any more, whatever came of it.
func (s Agents) Answered(domains []int) {
	for _, d := range domains {
		if a := s[d]; a != nil {
			a.asked = false
		}
	}
}

// Note notes how long a fetch of some domains took, and returns those that back off from now on, and those that do no
// more. An agent that had nothing to say (it is not among those that spoke) does not prove to be fast: pmcd answers at
// once for one that it has given up.
func (s Agents) Note(domains, spoke []int, took time.Duration, now time.Time) (slowed, recovered []int) {
	for _, d := range domains {
		a := s[d]
		switch {
		case took >= Long:
			if a == nil {
				a = &agent{}
				s[d] = a
			}
			a.long++
			a.debt += took
			a.ended = now
			if a.inRow > 0 && now.Sub(a.since) < incident {
				continue
			}
			a.inRow++
			a.since = now
			if a.inRow == 2 {
				slowed = append(slowed, d)
			}
		case a == nil || !slices.Contains(spoke, d):
		case a.inRow == 1 && a.long > 1 && now.Sub(a.since) < suspectFor:
		default:
			delete(s, d)
			if a.backsOff() {
				recovered = append(recovered, d)
			}
		}
	}
	return slowed, recovered
}

// BackingOff is how many agents are left alone now and then.
func (s Agents) BackingOff() int {
	n := 0
	for _, a := range s {
		if a.backsOff() {
			n++
		}
	}
	return n
}

// Keep forgets all domains but those that are in use.
func (s Agents) Keep(used map[int]bool) {
	maps.DeleteFunc(s, func(domain int, _ *agent) bool { return !used[domain] })
}

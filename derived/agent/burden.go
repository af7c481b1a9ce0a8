package agent

import (
	"maps"
	"slices"
	"time"

	"pmdaderived/pdu"
)

const (
	// burdensome is the time from which a fetch is a burden to pmcd, which serves nobody meanwhile.
	// A busy pmcd may take as long to come to a fetch (docs/pmcd.md b.3), hence no less.
	burdensome = 100 * time.Millisecond

	// hiccup is for how long something else may hold up pmcd, an agent or the machine: long fetches that end
	// within it, from the end of the first one on, count as one.
	hiccup = time.Second

	// doubt is for how long a quick fetch does not clear an agent that had several long ones within a hiccup: it may
	// have slow metrics and quick ones.
	doubt = 10 * hiccup

	// shareOfPMCD is how many times as long as their fetches took slow agents are left alone: they
	// get at most a tenth of pmcd's time, all of them together.
	shareOfPMCD = 9
)

// burdens knows the agents that are slow, by their domains. One long fetch makes an agent a suspect:
// pmcd may have been held up by somebody else. From then on it is asked apart from others, which shows
// whose fault it was, and from the second time in a row on, a hiccup later, so seldom that pmcd can bear it.
type burdens map[int]*burden

type burden struct {
	asked   bool          // a fetch is on its way
	long    int           // long fetches since it is known
	strikes int           // times in a row that fetches were long; a hiccup is one
	struck  time.Time     // when the first fetch of the last one ended
	debt    time.Duration // what long fetches took that no rest has followed
	ended   time.Time     // the last of them
}

// of returns those of the domains that are burdens, as a key: feeds with the same ones are fetched
// together. Nil: none is.
func (b burdens) of(domains []int) []int {
	var found []int
	for _, d := range domains {
		if b[d] != nil {
			found = append(found, d)
		}
	}
	return found
}

// resting reports whether one of the domains has cost pmcd so much that it is left alone for now: until a rest
// has been taken for what it took last, which while it is asked nobody knows.
func (b burdens) resting(domains []int, now time.Time) bool {
	for _, d := range domains {
		x := b[d]
		if x != nil && x.strikes > 1 && (x.asked || now.Sub(x.ended) < shareOfPMCD*x.debt*time.Duration(b.slow())) {
			return true
		}
	}
	return false
}

// begin notes that domains are asked: what they owed is paid.
func (b burdens) begin(domains []int) {
	for _, d := range domains {
		x := b[d]
		if x == nil {
			continue
		}
		x.asked = true
		if x.strikes > 1 {
			x.debt = 0
		}
	}
}

// answered notes that nothing is on its way any more, whatever came of it.
func (b burdens) answered(domains []int) {
	for _, d := range domains {
		if x := b[d]; x != nil {
			x.asked = false
		}
	}
}

// keep forgets all domains but those that are in use.
func (b burdens) keep(used map[int]bool) {
	maps.DeleteFunc(b, func(domain int, _ *burden) bool { return !used[domain] })
}

// end notes how long a fetch of some domains took, and calls changed for those that are left alone from
// now on and no more. An agent that had nothing to say does not prove to be fast: pmcd answers at
// once for one that it has given up.
func (b burdens) end(
	domains []int, took time.Duration, now time.Time, silent func(domain int) bool, changed func(domain int, slow bool),
) {
	for _, d := range domains {
		x := b[d]
		switch {
		case took >= burdensome:
			if x == nil {
				x = &burden{}
				b[d] = x
			}
			x.long++
			x.debt += took
			x.ended = now
			if x.strikes > 0 && now.Sub(x.struck) < hiccup {
				continue
			}
			x.strikes++
			x.struck = now
			if x.strikes == 2 {
				changed(d, true)
			}
		case x == nil || silent(d):
		case x.strikes == 1 && x.long > 1 && now.Sub(x.struck) < doubt:
		default:
			delete(b, d)
			if x.strikes > 1 {
				changed(d, false)
			}
		}
	}
}

// slow is how many agents are left alone now and then.
func (b burdens) slow() int {
	n := 0
	for _, x := range b {
		if x.strikes > 1 {
			n++
		}
	}
	return n
}

// agentsOf lists the domains of metrics, each once, in order.
func agentsOf(descs []pdu.Desc) []int {
	var domains []int
	for _, d := range descs {
		domains = append(domains, d.PMID.Domain())
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}

package slow

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// Long is the time from which a request holds pmcd up, which serves nobody meanwhile.
	// A busy pmcd may take as long to come to a fetch (docs/pmcd.md b.3), hence no less.
	Long = 100 * time.Millisecond

	// incidentTime is for how long something else may hold up pmcd, an agent or the machine: long requests that end
	// within it, from the end of the first one on, count as one.
	incidentTime = time.Second

	// maxOverrun is what an account may owe although quick requests come between its long ones: it may be for slow metrics and
	// quick ones.
	maxOverrun = 3 * time.Second

	// restFactor is how many times as long as their requests took slow agents are left alone: they
	// get at most a tenth of pmcd's time, all of them together.
	restFactor = 9
)

// Kind is what agents are asked for. Who is slow with one may be quick with another.
type Kind int

const (
	Values      Kind = iota
	Instances        // of the agent's domains
	Descriptors      // of its metrics
	Names            // of a subtree of the name space: they do not tell their agent
)

// String is what people read.
func (k Kind) String() string { return [...]string{"values", "instances", "descriptors", "names"}[k] }

// Domains that are none.
const (
	severalAgents = -1
	nobodyKnown   = -2 // or nobody knows who: while it owes too much, a quick request clears nobody
)

// Budget is whom the time of a request is put down to: an agent that is asked alone, or those whose operands one sample needs:
// these cannot be asked one by one.
type Budget struct {
	Kind   Kind
	Domain int    // several: those of Agents
	Agents string // their domains, or the subtree that they serve
}

// AgentBudget is one agent's account.
func AgentBudget(kind Kind, domain int) Budget { return Budget{Kind: kind, Domain: domain} }

// Budgets are those of agents whose values are fetched together: one for each, and last one for all, if they are several.
// The domains are sorted.
func Budgets(domains []int) []Budget {
	var all []Budget
	for _, d := range domains {
		all = append(all, AgentBudget(Values, d))
	}
	if len(domains) > 1 {
		all = append(all, Budget{Values, severalAgents, strings.Trim(fmt.Sprint(domains), "[]")})
	}
	return all
}

// String are the domains, or the subtree.
func (a Budget) String() string {
	if a.Domain == severalAgents {
		return a.Agents
	}
	return strconv.Itoa(a.Domain)
}

// States knows the accounts of which one was slow, or may have been. See the package's comment for their states.
type States map[Budget]*state

type state struct {
	outstanding bool          // a request is on its way
	suspect     bool          // it is in quarantine
	slow        bool          // it backs off
	probes      int           // of several agents: so many were asked alone since they are suspects, and were quick
	firstLong   time.Time     // when the first request of the last incident ended
	overrun     time.Duration // what long requests took that no rest had followed when the last one
	lastLong    time.Time     // ended
}

// overrunAt is what no rest has followed at a time.
func (s States) overrunAt(a *state, now time.Time) time.Duration {
	rest := max(0, now.Sub(a.lastLong))
	return max(0, a.overrun-rest/time.Duration(restFactor*max(1, s.countSlow())))
}

// Suspected reports whether one of the accounts is in quarantine: it is asked apart from all others.
func (s States) Suspected(of ...Budget) bool {
	return len(s) > 0 && slices.ContainsFunc(of, func(of Budget) bool { return s[of] != nil && s[of].suspect })
}

// SlowOf are those of the accounts that back off.
func (s States) SlowOf(of ...Budget) []Budget {
	var found []Budget
	for _, one := range of {
		if a := s[one]; a != nil && a.slow {
			found = append(found, one)
		}
	}
	return found
}

// Resting reports whether one of the accounts has cost pmcd so much that it is left alone for now: until a rest
// has been taken for what it took last, which while it is asked nobody knows.
func (s States) Resting(now time.Time, of ...Budget) bool {
	return len(s) > 0 && slices.ContainsFunc(s.SlowOf(of...), func(of Budget) bool { return s[of].outstanding || s.overrunAt(s[of], now) > 0 })
}

// Asker is what has operands of agents that one fetch asks for.
type Asker interface {
	comparable
	Agents() []Budget // see Accounts; there is one at least
	Width() int       // how many operands
}

// ChooseNext says which of those who wait in quarantine are next, with no more operands together than most unless the first one has,
// and what their fetch is charged to. Those that are known to be slow are last: everybody waits for them. A probe is for one of
// their agents alone; they go on waiting.
func ChooseNext[A Asker](known States, waiting []A, most int) (next []A, charged []Budget, probe bool) {
	first := waiting[max(0, slices.IndexFunc(waiting, func(a A) bool { return known.SlowOf(a.Agents()...) == nil }))]
	charged, probe = known.nextRequest(first.Agents())
	next = append(next, first)
	most -= first.Width()
	for _, a := range waiting {
		others, probes := known.nextRequest(a.Agents())
		if a != first && a.Width() <= most && slices.Equal(others, charged) && probes == probe &&
			(!probe || slices.Equal(a.Agents(), first.Agents())) {
			next = append(next, a)
			most -= a.Width()
		}
	}
	return next, charged, probe
}

// nextRequest says what to ask for one in quarantine. What several suspects are needed for is fetched as a whole when each of them
// has answered quickly.
func (s States) nextRequest(of []Budget) (charged []Budget, probe bool) {
	if slow := s.SlowOf(of...); slow != nil {
		return slow, false
	}
	if a := s[of[len(of)-1]]; a != nil && a.probes < len(of)-1 {
		return of[a.probes : a.probes+1], true
	}
	return of, false
}

// RecordProbe notes that the next one of the agents of a series has answered quickly, alone.
func (s States) RecordProbe(of []Budget) {
	if a := s[of[len(of)-1]]; a != nil {
		a.probes++
	}
}

// SetOutstanding notes that accounts are asked, Answered that they are not any more, whatever came of it.
func (s States) SetOutstanding(of []Budget) { s.setOutstanding(of, true) }

// ClearOutstanding notes that nothing is on its way any more, whatever came of it.
func (s States) ClearOutstanding(of []Budget) { s.setOutstanding(of, false) }

func (s States) setOutstanding(of []Budget, asked bool) {
	for _, one := range of {
		if a := s[one]; a != nil {
			a.outstanding = asked
		}
	}
}

// Request is one that pmcd has answered.
type Request struct {
	Budgets    []Budget      // what it is charged to: of one series the last one
	Mixed      bool          // they are of several series: nobody knows whose fault it is
	HaveValues []int         // domains that had something to say
	AgentTime  time.Duration // of pmcd's time
	Ended      time.Time
}

// AddBudgets adds the accounts of a series to those of a request.
func (r *Request) AddBudgets(of []Budget) {
	switch {
	case r.Budgets == nil:
		r.Budgets = of
		return
	case !r.Mixed && slices.Equal(r.Budgets, of):
		return
	}
	r.Budgets, r.Mixed = slices.Clip(r.Budgets), true
	for _, a := range of {
		if !slices.Contains(r.Budgets, a) {
			r.Budgets = append(r.Budgets, a)
		}
	}
}

// Charge notes what a request took, and returns the accounts that back off from now on, and those that do no
// more. An agent that had nothing to say does not prove to be fast: pmcd answers at once for one that it has given up.
func (s States) Charge(r Request) (slowed, recovered []Budget) {
	if r.AgentTime < Long {
		return nil, s.clearQuick(r)
	}
	if slow := s.SlowOf(r.Budgets...); slow != nil { // of others that are asked with them nobody believes it
		for _, one := range slow {
			s.addOverrun(s[one], r)
		}
		return nil, nil
	}
	if r.Mixed {
		s.addOverrun(s.stateOf(Budget{Domain: nobodyKnown}), r)
	}
	for i, one := range r.Budgets {
		a := s.stateOf(one)
		again := !a.firstLong.IsZero() && r.Ended.Sub(a.firstLong) >= incidentTime
		if a.firstLong.IsZero() || again {
			a.firstLong = r.Ended
		}
		if !r.Mixed && i == len(r.Budgets)-1 {
			s.addOverrun(a, r)
			if again && (a.suspect || a.overrun > maxOverrun) {
				a.slow = true
				slowed = append(slowed, one)
			}
		}
		a.suspect = true
	}
	return slowed, nil
}

// stateOf is the state stateOf an account.
func (s States) stateOf(of Budget) *state {
	a := s[of]
	if a == nil {
		a = &state{}
		s[of] = a
	}
	return a
}

// addOverrun puts the time of a request down to an account.
func (s States) addOverrun(a *state, r Request) {
	a.overrun, a.lastLong = s.overrunAt(a, r.Ended.Add(-r.AgentTime))+r.AgentTime, r.Ended
}

// clearQuick is Note for a clearQuick one.
func (s States) clearQuick(r Request) (recovered []Budget) {
	a := s[Budget{Domain: nobodyKnown}]
	unclear := a != nil && s.overrunAt(a, r.Ended) > maxOverrun
	silent := func(of Budget) bool {
		return of.Kind == Values && of.Domain != severalAgents && !slices.Contains(r.HaveValues, of.Domain)
	}
	for _, one := range r.Budgets {
		a := s[one]
		if a == nil || silent(one) || one.Domain == severalAgents && slices.ContainsFunc(r.Budgets, silent) || unclear && !a.slow {
			continue
		}
		a.suspect, a.probes = false, 0
		if a.slow {
			recovered = append(recovered, one)
		}
		if a.slow || s.overrunAt(a, r.Ended) == 0 {
			delete(s, one)
		}
	}
	return recovered
}

// CountSlowAgents is how many agents are left alone now and then.
func (s States) CountSlowAgents() int {
	agents := make(map[Budget]bool)
	for of, a := range s {
		if of.Domain != severalAgents {
			of.Kind = Values // one agent, whatever it is slow with
		}
		if a.slow {
			agents[of] = true
		}
	}
	return len(agents)
}

// countSlow is how many accounts share what slow agents get of pmcd's time.
func (s States) countSlow() (n int) {
	for _, a := range s {
		if a.slow {
			n++
		}
	}
	return n
}

// ForgetUnused forgets all accounts but those of agents whose values are in use, of names, and those that owe something: what an
// agent that is left alone does not tell may be why nothing of it is in use.
func (s States) ForgetUnused(used map[Budget]bool, now time.Time) {
	maps.DeleteFunc(s, func(of Budget, a *state) bool {
		unused := of.Kind != Names && !used[Budget{Values, of.Domain, of.Agents}]
		return unused && s.overrunAt(a, now) == 0
	})
}

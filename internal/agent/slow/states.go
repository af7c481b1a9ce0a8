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
	// Long is the agents' time from which a request is long: pmcd serves nobody meanwhile. It is not less, because a
	// busy pmcd may take as long to come to a fetch (docs/pmcd.md b.3), and its agents would be suspects for that.
	Long = 100 * time.Millisecond

	// incidentTime is the time between two long requests from which on the second one is not due to the same incident.
	// Something else may block pmcd, an agent or the machine for that long, as when a disk wakes up: one incident
	// makes suspects, but no slow agents.
	incidentTime = time.Second

	// maxOverrun is the overrun that makes an agent slow although it also answers quickly: it may have slow metrics and
	// quick ones, and each quick answer clears it. 3 s are 30 requests that are
	// just long.
	maxOverrun = 3 * time.Second

	// restFactor is the rest that follows a long request, as a multiple of the time that it took. With 9 all slow
	// agents together get a tenth of pmcd's time, and an agent that takes 4 s is still sampled every 40 s.
	restFactor = 9
)

// Kind is the kind of a request. An agent that is slow with one kind may be quick with another.
type Kind int

// The kinds of requests.
const (
	Values      Kind = iota
	Instances        // of the agent's domains
	Descriptors      // of its metrics
	Names            // of a subtree of the name space, because a name does not tell its agent
)

// String returns the kind as log messages have it.
func (k Kind) String() string { return [...]string{"values", "instances", "descriptors", "names"}[k] }

// Values of Budget.Domain that are not a domain.
const (
	// severalAgents is the domain of a budget of several agents, or of the agent of a subtree.
	severalAgents = -1

	// nobodyKnown is the domain of a budget for long requests for several series, which are nobody's fault alone. While
	// its overrun is more than maxOverrun, no suspect is cleared by a quick answer.
	nobodyKnown = -2
)

// Budget identifies who is charged for a request: one agent, or the agents whose operands one sample needs, which
// cannot be fetched one by one.
type Budget struct {
	Kind   Kind
	Domain int    // of the agent; severalAgents: see Agents
	Agents string // the domains of several agents, or the first component of names
}

// AgentBudget returns the budget of one agent.
func AgentBudget(kind Kind, domain int) Budget { return Budget{Kind: kind, Domain: domain} }

// Budgets returns the budgets of agents whose values are fetched together: one for each agent, and if there are
// several, a last one for all of them. The domains are sorted.
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

// String returns the domains, or the first component of the names.
func (b Budget) String() string {
	if b.Domain == severalAgents {
		return b.Agents
	}
	return strconv.Itoa(b.Domain)
}

// States has the state of each budget that has had a long request and was not cleared since. A budget without a state
// is not slow. doc.go has the transitions.
type States map[Budget]*state

// state is the state of one budget. suspect and slow say where it is in the table of doc.go:
//
//	suspect        suspected: charged for one incident
//	suspect, slow  slow: charged for a second one
//	neither        cleared by a quick answer, but the overrun is not used up yet: it only remembers
type state struct {
	suspect bool // in quarantine
	slow    bool // rests after each long request

	outstanding bool // a request is on its way
	probes      int  // of several agents: the number of agents that have answered a probe quickly, in order

	firstLong time.Time     // the end of the first long request of the last incident
	overrun   time.Duration // what long requests had taken, without a rest for it, at lastLong
	lastLong  time.Time     // the end of the last long request
}

// overrunAt returns the time that long requests have taken and that no rest has followed until now. It shrinks by a
// ninth of the time that passes, divided by the number of budgets that share a tenth of pmcd's time.
func (s States) overrunAt(st *state, now time.Time) time.Duration {
	rest := max(0, now.Sub(st.lastLong))
	return max(0, st.overrun-rest/time.Duration(restFactor*max(1, s.countOwing(now))))
}

// Suspected reports whether one of the budgets is in quarantine, so that its requests are sent apart from all others.
func (s States) Suspected(of ...Budget) bool {
	return len(s) > 0 && slices.ContainsFunc(of, func(of Budget) bool { return s[of] != nil && s[of].suspect })
}

// SlowOf returns those of the budgets that are slow.
func (s States) SlowOf(of ...Budget) []Budget {
	var found []Budget
	for _, b := range of {
		if st := s[b]; st != nil && st.slow {
			found = append(found, b)
		}
	}
	return found
}

// Resting reports whether one of the budgets is slow and gets no request now. It rests until its overrun is used up,
// and while a request is on its way, since nobody knows yet what that takes.
func (s States) Resting(now time.Time, of ...Budget) bool {
	return len(s) > 0 && slices.ContainsFunc(s.SlowOf(of...), func(of Budget) bool {
		return s[of].outstanding || s.overrunAt(s[of], now) > 0
	})
}

// Asker has operands that one fetch asks for: a series.
type Asker interface {
	comparable
	Budgets() []Budget // as Budgets returns them, at least one
	Width() int        // the number of operands
}

// ChooseNext returns the askers in quarantine that are fetched next, and who is charged. They are those that are
// charged like the first one that is not slow; slow ones are last, because everybody waits for them. Together they have
// at most so many operands, unless the first one has more. If the fetch is a probe, it is for one agent of theirs
// alone, and they go on waiting.
func ChooseNext[A Asker](known States, waiting []A, most int) (next []A, charged []Budget, probe bool) {
	first := waiting[max(0, slices.IndexFunc(waiting, func(a A) bool { return known.SlowOf(a.Budgets()...) == nil }))]
	charged, probe = known.nextRequest(first.Budgets())
	next = append(next, first)
	most -= first.Width()
	for _, a := range waiting {
		others, probes := known.nextRequest(a.Budgets())
		if a != first && a.Width() <= most && slices.Equal(others, charged) && probes == probe &&
			(!probe || slices.Equal(a.Budgets(), first.Budgets())) {
			next = append(next, a)
			most -= a.Width()
		}
	}
	return next, charged, probe
}

// nextRequest returns who is charged for the next request for the budgets of one asker in quarantine: its slow ones, or
// if none is slow, the next agent of several in a probe, or all of them once each has answered a probe quickly.
func (s States) nextRequest(of []Budget) (charged []Budget, probe bool) {
	if slow := s.SlowOf(of...); slow != nil {
		return slow, false
	}
	if st := s[of[len(of)-1]]; st != nil && st.probes < len(of)-1 {
		return of[st.probes : st.probes+1], true
	}
	return of, false
}

// RecordProbe records that the next agent of several has answered a probe quickly.
func (s States) RecordProbe(of []Budget) {
	if st := s[of[len(of)-1]]; st != nil {
		st.probes++
	}
}

// SetOutstanding records that a request to budgets is on its way.
func (s States) SetOutstanding(of []Budget) { s.setOutstanding(of, true) }

// ClearOutstanding records that a request to budgets is not on its way any more, whatever its outcome was.
func (s States) ClearOutstanding(of []Budget) { s.setOutstanding(of, false) }

func (s States) setOutstanding(of []Budget, outstanding bool) {
	for _, b := range of {
		if st := s[b]; st != nil {
			st.outstanding = outstanding
		}
	}
}

// Request is a request that pmcd has answered.
type Request struct {
	Budgets    []Budget      // of one series, of which the last one is charged, or of several
	Mixed      bool          // Budgets are of several series: nobody knows whose fault the time is
	HaveValues []int         // domains with values in the answer
	AgentTime  time.Duration // the part of pmcd's time that agents can have taken
	Ended      time.Time
}

// AddBudgets adds the budgets of a series to those of a request.
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

// Charge charges a request to its budgets, and moves these from state to state. It returns the budgets that are slow
// from now on, and those that are not slow any more.
//
//   - A quick request clears its budgets (clearQuick).
//   - A long one with a slow budget is charged to that one: the others have proved to be quick.
//   - Another long one makes all its budgets suspects. If they are of one series, its last budget is charged. It
//     is slow if this is not its first incident, and it is still a suspect or has overrun too much.
func (s States) Charge(r Request) (slowed, recovered []Budget) {
	if r.AgentTime < Long {
		return nil, s.clearQuick(r)
	}
	if slow := s.SlowOf(r.Budgets...); slow != nil {
		for _, b := range slow {
			s.addOverrun(s[b], r)
		}
		return nil, nil
	}
	if r.Mixed {
		s.addOverrun(s.stateOf(Budget{Domain: nobodyKnown}), r)
	}
	for i, b := range r.Budgets {
		st := s.stateOf(b)
		again := !st.firstLong.IsZero() && r.Ended.Sub(st.firstLong) >= incidentTime
		if st.firstLong.IsZero() || again {
			st.firstLong = r.Ended
		}
		if !r.Mixed && i == len(r.Budgets)-1 {
			s.addOverrun(st, r)
			if again && (st.suspect || st.overrun > maxOverrun) {
				// The agent that is found pays for the fetches that nobody was charged for.
				if nobody := s[Budget{Domain: nobodyKnown}]; nobody != nil {
					st.overrun += s.overrunAt(nobody, r.Ended)
					nobody.overrun = 0
				}
				st.slow = true
				slowed = append(slowed, b)
			}
		}
		st.suspect = true
	}
	return slowed, nil
}

// stateOf returns the state of a budget. It makes one if there is none.
func (s States) stateOf(of Budget) *state {
	st := s[of]
	if st == nil {
		st = &state{}
		s[of] = st
	}
	return st
}

// addOverrun adds the time of a long request to what was left of the overrun when the request began.
func (s States) addOverrun(st *state, r Request) {
	st.overrun, st.lastLong = s.overrunAt(st, r.Ended.Add(-r.AgentTime))+r.AgentTime, r.Ended
}

// clearQuick clears the budgets of a quick request, and returns those that were slow. An agent without values in the
// answer stays as it is: pmcd answers at once for an agent that it has given up. So does a budget of several agents, if
// one of them has no values, whoever else is charged for the request. So does a suspect while too much time
// has been charged to nobody: its quick answer may be one of a slow agent between long ones.
func (s States) clearQuick(r Request) (recovered []Budget) {
	st := s[Budget{Domain: nobodyKnown}]
	unclear := st != nil && s.overrunAt(st, r.Ended) > maxOverrun
	silent := func(of Budget) bool {
		return of.Kind == Values && slices.ContainsFunc(strings.Fields(of.String()), func(domain string) bool {
			return !slices.ContainsFunc(r.HaveValues, func(d int) bool { return strconv.Itoa(d) == domain })
		})
	}
	for _, b := range r.Budgets {
		st := s[b]
		if st == nil || silent(b) || unclear && !st.slow {
			continue
		}
		if st.slow {
			recovered = append(recovered, b)
		}
		st.suspect, st.slow, st.probes = false, false, 0
		if s.overrunAt(st, r.Ended) == 0 {
			delete(s, b)
		}
	}
	return recovered
}

// CountSlowAgents returns the number of slow agents. An agent that is slow with several kinds of requests counts once. A
// budget of several agents counts if none of them is slow by itself. A budget of names counts in addition, because it
// does not tell its agent.
func (s States) CountSlowAgents() int {
	agents := make(map[string]bool) // by domain, or the text of a budget that has none
	for of, st := range s {
		if st.slow && of.Domain != severalAgents {
			agents[of.String()] = true
		}
	}
	for of, st := range s {
		counted := func(domain string) bool { return agents[domain] }
		if st.slow && of.Domain == severalAgents && !slices.ContainsFunc(strings.Fields(of.Agents), counted) {
			agents[of.Agents] = true
		}
	}
	return len(agents)
}

// countOwing returns the number of budgets that share a tenth of pmcd's time: the slow ones, and those whose overrun
// would not be used up yet if they had all of it.
func (s States) countOwing(now time.Time) (n int) {
	for _, st := range s {
		if st.slow || now.Sub(st.lastLong) < restFactor*st.overrun {
			n++
		}
	}
	return n
}

// ForgetUnused drops the states of agents whose values are not used, but for budgets of names, and those with an
// overrun: a resting agent may not be used just because it could not be asked for its metrics.
func (s States) ForgetUnused(used map[Budget]bool, now time.Time) {
	maps.DeleteFunc(s, func(of Budget, st *state) bool {
		unused := of.Kind != Names && !used[Budget{Values, of.Domain, of.Agents}]
		return unused && s.overrunAt(st, now) == 0
	})
}

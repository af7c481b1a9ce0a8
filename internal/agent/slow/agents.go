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

	// incident is for how long something else may hold up pmcd, an agent or the machine: long requests that end
	// within it, from the end of the first one on, count as one.
	incident = time.Second

	// patience is what an account may owe although quick requests come between its long ones: it may be for slow metrics and
	// quick ones.
	patience = 3 * time.Second

	// shareOfPMCD is how many times as long as their requests took slow agents are left alone: they
	// get at most a tenth of pmcd's time, all of them together.
	shareOfPMCD = 9
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
	several = -1
	nobody  = -2 // or nobody knows who: while it owes too much, a quick request clears nobody
)

// Account is whom the time of a request is put down to: an agent that is asked alone, or those whose operands one sample needs:
// these cannot be asked one by one.
type Account struct {
	Kind   Kind
	Domain int    // several: those of Agents
	Agents string // their domains, or the subtree that they serve
}

// Of is one agent's account.
func Of(kind Kind, domain int) Account { return Account{Kind: kind, Domain: domain} }

// Accounts are those of agents whose values are fetched together: one for each, and last one for all, if they are several.
// The domains are sorted.
func Accounts(domains []int) []Account {
	var all []Account
	for _, d := range domains {
		all = append(all, Of(Values, d))
	}
	if len(domains) > 1 {
		all = append(all, Account{Values, several, strings.Trim(fmt.Sprint(domains), "[]")})
	}
	return all
}

// String are the domains, or the subtree.
func (a Account) String() string {
	if a.Domain == several {
		return a.Agents
	}
	return strconv.Itoa(a.Domain)
}

// Agents knows the accounts of which one was slow, or may have been. See the package's comment for their states.
type Agents map[Account]*account

type account struct {
	asked   bool          // a request is on its way
	suspect bool          // it is in quarantine
	slow    bool          // it backs off
	probed  int           // of several agents: so many were asked alone since they are suspects, and were quick
	since   time.Time     // when the first request of the last incident ended
	debt    time.Duration // what long requests took that no rest had followed when the last one
	ended   time.Time     // ended
}

// owes is what no rest has followed at a time.
func (s Agents) owes(a *account, now time.Time) time.Duration {
	rest := max(0, now.Sub(a.ended))
	return max(0, a.debt-rest/time.Duration(shareOfPMCD*max(1, s.backingOff())))
}

// Suspected reports whether one of the accounts is in quarantine: it is asked apart from all others.
func (s Agents) Suspected(of ...Account) bool {
	return len(s) > 0 && slices.ContainsFunc(of, func(of Account) bool { return s[of] != nil && s[of].suspect })
}

// Slow are those of the accounts that back off.
func (s Agents) Slow(of ...Account) []Account {
	var found []Account
	for _, one := range of {
		if a := s[one]; a != nil && a.slow {
			found = append(found, one)
		}
	}
	return found
}

// Resting reports whether one of the accounts has cost pmcd so much that it is left alone for now: until a rest
// has been taken for what it took last, which while it is asked nobody knows.
func (s Agents) Resting(now time.Time, of ...Account) bool {
	return len(s) > 0 && slices.ContainsFunc(s.Slow(of...), func(of Account) bool { return s[of].asked || s.owes(s[of], now) > 0 })
}

// Asker is what has operands of agents that one fetch asks for.
type Asker interface {
	comparable
	Agents() []Account // see Accounts; there is one at least
	Width() int        // how many operands
}

// Choose says which of those who wait in quarantine are next, with no more operands together than most unless the first one has,
// and what their fetch is charged to. Those that are known to be slow are last: everybody waits for them. A probe is for one of
// their agents alone; they go on waiting.
func Choose[A Asker](known Agents, waiting []A, most int) (next []A, charged []Account, probe bool) {
	first := waiting[max(0, slices.IndexFunc(waiting, func(a A) bool { return known.Slow(a.Agents()...) == nil }))]
	charged, probe = known.next(first.Agents())
	next = append(next, first)
	most -= first.Width()
	for _, a := range waiting {
		others, probes := known.next(a.Agents())
		if a != first && a.Width() <= most && slices.Equal(others, charged) && probes == probe &&
			(!probe || slices.Equal(a.Agents(), first.Agents())) {
			next = append(next, a)
			most -= a.Width()
		}
	}
	return next, charged, probe
}

// next says what to ask for one in quarantine. What several suspects are needed for is fetched as a whole when each of them
// has answered quickly.
func (s Agents) next(of []Account) (charged []Account, probe bool) {
	if slow := s.Slow(of...); slow != nil {
		return slow, false
	}
	if a := s[of[len(of)-1]]; a != nil && a.probed < len(of)-1 {
		return of[a.probed : a.probed+1], true
	}
	return of, false
}

// Probed notes that the next one of the agents of a series has answered quickly, alone.
func (s Agents) Probed(of []Account) {
	if a := s[of[len(of)-1]]; a != nil {
		a.probed++
	}
}

// Begin notes that accounts are asked, Answered that they are not any more, whatever came of it.
func (s Agents) Begin(of []Account) { s.setAsked(of, true) }

// Answered notes that nothing is on its way any more, whatever came of it.
func (s Agents) Answered(of []Account) { s.setAsked(of, false) }

func (s Agents) setAsked(of []Account, asked bool) {
	for _, one := range of {
		if a := s[one]; a != nil {
			a.asked = asked
		}
	}
}

// Request is one that pmcd has answered.
type Request struct {
	Of    []Account     // what it is charged to: of one series the last one
	Mixed bool          // they are of several series: nobody knows whose fault it is
	Spoke []int         // domains that had something to say
	Took  time.Duration // of pmcd's time
	Ended time.Time
}

// Add adds the accounts of a series to those of a request.
func (r *Request) Add(of []Account) {
	switch {
	case r.Of == nil:
		r.Of = of
		return
	case !r.Mixed && slices.Equal(r.Of, of):
		return
	}
	r.Of, r.Mixed = slices.Clip(r.Of), true
	for _, a := range of {
		if !slices.Contains(r.Of, a) {
			r.Of = append(r.Of, a)
		}
	}
}

// Note notes what a request took, and returns the accounts that back off from now on, and those that do no
// more. An agent that had nothing to say does not prove to be fast: pmcd answers at once for one that it has given up.
func (s Agents) Note(r Request) (slowed, recovered []Account) {
	if r.Took < Long {
		return nil, s.quick(r)
	}
	if slow := s.Slow(r.Of...); slow != nil { // of others that are asked with them nobody believes it
		for _, one := range slow {
			s.charge(s[one], r)
		}
		return nil, nil
	}
	if r.Mixed {
		s.charge(s.of(Account{Domain: nobody}), r)
	}
	for i, one := range r.Of {
		a := s.of(one)
		again := !a.since.IsZero() && r.Ended.Sub(a.since) >= incident
		if a.since.IsZero() || again {
			a.since = r.Ended
		}
		if !r.Mixed && i == len(r.Of)-1 {
			s.charge(a, r)
			if again && (a.suspect || a.debt > patience) {
				a.slow = true
				slowed = append(slowed, one)
			}
		}
		a.suspect = true
	}
	return slowed, nil
}

// of is the state of an account.
func (s Agents) of(of Account) *account {
	a := s[of]
	if a == nil {
		a = &account{}
		s[of] = a
	}
	return a
}

// charge puts the time of a request down to an account.
func (s Agents) charge(a *account, r Request) {
	a.debt, a.ended = s.owes(a, r.Ended.Add(-r.Took))+r.Took, r.Ended
}

// quick is Note for a quick one.
func (s Agents) quick(r Request) (recovered []Account) {
	a := s[Account{Domain: nobody}]
	unclear := a != nil && s.owes(a, r.Ended) > patience
	silent := func(of Account) bool {
		return of.Kind == Values && of.Domain != several && !slices.Contains(r.Spoke, of.Domain)
	}
	for _, one := range r.Of {
		a := s[one]
		if a == nil || silent(one) || one.Domain == several && slices.ContainsFunc(r.Of, silent) || unclear && !a.slow {
			continue
		}
		a.suspect, a.probed = false, 0
		if a.slow {
			recovered = append(recovered, one)
		}
		if a.slow || s.owes(a, r.Ended) == 0 {
			delete(s, one)
		}
	}
	return recovered
}

// BackingOff is how many agents are left alone now and then.
func (s Agents) BackingOff() int {
	agents := make(map[Account]bool)
	for of, a := range s {
		if of.Domain != several {
			of.Kind = Values // one agent, whatever it is slow with
		}
		if a.slow {
			agents[of] = true
		}
	}
	return len(agents)
}

// backingOff is how many accounts share what slow agents get of pmcd's time.
func (s Agents) backingOff() (n int) {
	for _, a := range s {
		if a.slow {
			n++
		}
	}
	return n
}

// Keep forgets all accounts but those of agents whose values are in use, of names, and those that owe something: what an
// agent that is left alone does not tell may be why nothing of it is in use.
func (s Agents) Keep(used map[Account]bool, now time.Time) {
	maps.DeleteFunc(s, func(of Account, a *account) bool {
		unused := of.Kind != Names && !used[Account{Values, of.Domain, of.Agents}]
		return unused && s.owes(a, now) == 0
	})
}

package agents

import (
	"fmt"
	"slices"
	"strconv"

	"pmdaderived/pdu"
)

// Figures count the errors of one agent's metrics.
type Figures struct {
	Errors uint64 // metrics with a code instead of values in all fetches

	metric pdu.PMID // the last one with a code
	code   pdu.Code
	logged []pdu.Code // codes that Table.CountError has reported as first
}

// Error returns the last metric with a code instead of values, and the code; "": there was none.
func (f *Figures) Error() string {
	if f.code == 0 {
		return ""
	}
	return fmt.Sprintf("%v: %v", f.metric, f.code)
}

// Table has the figures of all agents that were asked for anything, by domain.
type Table map[int]*Figures

func (t Table) figures(domain int) *Figures {
	f := t[domain]
	if f == nil {
		f = &Figures{}
		t[domain] = f
	}
	return f
}

// Add adds the agents of some domains, which have had a request.
func (t Table) Add(domains []int) {
	for _, d := range domains {
		t.figures(d)
	}
}

// maxLogged limits the codes of an agent that reach the log: the agent may answer with any code.
const maxLogged = 8

// CountError counts a metric with a code instead of values. It reports whether this is the first one of its agent
// with this code, for the log.
func (t Table) CountError(metric pdu.PMID, code pdu.Code) (first bool) {
	f := t.figures(metric.Domain())
	f.Errors++
	f.metric, f.code = metric, code
	if first = len(f.logged) < maxLogged && !slices.Contains(f.logged, code); first {
		f.logged = append(f.logged, code)
	}
	return first
}

// Agent has the figures of one domain.
type Agent struct {
	Domain int
	Name   string // of the agent, or its domain
	Figures
}

// List returns all agents by domain, with their names. An agent without a name, or with the name of another, has its
// domain as name.
func (t Table) List(names map[int]string) []Agent {
	var list []Agent
	taken := make(map[string]bool)
	for domain, f := range t {
		list = append(list, Agent{Domain: domain, Figures: *f})
	}
	slices.SortFunc(list, func(a, b Agent) int { return a.Domain - b.Domain })
	for i := range list {
		a := &list[i]
		if a.Name = names[a.Domain]; a.Name == "" || taken[a.Name] {
			a.Name = strconv.Itoa(a.Domain)
		}
		taken[a.Name] = true
	}
	return list
}

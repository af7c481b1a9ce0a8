package agents

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"pmdaderived/pdu"
)

// Figures are what became of what the agent of a domain was asked for.
type Figures struct {
	Requests uint64        // fetches of its metrics
	Errors   uint64        // of its metrics in these that had no values but a code
	Time     time.Duration // that pmcd took for these, also for what else was in them

	metric pdu.PMID // the last that had a code, and which
	code   pdu.Code
	logged []pdu.Code // that the log has
}

// Error is the last metric that had no values, and why; "": all have always had some.
func (f *Figures) Error() string {
	if f.code == 0 {
		return ""
	}
	return fmt.Sprintf("%v: %v", f.metric, f.code)
}

// Table has the figures of all domains that were asked for anything. What it gives belongs to it.
type Table map[int]*Figures

func (t Table) figures(domain int) *Figures {
	f := t[domain]
	if f == nil {
		f = &Figures{}
		t[domain] = f
	}
	return f
}

// CountFetch counts a fetch of metrics of some domains.
func (t Table) CountFetch(domains []int, took time.Duration) {
	for _, d := range domains {
		f := t.figures(d)
		f.Requests++
		f.Time += took
	}
}

// maxLogged is how many codes of an agent the log has at most: it may answer with any.
const maxLogged = 8

// CountError counts a metric that has a code in place of values. It reports whether that is the first one of its agent with this code.
func (t Table) CountError(metric pdu.PMID, code pdu.Code) (first bool) {
	f := t.figures(metric.Domain())
	f.Errors++
	f.metric, f.code = metric, code
	if first = len(f.logged) < maxLogged && !slices.Contains(f.logged, code); first {
		f.logged = append(f.logged, code)
	}
	return first
}

// Agent is a domain with its figures.
type Agent struct {
	Domain int
	Name   string // of its agent, or its number
	Figures
}

// List lists all domains in order, with the names of their agents where there are any. No two have the same name.
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

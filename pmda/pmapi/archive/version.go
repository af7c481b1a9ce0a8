package archive

import (
	"sort"
	"time"

	"pmdaderived/pdu"
)

// State is what an archive says of an instance domain from a time on.
type State struct {
	From      time.Time
	Delta     bool           // the others of before stay
	Instances []pdu.Instance // of a Delta those that have come
	Gone      []pdu.Inst     // of a Delta
}

// State is what has been recorded of a domain's instances for the n-th time, counted from 0; false if there is no such record.
func (a *Archive) State(indom pdu.InDom, n int) (State, bool) {
	d := a.indoms[indom]
	if d == nil || n >= len(d.states) {
		return State{}, false
	}
	s := d.states[n]
	return State{From: s.t, Delta: s.delta, Instances: s.instances, Gone: s.gone}, true
}

// Version counts how often the instances of a domain and their labels have been recorded until the time of the context: while it stays the
// same so do they.
func (c *Context) Version(indom pdu.InDom) int {
	n := 0
	if d := c.indoms[indom]; d != nil {
		n = until(len(d.states), c.now, func(i int) time.Time { return d.states[i].t })
	}
	labels := c.labels[labelKey{uint32(indom), pdu.LabelInstances}]
	return n + until(len(labels), c.now, func(i int) time.Time { return labels[i].t })
}

// until is how many of n times, which ascend, are not after t; at least the first one, which counts for what is before it, too.
func until(n int, t time.Time, at func(i int) time.Time) int {
	return max(min(n, 1), sort.Search(n, func(i int) bool { return at(i).After(t) }))
}

package operand

import (
	"slices"

	"pmdaderived/pdu"
)

// List has the operands of one fetch, each once. It is immutable.
type List struct {
	IDs     []pdu.PMID
	Descs   []pdu.Desc       // in the order of IDs
	Agents  []int            // domains of IDs, sorted and each once
	InDoms  []pdu.InDom      // instance domains, sorted and each once
	indexes map[pdu.PMID]int // of IDs
}

// NewList returns a list of metrics, which must be distinct.
func NewList(descs ...pdu.Desc) *List {
	l := &List{
		IDs: make([]pdu.PMID, len(descs)), Descs: descs, Agents: AgentsOf(descs),
		indexes: make(map[pdu.PMID]int, len(descs)),
	}
	for i, d := range descs {
		l.IDs[i], l.indexes[d.PMID] = d.PMID, i
		if d.InDom != pdu.NoInDom {
			l.InDoms = append(l.InDoms, d.InDom)
		}
	}
	slices.Sort(l.InDoms)
	l.InDoms = slices.Compact(l.InDoms)
	return l
}

// Of returns a list of the metrics of one agent, by its domain.
func (l *List) Of(domain int) *List {
	return NewList(slices.DeleteFunc(slices.Clone(l.Descs), func(d pdu.Desc) bool { return d.PMID.Domain() != domain })...)
}

// AgentsOf returns the domains of metrics, sorted and each once.
func AgentsOf(descs []pdu.Desc) []int {
	domains := make([]int, len(descs))
	for i, d := range descs {
		domains[i] = d.PMID.Domain()
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}

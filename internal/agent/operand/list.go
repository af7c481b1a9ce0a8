package operand

import (
	"slices"

	"pmdaderived/pdu"
)

// List is the operands that one fetch asks for, each once. Immutable.
type List struct {
	IDs     []pdu.PMID
	Descs   []pdu.Desc       // of the IDs
	Agents  []int            // domains of the IDs, each once
	indexes map[pdu.PMID]int // where each is
}

// NewList makes a list of distinct metrics.
func NewList(descs ...pdu.Desc) *List {
	l := &List{IDs: make([]pdu.PMID, len(descs)), Descs: descs, Agents: AgentsOf(descs), indexes: make(map[pdu.PMID]int, len(descs))}
	for i, d := range descs {
		l.IDs[i], l.indexes[d.PMID] = d.PMID, i
	}
	return l
}

// Of makes a list of those of one domain.
func (l *List) Of(domain int) *List {
	return NewList(slices.DeleteFunc(slices.Clone(l.Descs), func(d pdu.Desc) bool { return d.PMID.Domain() != domain })...)
}

// AgentsOf lists the domains of metrics, each once, in order.
func AgentsOf(descs []pdu.Desc) []int {
	domains := make([]int, len(descs))
	for i, d := range descs {
		domains[i] = d.PMID.Domain()
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}

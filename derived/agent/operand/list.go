package operand

import (
	"pmdaderived/derived"
	"pmdaderived/pdu"
)

// List is the operands that one fetch asks for, each once. Immutable.
type List struct {
	IDs    []pdu.PMID
	Descs  []pdu.Desc // of the IDs
	layout *derived.Layout
}

// NewList makes a list of distinct metrics.
func NewList(descs ...pdu.Desc) *List {
	l := &List{IDs: make([]pdu.PMID, len(descs)), Descs: descs}
	for i, d := range descs {
		l.IDs[i] = d.PMID
	}
	l.layout = derived.NewLayout(l.IDs)
	return l
}

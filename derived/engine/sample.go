package engine

import (
	"time"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// Sample is the values of the operands from one fetch. Immutable.
type Sample interface {
	// Time is when the collector took the values.
	Time() time.Time

	// Values returns the values of an operand, or a Vector with the code it answered.
	// Never nil; a metric that the sample lacks has the code pdu.ErrAgain. hint is for the sample: 0 at first, then
	// what Values has left there for the same metric, of this sample or of another one. Samples are much alike.
	Values(id pdu.PMID, hint *int32) *column.Vector

	// Names returns what is known of the names of an instance domain; nil is an empty table.
	Names(d pdu.InDom) *column.NameTable

	// Members returns the instances of a domain, for constants that are defined over one;
	// nil when they are not known.
	Members(d pdu.InDom) *column.InstSet
}

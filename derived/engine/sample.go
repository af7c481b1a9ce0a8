package engine

import (
	"time"

	"pmdaderived/derived/column"
	"pmdaderived/pdu"
)

// Sample has the values of operands from one fetch. Immutable.
type Sample interface {
	// Time returns the time stamp of the fetch.
	Time() time.Time

	// Values returns the values of an operand, or a Vector with its error, never nil. A metric that the sample lacks
	// has the code pdu.ErrAgain. hint speeds up the search: it is 0 at first, then Values sets it, and the evaluation
	// passes it back for the same metric, also to other samples, which are probably similar.
	Values(id pdu.PMID, hint *int32) *column.Vector

	// Names returns the names of an instance domain. Nil is an empty table.
	Names(d pdu.InDom) *column.NameTable

	// Members returns the instances of a domain, for constants that are defined over one. Nil: they are unknown.
	Members(d pdu.InDom) *column.InstSet
}

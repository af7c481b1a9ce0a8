package pdu

import "fmt"

// Type is the type of a metric's values (PM_TYPE_*). Source: docs/protocol.md 3.4.
type Type int32

// The metric types.
const (
	TypeNoSupport       Type = -1 // the metric is defined, but this host has no values for it
	Type32              Type = 0
	TypeU32             Type = 1
	Type64              Type = 2
	TypeU64             Type = 3
	TypeFloat           Type = 4
	TypeDouble          Type = 5
	TypeString          Type = 6
	TypeAggregate       Type = 7
	TypeAggregateStatic Type = 8
	TypeEvent           Type = 9
	TypeHighResEvent    Type = 10
	TypeUnknown         Type = 255
)

// Numeric reports whether values of the type are numbers.
func (t Type) Numeric() bool { return t >= Type32 && t <= TypeDouble }

// String returns the name without its PM_TYPE_ prefix, as pminfo -d and mkconst(type=) write it.
func (t Type) String() string {
	switch t {
	case TypeNoSupport:
		return "NOSUPPORT"
	case TypeUnknown:
		return "UNKNOWN"
	}
	return nameOf(t, "Type(%d)", "32", "U32", "64", "U64", "FLOAT", "DOUBLE", "STRING", "AGGREGATE",
		"AGGREGATE_STATIC", "EVENT", "HIGHRES_EVENT")
}

// Semantics says how values of a metric relate over time (PM_SEM_*). Source: docs/protocol.md 3.5.
type Semantics int32

// The semantics; 2 is retired.
const (
	SemCounter  Semantics = 1 // grows, except when it wraps or its source restarts
	SemInstant  Semantics = 3 // a value of the moment
	SemDiscrete Semantics = 4 // changes seldom, holds until it changes
)

// String returns the name in lower case, as pminfo -d writes it.
func (s Semantics) String() string {
	return nameOf(s, "Semantics(%d)", "", "counter", "", "instant", "discrete")
}

// Fault returns why PCP's tools do not take the descriptor as valid; "": they do. A metric without values need not have
// semantics.
func (d Desc) Fault() string {
	switch {
	case d.Type < TypeNoSupport || d.Type > TypeHighResEvent:
		return fmt.Sprintf("%d is not a valid type of metric %v", d.Type, d.PMID)
	case d.Type != TypeNoSupport && d.Sem != SemCounter && d.Sem != SemInstant && d.Sem != SemDiscrete:
		return fmt.Sprintf("%d is not a valid semantics of metric %v", d.Sem, d.PMID)
	}
	return ""
}

// Desc is the descriptor of a metric (pmDesc): everything about it that never changes while its PMID is in use.
// Texts and labels are asked for separately.
type Desc struct {
	PMID  PMID
	Type  Type
	InDom InDom // NoInDom: the metric is singular
	Sem   Semantics
	Units Units
}

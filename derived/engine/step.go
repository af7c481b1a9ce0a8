package engine

import (
	"pmdaderived/derived/group"
	"pmdaderived/derived/pattern"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// stepOp is what a step does to the columns it takes.
type stepOp uint8

const (
	opOperand   stepOp = iota + 1 // ( -- values of a metric in the sample of the step's age )
	opConst                       // ( -- one number )
	opConstSet                    // ( -- the number for every instance of a domain )
	opWindow                      // ( -- what a window comes to )
	opNothing                     // ( -- no values )
	opConvert                     // ( a -- a as another numeric type )
	opScale                       // ( a -- a as DOUBLE, divided and multiplied )
	opRescale                     // ( a -- a in other units, same type )
	opArith                       // ( a b -- a+b … ), all of one type
	opCompare                     // ( a b -- a<b … as U32 ), both of type from
	opTruth                       // ( a -- 1 where a is not 0, else 0, as U32 )
	opBool                        // ( a b -- a&b … ), both truths
	opPair                        // ( a b -- the larger of both … )
	opNot                         // ( a -- 1-a ), a truth
	opNegate                      // ( a -- -a )
	opEach                        // ( a -- a function of each value of a )
	opAggregate                   // ( a -- sum of a … ), one value
	opCount                       // ( a -- number of values )
	opDelta                       // ( a b -- a minus b ), b one sample older
	opRate                        // ( a b -- a minus b per second )
	opUnchanged                   // ( a -- 0 for each value ), delta() and rate() of what no metric decides
	opScalar                      // ( a -- its first value )
	opSelect                      // ( a -- its value for one instance )
	opMatch                       // ( a -- its values for matching instances )
	opTop                         // ( a -- its k largest values, or smallest )
	opTernary                     // ( g a b -- a where g is not 0, else b )
	opDefault                     // ( a b c -- a where it has a finite value, else b, for the instances of c )
	opGroup                       // ( a -- sum of a … for each group ), or ( a key -- … )
	opSpread                      // ( a b -- for each instance of b the value of its group in a ), or ( a key b -- … )
	opRename                      // ( a -- a over groups of the same names in another domain )
	opSame                        // ( a -- a ), which takes no step
)

// step computes one column from others. It is comparable: steps that are equal compute the same,
// so a program holds each once, whichever definitions it is for. It is small: there are a lot of them.
type step struct {
	op      stepOp
	set     bool          // the metadata gives the result an instance domain
	setA    bool          // likewise the first operand
	setB    bool          // likewise the second
	variant bool          // opMatch: what does not match; opTop: the smallest values; opRate: of a counter
	syntax  uint8         // syntax.Op of opArith, opCompare, opBool; syntax.Func of opPair, opAggregate, opEach, opTop, opGroup
	key     group.KeyKind // of opGroup, opSpread: what the groups are made by
	age     uint8         // which sample it looks at, 0 the newest; of opAggregate, opCount, opDefault: the oldest it must have
	typ     pdu.Type      // of the result
	from    pdu.Type      // of the operands

	// Steps whose results it takes, as many as the operator has operands. Of constants a and b are the
	// halves; of those with one b is where the program has what else they
	// need: a factor, converter, instance or pattern. A key is b of opGroup and opSpread; b of opRename is the domain of the
	// operand. c of opAggregate, opGroup and opTop is the constant among the arguments, if there is one.
	a, b, c int32

	id uint32 // of opOperand the pdu.PMID; of opWindow its place among those of the set; of opConstSet, opSelect, opMatch the pdu.InDom; else that of the groups
}

// value is the number of a constant.
func (s *step) value() uint64 { return uint64(uint32(s.a)) | uint64(uint32(s.b))<<32 }

// holding is s as a constant with a number.
func (s step) holding(value uint64) step {
	s.a, s.b = int32(uint32(value)), int32(uint32(value>>32))
	return s
}

// program is the steps of all metrics of a Set. Every step comes after those that it takes from.
type program struct {
	steps      []step
	kept       []bool // of each step: the result stays where it is, because not just one step takes it or it is one number
	patterns   []*pattern.Regexp
	converters []*units.Converter
	factors    []units.Factor
	texts      []string
	windows    []*Window
}

// takes calls yield for the steps that s takes from.
func (s *step) takes(yield func(int32)) {
	if s.op <= opNothing {
		return // the first ones make a column of none
	}
	yield(s.a)
	switch s.op {
	case opArith, opCompare, opBool, opPair, opDelta, opRate:
		yield(s.b)
	case opGroup, opSpread:
		if s.key == group.KeyMetric {
			yield(s.b)
		}
		if s.op == opSpread {
			yield(s.c)
		}
	case opTernary, opDefault:
		yield(s.b)
		yield(s.c)
	default:
	}
}

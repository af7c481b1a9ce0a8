package engine

import (
	"pmdaderived/derived/group"
	"pmdaderived/derived/pattern"
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// stepOp is the operation of a step. The comments show the operands, as first, second and third, and the result.
type stepOp uint8

const (
	opOperand   stepOp = iota + 1 // ( -- values of a metric )
	opConst                       // ( -- one number )
	opConstSet                    // ( -- the number for every instance of a domain )
	opWindow                      // ( -- result of a window )
	opNow                         // ( -- time of the sample )
	opNothing                     // ( -- no values )
	opConvert                     // ( a -- a as another numeric type )
	opScale                       // ( a -- a times a factor, as DOUBLE )
	opRescale                     // ( a -- a in other units, same type )
	opArith                       // ( a b -- a+b … ), all of one type
	opCompare                     // ( a b -- a<b … as U32 ), both of type from
	opTruth                       // ( a -- 1 where a is not 0, else 0, as U32 )
	opBool                        // ( a b -- a&b … ), both truths
	opPair                        // ( a b -- max(a, b) … ), numbers of two operands by a function
	opNot                         // ( a -- !a ), of a truth
	opNegate                      // ( a -- -a )
	opEach                        // ( a -- abs(a) … ), each value by a function
	opAggregate                   // ( a -- sum(a) … ), one value
	opCount                       // ( a -- number of values )
	opBuckets                     // ( a -- nth_percentile_bucket(a) … ), of what the instances of a counted
	opWhole                       // ( a [keys] b [keys] -- a without histograms of which an instance of b lacks ), b is third
	opDelta                       // ( a b -- a-b ), b is one sample older
	opRate                        // ( a b -- a-b per second ), b is one sample older
	opIncrease                    // ( a b -- a-b, or a where it is new or was reset ), b is one sample older
	opFromZero                    // ( a [keys] b -- b, with 0 in histograms of which an instance of a is less ), b is third
	opUnchanged                   // ( a -- 0 for each value ), delta() and rate() of constants
	opScalar                      // ( a -- its first value )
	opSelect                      // ( a -- its value for one instance )
	opMatch                       // ( a [key] -- its values for matching instances )
	opTop                         // ( a -- its k largest values, or smallest )
	opTernary                     // ( g a b -- a where g is not 0, else b )
	opDefault                     // ( a b c -- a where it has a finite value, else b, for the instances of c )
	opGroup                       // ( a keys -- sum(a) … for each group )
	opSpread                      // ( a keys b -- for each instance of b the value of its group in a ), b is third
	opRename                      // ( a -- a over the groups with the same names in another domain )
	opKey                         // ( [a] [keys] [from by] -- no values, but an error of keys ), a is a metric whose values are keys
	opInstances                   // ( a b -- instances without values, see instancesOf )
	opSame                        // ( a -- a ), which takes no step
)

// step computes one column from others. It is comparable: steps that are equal compute the same,
// so a program holds each once, whichever definitions it is for. It is small: there are a lot of them.
type step struct {
	op      stepOp
	set     bool          // the result has an instance domain
	setA    bool          // likewise the first operand
	setB    bool          // likewise the second
	variant bool          // see negated, ofCounter and bound
	word    uint8         // see operator, function, positive, merges and of
	key     group.KeyKind // of opKey

	// age is that of the sample that the step reads: 0 is the newest. opDefault has no values unless there is a sample of
	// this age, and opAggregate and opCount have none for an operand without values.
	age uint8

	typ  pdu.Type // of the result
	from pdu.Type // of the operands

	// The operands, which are steps: first, second and third in the order of the comments at stepOp. Keys of opGroup,
	// opMatch, opSpread, opWhole, opFromZero and opKey are second: an opKey, which has the next key as its second; -1:
	// there is none. That of group.KeyLookup takes another, whose keys it looks up; its second has those of a's instances. A
	// number among the arguments of a function is third: of opAggregate, opBuckets, opGroup and opTop.
	// opConst and opConstSet have no operands: first and second are the halves of their value.
	first, second, third int32

	// domain has the instances of opConstSet, opSelect, opMatch, opBuckets and opKey, and the groups of opGroup, opSpread,
	// opWhole, opFromZero and opRename.
	domain pdu.InDom
	entry  int32 // a metric, or the position of data in the program: see pmid, operandDomain, and the methods of program
}

// value returns the number of opConst and opConstSet.
func (s *step) value() uint64 { return uint64(uint32(s.first)) | uint64(uint32(s.second))<<32 }

// withValue returns s as a constant with a number.
func (s step) withValue(value uint64) step {
	s.first, s.second = int32(uint32(value)), int32(uint32(value>>32))
	return s
}

// operator returns that of opArith, opCompare and opBool.
func (s *step) operator() syntax.Op { return syntax.Op(s.word) }

// divides reports whether s is a division.
func (s *step) divides() bool { return s.op == opArith && s.operator() == syntax.Div }

// function returns that of opPair, opAggregate, opBuckets, opEach, opTop and opGroup.
func (s *step) function() syntax.Func { return syntax.Func(s.word) }

// negated reports whether opMatch keeps the instances that do not match.
func (s *step) negated() bool { return s.variant }

// bound reports whether a key of opKey is the bound of a bucket.
func (s *step) bound() bool { return s.variant }

// keyBits is the number of bits for how many keys a group has.
const keyBits = 4

// place returns which of the keys of a group opKey with group.KeyGroup takes: the position among so many.
func (s *step) place() (at, count int) {
	return int(s.entry >> keyBits), int(s.entry & (1<<keyBits - 1))
}

// groupDomain returns the domain of the groups by a key of opKey.
func (s *step) groupDomain() pdu.InDom { return pdu.InDom(uint32(s.third)) }

// ofCounter reports whether the operand of opDelta or opRate is a counter.
func (s *step) ofCounter() bool { return s.variant }

// positive reports whether opDelta or opIncrease has no value of a counter that went down, also outside of windows.
func (s *step) positive() bool { return s.word != 0 }

// noPartner says why two operands with instances leave no values.
const noPartner = "no instance of one operand has a partner in the other"

// whyEmpty returns why the step may have no values although its operands have; "": that says nothing to an author.
func (s *step) whyEmpty() string {
	switch s.op {
	case opNothing:
		return "novalue() was chosen"
	case opSelect:
		return "there is no such instance"
	case opMatch:
		if s.negated() {
			return "the pattern matches each instance"
		}
		return "the pattern matches no instance"
	case opArith, opCompare, opBool, opPair:
		return noPartner
	case opGroup, opSpread:
		return "no instance has a key"
	case opBuckets:
		return noHistogram
	}
	return ""
}

// merges returns what the groups of opWhole are.
func (s *step) merges() merging { return merging(s.word) }

// outer returns the keys of the groups of groups of opWhole, each of which is one histogram; -1: all are.
func (s *step) outer() int32 { return s.entry }

// merging says what the groups of opWhole are.
type merging uint8

const (
	notMerged merging = iota // a histogram each
	merged                   // the buckets of one histogram, see outer: all of their instances must have a value
	evenly                   // likewise, but as many instances may lack in each of them: those of other histograms
)

// of returns the instances that opInstances finds.
func (s *step) of() instancesOf { return instancesOf(s.word) }

// instancesOf says which instances of two operands are wanted.
type instancesOf uint8

const (
	ofBoth   instancesOf = iota // those that both have
	ofEither                    // those of the first operand, then those that only the second one has
	ofKnown                     // those of the first operand; if it has an error, those of the second one
)

// pmid returns the metric of opOperand and opIncrease.
func (s *step) pmid() pdu.PMID { return pdu.PMID(uint32(s.entry)) }

// operandDomain returns the domain of opRename's operand.
func (s *step) operandDomain() pdu.InDom { return pdu.InDom(uint32(s.entry)) }

// program has the steps of all metrics of a Set. Every step comes after those that it takes from.
type program struct {
	steps      []step
	patterns   []*pattern.Regexp
	converters []*units.Converter
	factors    []units.Factor
	texts      []string
	windows    []*Window
}

// factor returns that of opScale.
func (p *program) factor(s *step) units.Factor { return p.factors[s.entry] }

// converter returns that of opRescale.
func (p *program) converter(s *step) *units.Converter { return p.converters[s.entry] }

// pattern returns that of opMatch, and of opKey with group.KeyPattern.
func (p *program) pattern(s *step) *pattern.Regexp { return p.patterns[s.entry] }

// text returns the instance of opSelect, and the label of opKey with group.KeyLabel.
func (p *program) text(s *step) string { return p.texts[s.entry] }

// window returns that of opWindow.
func (p *program) window(s *step) *Window { return p.windows[s.entry] }

// takes calls yield for the steps whose results s takes.
func (s *step) takes(yield func(int32)) {
	if s.op <= opNothing {
		return // they have no operands
	}
	if s.op != opKey || s.key == group.KeyMetric || s.key == group.KeyLookup {
		yield(s.first)
	}
	switch s.op {
	case opArith, opCompare, opBool, opPair, opDelta, opRate, opIncrease, opInstances, opGroup:
		yield(s.second)
	case opSpread, opTernary, opDefault:
		yield(s.second)
		yield(s.third)
	case opWhole, opFromZero:
		for _, k := range [...]int32{s.second, s.third, s.outer()} {
			if k >= 0 {
				yield(k)
			}
		}
	case opKey, opMatch:
		if s.key == group.KeyLookup {
			yield(s.entry)
		}
		if s.second >= 0 {
			yield(s.second)
		}
	default:
	}
}

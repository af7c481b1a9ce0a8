package lint

// Code is a kind of warning.
type Code string

// The codes. Warnings of the first group are found in the text alone.
const (
	NestedTernary     Code = "nested-ternary"
	MixedAndOr        Code = "mixed-and-or"
	ChainedComparison Code = "chained-comparison"
	NotPrecedence     Code = "not-precedence"
	SameOperands      Code = "same-operands"
	SameExpression    Code = "same-expression"
	ConstantCondition Code = "constant-condition"
	ConstantExpr      Code = "constant-expression"
	AlwaysZero        Code = "always-zero"
	DivisionByZero    Code = "division-by-zero"
	UnusedGuard       Code = "unused-guard"
	ReversedGuard     Code = "reversed-guard"
	DoubledRoot       Code = "doubled-root"
	CountOfTruths     Code = "count-of-condition"
	PercentFraction   Code = "percentile-fraction"
	ScrapeLabel       Code = "scrape-label" // package config gives it for labels of a definition

	CompareScale     Code = "compare-scale"
	CompareUnits     Code = "compare-units"
	ChangeOfNoCount  Code = "change-of-non-counter"
	InstantOfNoCount Code = "instant-of-non-counter"
	RescaleRounds    Code = "rescale-rounds"
	ShadowedName     Code = "shadowed-name"
	AbsentOperand    Code = "absent-operand"
	MisspeltOperand  Code = "misspelt-operand"

	ChangeOfTotal      Code = "change-of-aggregate"
	DividedShare       Code = "divided-rate-of-time"
	ChangeOverAge      Code = "change-over-age"
	BucketTotals       Code = "bucket-totals"
	DifferentInstances Code = "different-instances"

	UnsignedDiff   Code = "unsigned-difference"
	ZeroDivisor    Code = "zero-divisor"
	AbsentInstance Code = "absent-instance"
	MatchesNothing Code = "matches-nothing"
	NoBuckets      Code = "no-buckets"

	NotPortable Code = "not-portable"
)

// Codes returns all codes, in the order in which they are documented.
func Codes() []Code {
	return []Code{
		NestedTernary, MixedAndOr, ChainedComparison, NotPrecedence, SameOperands, SameExpression, ConstantCondition,
		ConstantExpr, AlwaysZero, DivisionByZero, UnusedGuard, ReversedGuard, DoubledRoot, CountOfTruths,
		PercentFraction, ScrapeLabel, CompareScale, CompareUnits, ChangeOfNoCount, InstantOfNoCount, RescaleRounds, ShadowedName,
		AbsentOperand, MisspeltOperand, ChangeOfTotal, DividedShare, ChangeOverAge, BucketTotals, DifferentInstances,
		UnsignedDiff, ZeroDivisor, AbsentInstance, MatchesNothing, NoBuckets, NotPortable,
	}
}

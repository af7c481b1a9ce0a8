package check

import "pmdaderived/derived/syntax"

// Rule is a rule of the language that only a definition with known operands can break. The rules of syntax are package
// syntax's.
type Rule uint8

// The rules, in the order in which the man page pmRegisterDerived(3) lists their messages, then
// those that only later versions or this package have. ruleTexts below
// has the wording of each, and an example that a test checks.
const (
	RuleUnknownOperand Rule = iota + 1
	RuleOperandMetadata
	RuleTernaryType
	RuleTernaryInDom
	RuleTernarySemantics
	RuleTernarySpace
	RuleTernaryTime
	RuleTernaryCount
	RuleTernaryGuardType
	RuleTernaryGuardSet
	RuleTernaryGuardInDom
	RuleCounters
	RuleCounterNonCounter
	RuleNonCounterCounter
	RuleLeftType
	RuleRightType
	RuleDimensions
	RuleRightDimension
	RuleLeftDimension
	RuleInDom
	RuleNegationType
	RuleFunctionType
	RuleRateDimension
	RuleRescaleDimension
	RuleTernaryUnknown
	RuleNotType
	RuleConstantType
	RuleExtraScale
	RuleExtraProduct
	RuleExtraQuotient
	RuleTernaryExtra
	RuleDimensionRange
	RuleGroupSingular
	RuleKeyType
	RuleKeyInDom
	RuleGroupCounter
	RuleGroupInDoms
	RuleCycle
	RuleBrokenOperand
	RuleTooDeep
	RuleHistory
	RuleFunctionCounter
	RuleFunctionDimension
	RuleNumberFit
	RuleDefaultFit
	RuleBucketSingular
	RuleBucketCounter
	RuleWindowCounter
	RuleWindowInWindow
	RuleLatchInWindow
	RuleLatchPerClient
	RuleWindowChange
	RuleEvents
)

// ruleTexts has the wording of every rule, and the smallest definition that breaks it over the
// metrics of the package's tests.
//
//nolint:gochecknoglobals // a table
var ruleTexts = [...]struct{ reason, example string }{
	RuleUnknownOperand:    {"Unknown operand metric", "nosuch.metric + 1"},
	RuleOperandMetadata:   {"Metadata for operand metric not available", "broken.desc + 1"},
	RuleTernaryType:       {"Different types for ternary operands", "1 > 0.5 ? long.one : ulong.one"},
	RuleTernaryInDom:      {"Different instance domains for ternary operands", "long.one ? bin : other"},
	RuleTernarySemantics:  {"Different semantics for ternary operands", "long.one ? ulong.one : mkconst(1, type=u32)"},
	RuleTernarySpace:      {"Different units or scale (space) for ternary operands", "long.one ? kbyte : byte"},
	RuleTernaryTime:       {"Different units or scale (time) for ternary operands", "long.one ? sec : millisec"},
	RuleTernaryCount:      {"Different units or scale (count) for ternary operands", "long.one ? events : ulong.one"},
	RuleTernaryGuardType:  {"Non-arithmetic operand for ternary guard", "string ? long.one : long.one"},
	RuleTernaryGuardSet:   {"Non-scalar ternary guard with scalar expressions", "bin ? long.one : long.one"},
	RuleTernaryGuardInDom: {"Operands should have the same instance domain", "other ? bin : bin"},
	RuleCounters:          {"Illegal operator for counters", "counter * counter"},
	RuleCounterNonCounter: {"Illegal operator for counter and non-counter", "counter + ulong.one"},
	RuleNonCounterCounter: {"Illegal operator for non-counter and counter", "ulong.one / counter"},
	RuleLeftType:          {"Non-arithmetic type for left operand", "string + 1"},
	RuleRightType:         {"Non-arithmetic type for right operand", "1 + string"},
	RuleDimensions:        {"Dimensions are not the same", "kbyte + sec"},
	RuleRightDimension:    {"Non-counter and not dimensionless for right operand", "counter * kbyte"},
	RuleLeftDimension:     {"Non-counter and not dimensionless for left operand", "kbyte * counter"},
	RuleInDom:             {"Operands should have the same instance domain", "bin + other"},
	RuleNegationType:      {"Non-arithmetic operand for unary negation", "-string"},
	RuleFunctionType:      {"Non-arithmetic operand for function", "avg(string)"},
	RuleRateDimension:     {"Incorrect time dimension for operand", "rate(persec)"},
	RuleRescaleDimension:  {"Incompatible dimensions", `rescale(kbyte, "sec")`},
	RuleTernaryUnknown:    {"Unknown metric for ternary expression", "defined(nosuch.metric) ? 1 : nosuch.metric"},
	RuleNotType:           {"Non-arithmetic operand for boolean negation", "!string"},
	RuleConstantType:      {"Incompatible constant and type of metric", "mkconst(1.5, meta=long.one)"},
	RuleExtraScale:        {"Operands have incompatible extra units or scale", "volt + millivolt"},
	RuleExtraProduct:      {"Extra units not allowed for both operands of *", "volt * volt"},
	RuleExtraQuotient:     {"Different extra units not allowed for both operands of /", "volt / millivolt"},
	RuleTernaryExtra:      {"Different units or scale (extra) for ternary operands", "long.one ? volt : millivolt"},
	RuleDimensionRange:    {"Dimension out of range", "byte7 * byte7"},
	RuleGroupSingular:     {"Operand has no instances to group", "sum(long.one) by (/x/)"},
	RuleKeyType:           {"Key is neither a string nor a whole number", "sum(bin) by (bin.d)"},
	RuleKeyInDom:          {"Key and operand should have the same instance domain", "sum(bin) by (other)"},
	RuleGroupCounter: {
		"Groups of counters gain and lose members: use sum(rate(x)) by ...",
		"rate(sum(bin.ctr) by (/x/))",
	},
	RuleGroupInDoms:   {"No instance domain left for groups", "sum(bin) by (full=/x/)"},
	RuleCycle:         {"Definition depends on itself", "cycle.a + 1"},
	RuleBrokenOperand: {"Definition of operand metric failed", "broken.definition + 1"},
	RuleTooDeep:       {"Definitions nested too deeply", "deep.last"},
	RuleHistory: {
		"Too many nested delta() and rate()",
		"delta(delta(delta(delta(delta(delta(delta(delta(delta(bin)))))))))",
	},
	RuleFunctionCounter:   {"Counter operand for function", "max(bin.ctr, bin.u)"},
	RuleFunctionDimension: {"Operand of function is not dimensionless", "sqrt(kbyte)"},
	RuleNumberFit:         {"Number does not fit the other operands", "max(bin, 0.5)"},
	RuleDefaultFit:        {"Second operand does not fit the first", "default(bin, bin.d)"},
	RuleBucketSingular:    {"Operand has no instances, which are the buckets", "share_bucket(long.one, 1)"},
	RuleBucketCounter: {
		"Counter operand for function of buckets: take delta() or rate() of it",
		"nth_percentile_bucket(bin.ctr, 95)",
	},
	RuleWindowCounter: {
		"Counter operand for function over time: take rate() or delta() of it",
		`max_sample(bin.ctr, "1min")`,
	},
	RuleWindowInWindow: {"Function over time of another one", `max_sample(avg_sample(bin, "1min"), "5min")`},
	RuleLatchInWindow: {
		"latch() in a function over time: write the function inside latch()",
		`max_sample(latch(bin > 2, bin < 1), "5min")`,
	},
	RuleLatchPerClient: {
		"Function over time without a window in latch(), which is the same for all clients",
		"latch(max_sample(bin) > 2, bin < 1)",
	},
	RuleWindowChange: {
		"Change of a function over time: write it inside the function",
		`rate(avg_sample(bin, "1min"))`,
	},
	RuleEvents: {"Events cannot be operands: clients share samples, which lose and repeat events", "count(event)"},
}

// Example returns the smallest definition that breaks the rule, over the metrics of the package's tests.
func (r Rule) Example() string { return ruleTexts[r].example }

// String returns the wording of the rule's message.
func (r Rule) String() string { return ruleTexts[r].reason }

// Error says why a definition cannot be used with the collector as it is.
type Error struct {
	Metric string      // the definition's name
	What   string      // the operator or function and its operands, or the operand concerned
	Rule   Rule        // why
	Detail string      // more about why, perhaps empty
	Span   syntax.Span // the part of the definition's text that is at fault

	cause *Error // of RuleBrokenOperand: the error of the definition where it began
}

// Error returns the message in the wording of pmRegisterDerived(3).
func (e *Error) Error() string {
	return "Semantic error: derived metric " + e.Metric + ": " + e.Reason()
}

// Reason returns the message without the name of the definition.
func (e *Error) Reason() string {
	reason := e.What + ": " + e.Rule.String()
	if e.Detail != "" {
		reason += " (" + e.Detail + ")"
	}
	return reason
}

// Offset returns the position of the fault in the definition's text, in bytes.
func (e *Error) Offset() int { return e.Span.Start }

// Origin returns the name of the definition that is at fault: an operand of the metric, or the metric itself.
func (e *Error) Origin() string {
	if e.cause != nil {
		return e.cause.Metric
	}
	return e.Metric
}

// Unbound reports whether only metrics are missing: the definition becomes valid when they appear.
func (e *Error) Unbound() bool {
	switch e.Rule {
	case RuleUnknownOperand, RuleOperandMetadata, RuleTernaryUnknown:
		return true
	case RuleBrokenOperand:
		return e.cause.Unbound()
	default:
		return false
	}
}

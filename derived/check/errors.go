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
	RuleReservedLabel
	RuleKeyType
	RuleKeyInDom
	RuleLookupSingular
	RuleGroupCounter
	RuleGroupInDoms
	RuleGroupLabel
	RuleGroupKeys
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
	RuleClockChange
	RuleIncreaseOperand
	RuleIncreaseResult
	RuleEvents
)

// ruleTexts has the wording of every rule, and a small definition that breaks it over the metrics of the package's
// tests. docs/messages.md has them with the comments, which are for authors of definitions; -update writes it.
//
//nolint:gochecknoglobals // a table
var ruleTexts = [...]struct{ reason, example string }{
	// No metric of the collector and no definition has this name. If the metric comes and goes with its agent, do
	// nothing. If only some hosts have it, use [defined()](language.md#metrics-that-some-hosts-lack). A definition of this
	// name has a syntax error, or `masked by <place>` follows: a [mask](configuration.md#mask-shipped-definitions) removes it.
	RuleUnknownOperand: {"Unknown operand metric", "kernel.all.laod"},
	// The metric exists, but its agent does not answer, or this host does not support it. The reason is in
	// parentheses. The agent tries again when agents start or stop.
	RuleOperandMetadata: {"Metadata for operand metric not available", "broken.desc + 1"},
	//	broken = kernel.uname.nodename + 1
	//	user = broken * 2
	//
	// The error of the other definition is in parentheses. Correct that definition.
	RuleBrokenOperand: {"Definition of operand metric failed", "broken.definition + 1"},
	//	chicken = egg + 1
	//	egg = chicken - 1
	//
	// The circle is in parentheses. Within expressions, a metric of the collector has priority over a definition with
	// the same name.
	RuleCycle: {"Definition depends on itself", "cycle.a + 1"},
	// The chain of definitions that use each other is too long, or they need too many operands of each other.
	RuleTooDeep: {"Definitions nested too deeply", "deep.last"},
	// Each needs another earlier sample.
	RuleHistory: {
		"Too many nested delta() and rate()",
		"delta(delta(delta(delta(delta(delta(delta(delta(delta(hinv.ncpu)))))))))",
	},
	// Use the change of a counter, or its current value:
	//
	//	semantics.delta = delta(disk.dev.total) + 1
	//	semantics.instant = instant(disk.dev.total) + 1
	RuleCounterNonCounter: {"Illegal operator for counter and non-counter", "disk.dev.total + 1"},
	// The same, with the operands in the other order.
	RuleNonCounterCounter: {"Illegal operator for non-counter and counter", "hinv.ncpu / disk.dev.total"},
	// A quotient of two counters is the mean since boot. Use the quotient of their changes:
	//
	//	semantics.request_size = delta(disk.dev.total_bytes) / delta(disk.dev.total)
	RuleCounters:       {"Illegal operator for counters", "disk.dev.total_bytes / disk.dev.total"},
	RuleRightDimension: {"Non-counter and not dimensionless for right operand", "disk.dev.total_bytes * mem.physmem"},
	// An operand beside a counter must have no units. Use `rate()`, `delta()` or `instant()` of the counter.
	RuleLeftDimension: {"Non-counter and not dimensionless for left operand", "mem.physmem * disk.dev.total_bytes"},
	// Kbyte and a number without units cannot be combined. Give the number units:
	//
	//	semantics.units = mem.physmem - mkconst(1, units=Gbyte)
	RuleDimensions: {"Dimensions are not the same", "mem.physmem - kernel.all.nprocs"},
	// Voltages, currents, powers and temperatures are not converted automatically:
	//
	//	semantics.extra = rescale(hinv.ncpu * mkconst(15, units="power (W)"), "power (mW)") + mkconst(500, units="power (mW)")
	RuleExtraScale: {
		"Operands have incompatible extra units or scale",
		`hinv.ncpu * mkconst(15, units="power (W)") + mkconst(500, units="power (mW)")`,
	},
	// A metric can have only one extra unit. Remove the units from one operand, and give units to the result:
	//
	//	semantics.volts = hinv.ncpu * mkconst(12, units="voltage (V)") / mkconst(1, units="voltage (V)")
	//	semantics.watts = semantics.volts * 2 * mkconst(1, units="power (W)")
	RuleExtraProduct: {
		"Extra units not allowed for both operands of *",
		`mkconst(12, units="voltage (V)") * mkconst(2, units="current (A)")`,
	},
	// Use `rescale()` to give both the same scale.
	RuleExtraQuotient: {
		"Different extra units not allowed for both operands of /",
		`mkconst(12, units="voltage (V)") / mkconst(500, units="voltage (mV)")`,
	},
	// The powers of PCP's units range from -8 to 7.
	RuleDimensionRange: {
		"Dimension out of range",
		"swap.used * swap.used * swap.used * swap.used * swap.used * swap.used * swap.used * swap.used",
	},
	// `rescale()` changes only the scale, not the dimension.
	RuleRescaleDimension: {"Incompatible dimensions", `rescale(mem.physmem, "sec")`},
	// The operand is already a rate. `rate()` takes metrics without time in their units, or with time to the power of
	// one.
	RuleRateDimension: {"Incorrect time dimension for operand", "rate(network.interface.speed)"},
	// Disks and load averages have no instances in common. Use a single value of one of them:
	//
	//	semantics.indom = kernel.all.load - scalar(kernel.all.load[15 minute])
	RuleInDom: {"Operands should have the same instance domain", "kernel.all.load * disk.dev.total"},
	RuleTernaryGuardInDom: {
		"Operands should have the same instance domain",
		"kernel.all.load > 0 ? network.interface.speed : network.interface.speed",
	},
	// `by (KEY)` needs a set of instances, not a single value.
	RuleGroupSingular: {"Operand has no instances to group", "sum(mem.physmem) by (/x/)"},
	// pmproxy tells Prometheus the instance in these labels. Give the groups a label of another name:
	//
	//	semantics.named = sum(network.interface.in.bytes) by (interface=/^([a-z]+)/)
	RuleReservedLabel: {
		"Label instname or instid would take the place of the group in /metrics for Prometheus",
		"sum(network.interface.in.bytes) by (instname=/^([a-z]+)/)",
	},
	RuleKeyType: {
		"Key is neither a string nor a whole number",
		"sum(network.interface.in.bytes) by (network.interface.speed)",
	},
	// Each instance needs a key. Use a metric over the same domain, or a pattern; or [look up](language.md#keys-from-another-domain)
	// the values of a metric over another domain.
	RuleKeyInDom: {
		"Key and operand should have the same instance domain",
		"sum(network.interface.in.bytes) by (disk.dev.total)",
	},
	// `KEY -> METRIC` finds an instance of the metric.
	RuleLookupSingular: {
		"Metric after -> has no instances",
		"sum(network.interface.in.bytes) by (/^([a-z]+)/ -> kernel.uname.nodename)",
	},
	// Each pair of an instance domain and a label takes an instance domain permanently, and [their number is
	// limited](reliability.md#limits). Use an existing label.
	RuleGroupInDoms: {"No instance domain left for groups", "sum(bin) by (full=/x/)"},
	// A group has the labels of its keys, and no others.
	RuleGroupLabel: {
		"Groups have no label of this name", "sum(sum(network.interface.in.bytes) by (kind=/^([a-z]+)/)) by (label(type))",
	},
	// Groups meet by name, so they need as many keys, and the same labels in the same order. Group the ones with more
	// keys once more, or write the keys in the same order:
	//
	//	semantics.kinds = sum(rate(network.interface.in.bytes)) by (kind=/^([a-z]+)/, end=/([0-9]+)$/)
	//	semantics.share = semantics.kinds / sum(semantics.kinds) by (label(kind))
	RuleGroupKeys: {
		"Groups by other keys never meet: write the same order, or group once more, sum(sum(x) by (a, b)) by (label(a))",
		"sum(network.interface.speed) by (a=/^(.)/, b=/(.)$/) - sum(network.interface.speed) by (a=/^(.)/)",
	},
	// The sum changes when an instance joins or leaves the group. Use the rate of each instance:
	//
	//	semantics.groups = sum(rate(network.interface.in.bytes)) by (/^([a-z]+)/)
	RuleGroupCounter: {
		"Groups of counters gain and lose members: use sum(rate(x)) by ...",
		"rate(sum(network.interface.in.bytes) by (/^([a-z]+)/))",
	},
	RuleLeftType:     {"Non-arithmetic type for left operand", "kernel.uname.nodename == 1"},
	RuleRightType:    {"Non-arithmetic type for right operand", "1 + kernel.uname.nodename"},
	RuleFunctionType: {"Non-arithmetic operand for function", "max(kernel.uname.nodename)"},
	RuleNegationType: {"Non-arithmetic operand for unary negation", "-kernel.uname.nodename"},
	RuleNotType:      {"Non-arithmetic operand for boolean negation", "!kernel.uname.nodename"},
	// Strings can be renamed, counted, and selected by instance or with `?:`, but not used in arithmetic.
	RuleTernaryGuardType: {"Non-arithmetic operand for ternary guard", "kernel.uname.nodename ? 1 : 2"},
	// Use `rate()` or `delta()` of a counter, or its current value:
	//
	//	semantics.high = max(rate(disk.dev.total), 5)
	//	semantics.most = topk_inst(instant(disk.dev.total), 2)
	RuleFunctionCounter: {"Counter operand for function", "max(disk.dev.total, 5)"},
	// The counts since the agent began say nothing about the present. Take those of a time:
	//
	//	semantics.slow = nth_percentile_bucket(delta(bpf.runq.latency), 99, "nanosec")
	RuleBucketCounter: {
		"Counter operand for function of buckets: take delta() or rate() of it",
		"nth_percentile_bucket(bpf.runq.latency, 99)",
	},
	RuleBucketSingular: {"Operand has no instances, which are the buckets", "share_bucket(mem.util.free, 3)"},
	// For what it counted in the window, use a sum:
	//
	//	semantics.counted = sum_sample(delta(disk.dev.total), "1min")
	RuleWindowCounter: {
		"Counter operand for function over time: take rate() or delta() of it",
		`max_sample(disk.dev.total, "1min")`,
	},
	// A function over time cannot contain another one. Use one function with a longer interval. If only a KEY of
	// `matchinst()` or `by` is one, write `matchinst()` or the aggregate outside:
	//
	//	semantics.hour = max_sample(kernel.all.load, "1 hour", "1min")
	//	semantics.long = avg_sample(kernel.all.load, "1min") > 4
	//	semantics.peaks = matchinst(/1/, max_sample(kernel.all.load), semantics.long)
	RuleWindowInWindow: {
		"Function over time of another one",
		`max_sample(avg_sample(kernel.all.load, "1min"), "1 hour")`,
	},
	// A latch can contain functions over time. If it is only a KEY, write the function inside `matchinst()` or the
	// aggregate:
	//
	//	semantics.busy = latch(min_sample(kernel.all.load, "1min") > 8, max_sample(kernel.all.load, "1min") < 4)
	//	semantics.held = matchinst(/1/, max_sample(kernel.all.load, "1min"), semantics.busy)
	RuleLatchInWindow: {
		"Function over time of a latch, or of what it selects: write the function inside",
		`max_sample(latch(kernel.all.load > 8, kernel.all.load < 4), "1min")`,
	},
	// Without a window the function covers the time since a client's last fetch, but all clients get the same state.
	// Give the length of a window:
	//
	//	semantics.loaded = latch(max_sample(kernel.all.load, "10s") > 8, kernel.all.load < 4)
	RuleLatchPerClient: {
		"Function over time without a window in latch(), which is the same for all clients",
		"latch(max_sample(kernel.all.load) > 8, kernel.all.load < 4)",
	},
	// Inside the function `rate()` and `delta()` are from sample to sample. If only a KEY of `matchinst()` or `by` is a
	// function over time, write them inside `matchinst()`, or inside the aggregate:
	//
	//	semantics.mean = avg_sample(rate(disk.dev.total), "1min")
	//	semantics.full = avg_sample(rate(disk.dev.total), "1min") > 100
	//	semantics.rates = matchinst(/1/, rate(disk.dev.total), semantics.full)
	RuleWindowChange: {
		"Change of a function over time, or of what it selects: write it inside",
		`rate(avg_sample(kernel.all.load, "1min"))`,
	},
	// The change of `now()` is the time between two samples, by which `rate()` divides already. If `now()` is only in a
	// guard or a KEY, write the change inside:
	//
	//	semantics.late = now() > 1800000000 ? delta(disk.dev.total) : novalue()
	RuleClockChange: {"Change of now(), or of what it selects: write now() outside", "delta(now())"},
	// Other values go down without a reset.
	RuleIncreaseOperand: {"Operand is not a counter metric", "increase(kernel.all.load)"},
	// Only instances of a metric are born. Take the increase of each metric, also in `matchinst()` or with `[NAME]`:
	//
	//	semantics.increase = sum(increase(disk.dev.total))
	RuleIncreaseResult: {
		"Operand is not a metric: take increase() of it first, then select or sum",
		"increase(sum(disk.dev.total))",
	},
	// A metric of type EVENT or HIGHRES_EVENT gives each client the events since its own last fetch, but the agent
	// fetches it once for all its clients. Use the metric itself, with pmevent(1). `defined()` of it is valid.
	RuleEvents: {
		"Events cannot be operands: clients share samples, which lose and repeat events",
		"count(sample.event.records)",
	},
	// Divide by a constant with these units:
	//
	//	semantics.root = sqrt(mem.physmem / mkconst(1, units=Kbyte))
	RuleFunctionDimension: {"Operand of function is not dimensionless", "sqrt(mem.physmem)"},
	// The number is not a value of their type, or they are counters. Convert them to DOUBLE:
	//
	//	semantics.fit = max(hinv.ncpu * 1.0, 0.5)
	RuleNumberFit: {"Number does not fit the other operands", "max(hinv.ncpu, 0.5)"},
	// `default()` has the type and units of its first operand. The second needs the same units, and a type that fits
	// into it, such as U32 into DOUBLE:
	//
	//	semantics.default = default(mem.util.free, rescale(swap.used, "Kbyte"))
	RuleDefaultFit: {"Second operand does not fit the first", "default(mem.util.free, swap.used)"},
	// The constant is not a value of the type of this metric. Add `type=double`.
	RuleConstantType: {"Incompatible constant and type of metric", "mkconst(1.5, meta=hinv.ncpu)"},
	// Both operands of `?:` need the same type, semantics and units. A plain number takes those of the other operand
	// if it is a value of its type and the operand is not a counter. For other constants use `mkconst()` with `meta`:
	//
	//	semantics.ternary = hinv.ncpu > 1 ? mem.util.free : mkconst(0, meta=mem.util.free)
	RuleTernaryType: {"Different types for ternary operands", "hinv.ncpu > 1 ? mem.physmem : hinv.ncpu"},
	RuleTernarySemantics: {
		"Different semantics for ternary operands",
		"hinv.ncpu > 1 ? hinv.ncpu : kernel.all.nprocs",
	},
	RuleTernaryInDom: {
		"Different instance domains for ternary operands",
		"hinv.ncpu > 1 ? disk.dev.total : network.interface.in.drops",
	},
	// Use `rescale()` on one of them:
	//
	//	semantics.scale = hinv.ncpu > 1 ? mem.util.free : rescale(swap.used, "Kbyte")
	RuleTernarySpace: {
		"Different units or scale (space) for ternary operands",
		"hinv.ncpu > 1 ? mem.util.free : swap.used",
	},
	RuleTernaryTime: {
		"Different units or scale (time) for ternary operands",
		"hinv.ncpu > 1 ? rate(disk.dev.total) : delta(disk.dev.total)",
	},
	RuleTernaryCount: {
		"Different units or scale (count) for ternary operands",
		"hinv.ncpu > 1 ? count(disk.dev.total) : kernel.all.nprocs",
	},
	RuleTernaryExtra: {
		"Different units or scale (extra) for ternary operands",
		`hinv.ncpu > 1 ? mkconst(1, units="voltage (V)") : mkconst(1, units="voltage (mV)")`,
	},
	// The guard has several values, and the operands have one. Use a guard with one value:
	//
	//	semantics.guard = max(kernel.all.load) > 1 ? 1 : 2
	RuleTernaryGuardSet: {"Non-scalar ternary guard with scalar expressions", "kernel.all.load > 1 ? 1 : 2"},
	// An operand of `?:` does not exist, and no `defined()` prevents its selection. Perhaps the operands are in the
	// wrong order.
	RuleTernaryUnknown: {"Unknown metric for ternary expression", "defined(zfs.arc.hits) ? 1 : zfs.arc.hits"},
}

// Example returns a small definition that breaks the rule, over the metrics of the package's tests.
func (r Rule) Example() string { return ruleTexts[r].example }

// String returns the wording of the rule's message.
func (r Rule) String() string { return ruleTexts[r].reason }

// Error says why a definition cannot be used with the collector as it is.
type Error struct {
	Metric string      // the definition's name
	What   string      // the operator or function and its operands, or the operand concerned
	Rule   Rule        // why
	Detail string      // more about why, perhaps empty
	Hint   string      // advice to the author; "": none
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

// Absent reports whether all that is missing is a metric that nothing has taken away: the collector just lacks it.
func (e *Error) Absent() bool {
	if e.Rule == RuleBrokenOperand {
		return e.cause.Absent()
	}
	return e.Rule == RuleTernaryUnknown || e.Rule == RuleUnknownOperand && e.Detail == "" // no mask
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

// Package engine computes derived metrics: it compiles the trees of a checked set into steps, and computes columns of
// values with the steps.
//
//	check.Set ──NewSet──► Set: a list of steps ──Evaluation──► Vector
//	                                             Sample, older Sample …
//
// The metrics of a [Set] share one list of steps, in which equal subexpressions and equal operands occur once. For
// rate(x) / sum(rate(x)) it is
//
//	0   operand x          the values of the current sample
//	1   operand x, age 1   those of the sample before
//	2   rate 0 1
//	3   aggregate sum 2
//	4   arith / 2 3        the result
//
// An [Evaluation] computes a step when its result is needed, at most once for a [Sample], and owns the memory of all
// results. A function over time is a [Window]: its operand has steps, which are computed at each tick, and its result
// comes from outside.
//
//	step.go      the operations, and what a step holds
//	compile.go   trees to steps; needs.go: what a metric needs of a sample
//	eval.go      the operations of one or two columns; a file each for others: groups.go, match.go, ternary.go …
//	kernels.go   the loops over numbers; arith.go, relate.go, change.go, reduce.go: by operator
//	source.go    columns that loops read, and memory; cell.go: the memory of a step
package engine

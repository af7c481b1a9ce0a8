// Package engine computes derived metrics: it compiles the trees of a checked set into steps, and the steps into
// columns of values.
//
//	check.Set ──NewSet──► Set: a list of steps ──Evaluation──► Vector
//	                                             Sample, older Sample …
//
// The metrics of a [Set] share one list of steps, in which equal subexpressions and equal operands occur once. An
// [Evaluation] computes steps when they are asked for, each at most once for a [Sample], and owns the memory of all
// results.
package engine

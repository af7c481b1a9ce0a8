// Package check gives meaning to the expressions of derived metrics: it binds definitions to the metrics of a
// collector, and derives type, semantics, units and instance domain of the metrics that they define.
//
//	text ──Parse──► Definition ──NewSet──► Set of Metric: a tree of Node, or an Error
//	       syntax                Catalog
//
// A [Node] is a subexpression with its metadata. An [Error] says which [Rule] of the language a definition breaks.
//
// The order of checks is libpcp's, as it decides which message a user sees. Definitions are checked in an order in
// which each comes after those that it names. In an expression, operands are checked before their operator, left before
// right; a missing operand is reported before a broken rule of another one. Then the rules of the operator follow.
//
//	check.go      the walk over an expression: names, functions and their arguments
//	binary.go     operators; ternary.go: guard ? a : b
//	functions.go  the meaning of each function
//	numbers.go    plain numbers, which take the metadata of other operands
//	groups.go     by (KEY), and how the values of two operands are paired
//	order.go      the order of definitions
//	errors.go     rules and their messages
//	explain.go    trees as explain prints them
package check

// Package check gives meaning to the expressions of derived metrics: it binds definitions to the metrics of a
// collector, and derives type, semantics, units and instance domain of what they define.
//
//	text ──Parse──► Definition ──NewSet──► Set of Metric: a tree of Node, or an Error
//	       syntax                Catalog
//
// A [Node] is a subexpression with its metadata. An [Error] says which [Rule] of the language a definition breaks.
// Definitions are checked in an order in which each comes after those that it names.
package check

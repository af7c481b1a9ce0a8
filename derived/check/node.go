package check

import (
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// Node is a node of a definition's typed tree: a subexpression with its metadata. A node that is
// decided while the definition is checked (the operand chosen by a ternary with a static guard, a
// definition used by another) stands for what it was decided to be.
type Node struct {
	Expr syntax.Expr // where it came from

	pdu.Desc // its PMID counts where the node is a metric of the collector

	// Kids are the operands, left to right. Of a definition used by another there are none more
	// than its own.
	Kids []*Node

	// Factors are the scale conversions of the operands of a binary operator before it is
	// applied, one for each of Kids; nil when there are none.
	Factors []units.Factor

	Value        uint64           // of a constant, as in Vector.Bits
	Converter    *units.Converter // of rescale(), and of rate() over a time
	decided      bool             // the value is known while checking: a static guard may use it
	Empty        bool             // novalue() or anon(): never a value
	Fitted       bool             // a plain number with metadata of what stands beside it, where libpcp wants mkconst()
	height       int32            // nodes on the longest path to a leaf, itself included
	History      uint8            // earlier samples that the value needs
	Adds         bool             // with a delta() that is not within a rate()
	groupCounter bool             // a counter whose members come and go: a sum for each group
	overTime     bool             // a function over time, or computed from one
	Key          *GroupKey        // of a set over groups: what they are made by
	Other        *Node            // the tree of another definition that this is a use of; nil: it is none
}

// GroupKey is what groups are made by.
type GroupKey struct {
	By     *syntax.By
	Metric *Node // the metric; nil: there is none
}

// discrete is the metadata of a single value of a type that does not change.
func discrete(t pdu.Type) pdu.Desc {
	return pdu.Desc{Type: t, Sem: pdu.SemDiscrete, InDom: pdu.NoInDom}
}

// constant reports whether n is a number or an mkconst(), which relations may compare with anything.
func (n *Node) constant() bool { return n.Other == nil && syntax.NumberOf(n.Expr) != nil }

// window reports whether n is a function over time.
func (n *Node) window() bool {
	call, ok := n.Expr.(*syntax.Call)
	return ok && functions[call.Func].form == formWindow
}

// operandText is how messages call an operand: itself if it is a name or a number, else "<expr>".
func operandText(e syntax.Expr) string {
	if name, ok := syntax.Unparen(e).(*syntax.Name); ok {
		return name.Name
	}
	if number := syntax.NumberOf(e); number != nil {
		return number.Text
	}
	return "<expr>"
}

package check

import (
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// Node is a node of a definition's typed tree: a subexpression with its metadata. It has one of these modes:
//
//	a metric       Expr is a *syntax.Name, Desc is the collector's, no Kids
//	a number       Expr is a *syntax.Number, a mkconst(), a defined() or a sign before a number: Value, no Kids
//	the time       Expr is now(), no Kids
//	no value       Empty, whatever Expr is: novalue(), anon(), or a missing metric with Language.NoValue
//	an operation   Expr is an operator or a function, and Kids are its operands
//	a definition   Other is the root of the tree of another definition, and all else a copy of that
//
// A ternary whose guard is known has no node: its selected operand takes its place. A boolean whose left operand
// decides it, while the right one is missing, is a number with a *syntax.Binary.
type Node struct {
	Expr syntax.Expr // the subexpression as it is written

	pdu.Desc // its PMID is valid only for a metric of the collector

	// Kids are the operands, left to right. Keys that are metrics are the last ones.
	Kids []*Node

	// Factors are the scale conversions of the operands, one for each of Kids, which are applied before the operator
	// is; nil if none is needed.
	Factors []units.Factor

	Value        uint64           // of a number, as in column.Vector.Bits
	Converter    *units.Converter // of rescale(), and to seconds of rate() and slope_sample() of a time; else nil
	decided      bool             // Value is known, and a ternary selects by it now
	Empty        bool             // there is never a value
	Fitted       bool             // a plain number with the metadata of another operand, where libpcp requires mkconst()
	height       int32            // nodes on the longest path to a leaf, itself included
	History      uint8            // the number of earlier samples that the value needs
	HasDelta     bool             // there is a delta() that is not within a rate()
	groupCounter bool             // a counter summed over groups, whose members come and go
	overTime     bool             // a function over time, or computed from one: it can only be within latch()
	perClient    bool             // likewise one since the client's last fetch: it cannot be within latch()
	latched      bool             // likewise latch()
	clock        bool             // there is a now()
	Key          *GroupKey        // the key of the groups that are its instances; nil: they are no groups
	Selecting    []Key            // the key of matchinst(), if it has one
	Other        *Node            // see above; else nil
}

// GroupKey is the keys that groups are made by.
type GroupKey struct {
	By   *syntax.By // as they are written
	Keys []Key
	Over *Node // the operand of the aggregate: its instances are in the groups; nil: they are of a window
}

// Key is a key of instances.
type Key struct {
	*syntax.Key        // as it is written
	From        Source // the instances have the keys of it, or look them up by these
	Metric      *Node  // whose values are looked up; nil: none is
	By          Source // of the instances of Metric; without Expr their names find them
}

// Source is where keys of instances are from.
type Source struct {
	Expr   syntax.Expr // as it is written
	Metric *Node       // if it is one; else nil
	Of     Label       // if it is a label of groups
}

// Label says which of the labels of groups one is: the position among so many. The zero Label is none.
type Label struct{ At, Count int }

// discrete returns the metadata of a single value that does not change.
func discrete(t pdu.Type) pdu.Desc {
	return pdu.Desc{Type: t, Sem: pdu.SemDiscrete, InDom: pdu.NoInDom}
}

// constant reports whether n is a number or an mkconst(), which relations may compare with anything.
func (n *Node) constant() bool { return n.Other == nil && syntax.NumberOf(n.Expr) != nil }

// Operands returns Kids without the metrics that are keys.
func (n *Node) Operands() []*Node {
	if e, ok := n.Expr.(*syntax.Call); ok {
		return n.Kids[:min(len(n.Kids), len(e.Operands()))]
	}
	return n.Kids
}

// Metric returns the node of the metric that n is, or selects instances of; nil: n is something else.
func (n *Node) Metric() *Node {
	for n.Other != nil {
		n = n.Other
	}
	switch e := n.Expr.(type) {
	case *syntax.Name:
		return n
	case *syntax.Select:
		return n.Kids[0].Metric()
	case *syntax.Call:
		if e.Func == syntax.Match {
			return n.Kids[0].Metric()
		}
	}
	return nil
}

// window reports whether n is a function over time.
func (n *Node) window() bool {
	call, ok := n.Expr.(*syntax.Call)
	return ok && functions[call.Func].form == formWindow
}

// operandText returns an operand as messages show it: a name or a number, else "<expr>".
func operandText(e syntax.Expr) string {
	if name, ok := syntax.Unparen(e).(*syntax.Name); ok {
		return name.Name
	}
	if number := syntax.NumberOf(e); number != nil {
		return number.Text
	}
	return "<expr>"
}

package derived

import (
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Node is a node of a definition's typed tree: a subexpression with its metadata. A node that is
// decided while the definition is checked (the operand chosen by a ternary with a static guard, a
// definition used by another) stands for what it was decided to be.
type Node struct {
	Expr syntax.Expr // where it came from

	Type  pdu.Type
	Sem   pdu.Semantics
	Units pdu.Units
	InDom pdu.InDom // pdu.NoInDom: singular

	// Kids are the operands, left to right. Of a definition used by another there are none more
	// than its own.
	Kids []*Node

	// Factors are the scale conversions of the operands of a binary operator before it is
	// applied, one for each of Kids; nil when there are none.
	Factors []Factor

	operand   pdu.PMID   // of a metric
	value     uint64     // of a constant, as in Vector.Bits
	convert   *Converter // of rescale(), and of rate() over a time
	decided   bool       // the value is known while checking: a static guard may use it
	empty     bool       // novalue() or anon(): never a value
	height    int32      // nodes on the longest path to a leaf, itself included
	step      int32      // that computes it from the newest sample, plus 1; 0: not compiled yet
	older     *olderSteps
	history   uint8 // earlier samples that the value needs
	adds      bool  // with a delta() that is not within a rate()
	fromOther bool  // the root of another definition
}

// olderSteps are the steps that compute a node from each of the earlier samples, plus 1.
type olderSteps [MaxHistory]int32

// constant reports whether n is a number or an mkconst(), which relations may compare with anything.
func (n *Node) constant() bool {
	switch syntax.Unparen(n.Expr).(type) {
	case *syntax.Number, *syntax.Const:
		return !n.fromOther
	}
	return false
}

// shown is how messages call an operand: itself if it is a name or a number, else "<expr>".
func shown(e syntax.Expr) string {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Name:
		return e.Name
	case *syntax.Number:
		return e.Text
	case *syntax.Const:
		return e.Number.Text
	}
	return "<expr>"
}

package derived

import (
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// builtins is the table of functions of one operand: what they take, and how the metadata of the
// result comes from that of the operand, with which the node given to result starts.
// Source: docs/language-rules.md 6.2.
//
// To add a function: a constant and its String in syntax/ast.go, the word in syntax/token.go and
// syntax/grammar.txt, a row here, how it is computed (aggregates: reduce.go; others:
// compiler.call), a section in docs/language.md, and rows in the tests of each.
var builtins = [...]struct { //nolint:gochecknoglobals // a table
	numeric bool // the operand must be numeric
	result  func(n *Node)
}{
	syntax.Avg: {true, func(n *Node) { n.Type, n.Sem, n.InDom = pdu.TypeFloat, pdu.SemInstant, pdu.NoInDom }},
	syntax.Max: {true, func(n *Node) { n.Sem, n.InDom = pdu.SemInstant, pdu.NoInDom }},
	syntax.Min: {true, func(n *Node) { n.Sem, n.InDom = pdu.SemInstant, pdu.NoInDom }},
	syntax.Sum: {true, func(n *Node) { n.InDom = pdu.NoInDom }},
	syntax.Count: {false, func(n *Node) {
		n.Type, n.Sem, n.Units, n.InDom = pdu.TypeU32, pdu.SemInstant, pdu.Units{Count: 1}, pdu.NoInDom
	}},
	syntax.Delta: {true, func(n *Node) {
		n.Sem = pdu.SemInstant
		switch n.Type { // a difference may be negative
		case pdu.TypeU32:
			n.Type = pdu.Type64
		case pdu.TypeU64:
			n.Type = pdu.TypeDouble
		}
	}},
	syntax.Rate: {true, func(n *Node) {
		n.Type, n.Sem = pdu.TypeDouble, pdu.SemInstant
		n.Units.Time--
		n.Units.TimeScale = 0
		if n.Units.Time != 0 {
			n.Units.TimeScale = pdu.TimeSec
		}
	}},
	syntax.Instant: {false, func(n *Node) {
		if n.Sem == pdu.SemCounter {
			n.Sem = pdu.SemInstant
		}
	}},
	syntax.Scalar: {false, func(n *Node) { n.InDom = pdu.NoInDom }},
}

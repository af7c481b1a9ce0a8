package check

import (
	"fmt"

	"pmdaderived/derived/syntax"
)

// Part is a part of a definition's expression, as a definition of its own.
type Part struct {
	*Definition // its name is in no expression; Text is that of the whole

	// Operands are the indexes of the parts that this one needs values of. A part without values whose operands all
	// have values is the place where values are lost.
	Operands []int
}

// Parts returns the parts of the expression that can have values, at most so many, operators before their operands.
func (d *Definition) Parts(most int) []Part {
	var parts []Part
	at := map[syntax.Expr]int{}
	syntax.Walk(d.Expr, func(e syntax.Expr) bool {
		if _, ok := e.(*syntax.Paren); ok {
			return true
		}
		if syntax.Is(e, syntax.Defined, syntax.NoValue, syntax.Anon) {
			return false
		}
		if len(parts) < most {
			at[e] = len(parts)
			part := &Definition{Name: fmt.Sprintf("(%d)", len(parts)), Text: d.Text, Expr: e}
			parts = append(parts, Part{Definition: part})
		}
		return len(parts) < most
	})
	for i := range parts {
		if _, ok := parts[i].Expr.(*syntax.Ternary); ok || syntax.Is(parts[i].Expr, syntax.Default) {
			continue // an operand that is not selected needs no values
		}
		for _, x := range syntax.Operands(parts[i].Expr) {
			if k, ok := at[syntax.Unparen(x)]; ok {
				parts[i].Operands = append(parts[i].Operands, k)
			}
		}
	}
	return parts
}

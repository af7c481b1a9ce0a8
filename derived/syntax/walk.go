package syntax

import "slices"

// Walk calls visit for e and, if that returns true, for all nodes below e, in the order of the text. The arguments of a
// Call that are no operands and no metrics are not visited. Metrics that are keys are visited last.
func Walk(e Expr, visit func(Expr) bool) {
	if !visit(e) {
		return
	}
	switch e := e.(type) {
	case *Unary:
		Walk(e.X, visit)
	case *Binary:
		Walk(e.X, visit)
		Walk(e.Y, visit)
	case *Ternary:
		Walk(e.Guard, visit)
		Walk(e.Then, visit)
		Walk(e.Else, visit)
	case *Call:
		for i, x := range e.Args {
			if k := e.Kind(i); k == Operand || k == MetricName {
				Walk(x, visit)
			}
		}
		for _, key := range e.keyMetrics() {
			Walk(key, visit)
		}
	case *Select:
		Walk(e.X, visit)
	case *Paren:
		Walk(e.X, visit)
	}
}

// Operands returns the operands of a node, left to right. Metrics that are keys are the last ones.
func Operands(e Expr) []Expr {
	switch e := e.(type) {
	case *Unary:
		return []Expr{e.X}
	case *Binary:
		return []Expr{e.X, e.Y}
	case *Ternary:
		return []Expr{e.Guard, e.Then, e.Else}
	case *Call:
		return append(slices.Clip(e.Operands()), e.keyMetrics()...)
	case *Select:
		return []Expr{e.X}
	case *Paren:
		return []Expr{e.X}
	}
	return nil
}

package syntax

// Walk calls visit for e and, where that returns true, for everything below, in the order of the
// text. Of the arguments of a Call operands and names count, the others are a part of it.
func Walk(e Expr, visit func(Expr) bool) {
	if !visit(e) {
		return
	}
	call, ok := e.(*Call)
	if !ok {
		for _, x := range Operands(e) {
			Walk(x, visit)
		}
		return
	}
	for i, x := range call.Args {
		if k := call.Kind(i); k == Operand || k == MetricName {
			Walk(x, visit)
		}
	}
}

// Operands are the operands of a node, left to right.
func Operands(e Expr) []Expr {
	switch e := e.(type) {
	case *Unary:
		return []Expr{e.X}
	case *Binary:
		return []Expr{e.X, e.Y}
	case *Ternary:
		return []Expr{e.Guard, e.Then, e.Else}
	case *Call:
		return e.Operands()
	case *Select:
		return []Expr{e.X}
	case *Paren:
		return []Expr{e.X}
	}
	return nil
}

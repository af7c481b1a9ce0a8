package syntax

// Walk calls visit for e and, where that returns true, for everything below, in the order of the
// text. The number of a Const is a part of it, not a node below.
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
		Walk(e.X, visit)
	case *Rescale:
		Walk(e.X, visit)
	case *Match:
		Walk(e.X, visit)
	case *Select:
		Walk(e.X, visit)
	case *Paren:
		Walk(e.X, visit)
	}
}

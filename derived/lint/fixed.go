package lint

import "pmdaderived/derived/syntax"

// fixed reports whether nothing in an expression can vary: not with time, not from host to host.
func (l *linter) fixed(e syntax.Expr) bool {
	known, ok := l.constant[e]
	if !ok {
		known = l.fixedParts(e)
		l.constant[e] = known
	}
	return known
}

func (l *linter) fixedParts(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Number:
		return true
	case *syntax.Const:
		for _, t := range e.Tags {
			if t.Key == "meta" || t.Key == "indom" {
				return false
			}
		}
		return true
	case *syntax.Unary:
		return l.fixed(e.X)
	case *syntax.Binary:
		return l.fixed(e.X) && l.fixed(e.Y)
	case *syntax.Ternary:
		return l.fixed(e.Guard) && l.fixed(e.Then) && l.fixed(e.Else)
	case *syntax.Call:
		return l.fixed(e.X)
	case *syntax.Rescale:
		return l.fixed(e.X)
	case *syntax.Match:
		return l.fixed(e.X)
	case *syntax.Select:
		return l.fixed(e.X)
	case *syntax.Paren:
		return l.fixed(e.X)
	}
	return false
}

package lint

import (
	"slices"

	"pmdaderived/derived/syntax"
)

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
	case *syntax.Name:
		return false
	case *syntax.Call:
		for t := range e.Tags {
			if t.Key == "meta" || t.Key == "indom" {
				return false
			}
		}
		if e.Func != syntax.Const && len(e.Operands()) == 0 {
			return false // about a metric, or nothing
		}
	}
	return !slices.ContainsFunc(syntax.Operands(e), func(x syntax.Expr) bool { return !l.fixed(x) })
}

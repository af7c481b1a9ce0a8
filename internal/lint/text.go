package lint

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"pmdaderived/derived/syntax"
)

// isConstant reports whether nothing in an expression can vary: not with time, not from host to host.
func (l *linter) isConstant(e syntax.Expr) bool {
	known, ok := l.constant[e]
	if !ok {
		known = l.hasConstantParts(e)
		l.constant[e] = known
	}
	return known
}

func (l *linter) hasConstantParts(e syntax.Expr) bool {
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
	return !slices.ContainsFunc(syntax.Operands(e), func(x syntax.Expr) bool { return !l.isConstant(x) })
}

// mirroredOp is the operator for exchanged operands. Those that have another one go from < to >, with == in the middle.
func mirroredOp(op syntax.Op) syntax.Op {
	if op >= syntax.Lt && op <= syntax.Gt {
		return syntax.Lt + syntax.Gt - op
	}
	return op
}

// literal is the number that an expression is, with a sign perhaps, nil if it is none.
func literal(e syntax.Expr) *syntax.Number {
	if minus, ok := syntax.Unparen(e).(*syntax.Unary); ok && minus.Op == syntax.Neg {
		return literal(minus.X)
	}
	return syntax.NumberOf(e)
}

// isZero reports whether an expression is the number 0.
func isZero(e syntax.Expr) bool {
	number := literal(e)
	return number != nil && number.Float == 0
}

// checkPercentile looks at a percentile below the first one, which PromQL's quantiles have taught.
func (l *linter) checkPercentile(e *syntax.Call) {
	if e.Func != syntax.Percentile && e.Func != syntax.PercentileSample {
		return
	}
	if n := literal(e.Args[1]); n != nil && n.Float > 0 && n.Float < 1 {
		l.warn(PercentFraction, start(e.Args[1]), "n is from 0 to 100: "+n.Text+" is almost the minimum; did you mean "+
			strconv.FormatFloat(100*n.Float, 'g', 6, 64)+"?")
	}
}

// clip is an expression for a message, without its end if it is long.
func clip(e syntax.Expr) string { return short(e.String()) }

// short is a text for a message, without its end if it is long.
func short(text string) string {
	const most = 40 // characters
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-3]) + "..."
}

package lint

import (
	"unicode/utf8"

	"pmdaderived/derived/syntax"
)

// mirrored is the operator for exchanged operands. Those that have another one go from < to >, with == in the middle.
func mirrored(op syntax.Op) syntax.Op {
	if op >= syntax.Lt && op <= syntax.Gt {
		return syntax.Lt + syntax.Gt - op
	}
	return op
}

// literal reports whether an expression is a number, with a sign perhaps.
func literal(e syntax.Expr) bool {
	e = syntax.Unparen(e)
	minus, ok := e.(*syntax.Unary)
	return syntax.NumberOf(e) != nil || ok && minus.Op == syntax.Neg && literal(minus.X)
}

// zero reports whether an expression is the number 0.
func zero(e syntax.Expr) bool {
	if number := syntax.NumberOf(e); number != nil {
		return number.Float == 0
	}
	minus, ok := syntax.Unparen(e).(*syntax.Unary)
	return ok && minus.Op == syntax.Neg && zero(minus.X)
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

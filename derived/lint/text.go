package lint

import (
	"unicode/utf8"

	"pmdaderived/derived/syntax"
)

func boolean(op syntax.Op) bool { return op == syntax.And || op == syntax.Or }

func relation(op syntax.Op) bool {
	switch op {
	case syntax.Lt, syntax.Leq, syntax.Eq, syntax.Geq, syntax.Gt, syntax.Neq:
		return true
	}
	return false
}

// mirrored is the operator for exchanged operands.
func mirrored(op syntax.Op) syntax.Op {
	switch op {
	case syntax.Lt:
		return syntax.Gt
	case syntax.Leq:
		return syntax.Geq
	case syntax.Geq:
		return syntax.Leq
	case syntax.Gt:
		return syntax.Lt
	}
	return op
}

// literal reports whether an expression is a number, with a sign perhaps.
func literal(e syntax.Expr) bool {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Number, *syntax.Const:
		return true
	case *syntax.Unary:
		return e.Op == syntax.Neg && literal(e.X)
	}
	return false
}

// zero reports whether an expression is the number 0.
func zero(e syntax.Expr) bool {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Number:
		return e.Float == 0
	case *syntax.Const:
		return e.Number.Float == 0
	case *syntax.Unary:
		return e.Op == syntax.Neg && zero(e.X)
	}
	return false
}

// clip is an expression for a message, cut short if it is long.
func clip(e syntax.Expr) string { return short(e.String()) }

// short is a text for a message, without its end if it is long.
func short(text string) string {
	const most = 40 // characters
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-3]) + "..."
}

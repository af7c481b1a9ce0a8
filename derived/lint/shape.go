package lint

import (
	"strconv"

	"pmdaderived/derived/syntax"
)

// shapes numbers expressions: those that mean the same by the rules of arithmetic alone have the same number,
// whatever parentheses they have and in which order the operands of +, *, && and so on stand.
type shapes struct {
	numbers map[shape]int
	known   map[syntax.Expr]int
}

// shape is an expression whose operands have numbers.
type shape struct {
	what    string
	x, y, z int
}

func newShapes() *shapes { return &shapes{numbers: map[shape]int{}, known: map[syntax.Expr]int{}} }

// of returns the number of an expression, from 1. plain is what a metric is called in one way only.
func (s *shapes) of(e syntax.Expr, plain func(string) string) int {
	e = syntax.Unparen(e)
	if n, ok := s.known[e]; ok {
		return n
	}
	key := s.shape(e, plain)
	n, ok := s.numbers[key]
	if !ok {
		n = len(s.numbers) + 1
		s.numbers[key] = n
	}
	s.known[e] = n
	return n
}

func (s *shapes) shape(e syntax.Expr, plain func(string) string) shape {
	switch e := e.(type) {
	case *syntax.Name:
		return shape{what: "name " + plain(e.Name)}
	case *syntax.Number:
		return shape{what: strconv.FormatBool(e.Double) + strconv.FormatFloat(e.Float, 'g', -1, 64)}
	case *syntax.Unary:
		return shape{what: "prefix " + e.Op.String(), x: s.of(e.X, plain)}
	case *syntax.Binary:
		op, x, y := e.Op, s.of(e.X, plain), s.of(e.Y, plain)
		switch op {
		case syntax.Add, syntax.Mul, syntax.Eq, syntax.Neq, syntax.And, syntax.Or:
			x, y = min(x, y), max(x, y)
		case syntax.Gt, syntax.Geq:
			op, x, y = mirrored(op), y, x
		default:
		}
		return shape{what: op.String(), x: x, y: y}
	case *syntax.Ternary:
		return shape{"?:", s.of(e.Guard, plain), s.of(e.Then, plain), s.of(e.Else, plain)}
	case *syntax.Call:
		what := e.Func.String()
		for i, arg := range e.Args {
			if k := e.Kind(i); k == syntax.Operand || k == syntax.MetricName {
				what += " #" + strconv.Itoa(s.of(arg, plain))
			} else {
				what += " " + arg.String()
			}
		}
		return shape{what: what}
	case *syntax.Select:
		return shape{what: "[" + e.Instance, x: s.of(e.X, plain)}
	}
	return shape{what: e.String()}
}

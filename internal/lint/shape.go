package lint

import (
	"strconv"
	"strings"

	"pmdaderived/derived/syntax"
)

// shape is an expression whose operands have numbers. Those that mean the same by the rules of arithmetic alone have
// the same shape, whatever parentheses they have and in which order the operands of +, *, && and so on stand.
type shape struct {
	what    string
	x, y, z int
}

// number returns the number of an expression's shape, from 1.
func (l *linter) number(e syntax.Expr) int {
	e = syntax.Unparen(e)
	if n, ok := l.shapes[e]; ok {
		return n
	}
	key := l.shape(e)
	n, ok := l.numbers[key]
	if !ok {
		n = len(l.numbers) + 1
		l.numbers[key] = n
	}
	l.shapes[e] = n
	return n
}

func (l *linter) shape(e syntax.Expr) shape {
	switch e := e.(type) {
	case *syntax.Name:
		return shape{what: "name " + l.plain(e.Name)}
	case *syntax.Number:
		return shape{what: strconv.FormatBool(e.Double) + strconv.FormatFloat(e.Float, 'g', -1, 64)}
	case *syntax.Unary:
		return shape{what: "prefix " + e.Op.String(), x: l.number(e.X)}
	case *syntax.Binary:
		op, x, y := e.Op, l.number(e.X), l.number(e.Y)
		switch op {
		case syntax.Add, syntax.Mul, syntax.Eq, syntax.Neq, syntax.And, syntax.Or:
			x, y = min(x, y), max(x, y)
		case syntax.Gt, syntax.Geq:
			op, x, y = mirrored(op), y, x
		default:
		}
		return shape{what: op.String(), x: x, y: y}
	case *syntax.Ternary:
		return shape{"?:", l.number(e.Guard), l.number(e.Then), l.number(e.Else)}
	case *syntax.Call:
		var what strings.Builder
		what.WriteString(e.Func.String())
		for i, arg := range e.Args {
			if k := e.Kind(i); k == syntax.Operand || k == syntax.MetricName {
				what.WriteString(" #" + strconv.Itoa(l.number(arg)))
			} else {
				what.WriteString(" " + arg.String())
			}
		}
		if e.By != nil {
			what.WriteString(" " + e.By.String())
		}
		return shape{what: what.String()}
	case *syntax.Select:
		return shape{what: "[" + e.Instance, x: l.number(e.X)}
	}
	return shape{what: e.String()}
}

package lint

import (
	"strconv"
	"strings"

	"pmdaderived/derived/syntax"
)

// shape identifies expressions with the same meaning by arithmetic alone: parentheses do not count, nor the order of
// the operands of +, *, && and so on. Operands are given by the numbers of their shapes.
type shape struct {
	label   string
	x, y, z int
}

// shapeNumber returns the number of an expression's shape, from 1. Numbers in place of texts keep the time for a long
// expression in proportion to its length, although each part of it is compared.
func (l *linter) shapeNumber(e syntax.Expr) int {
	e = syntax.Unparen(e)
	if n, ok := l.shapes[e]; ok {
		return n
	}
	key := l.shape(e)
	n, ok := l.shapeNumbers[key]
	if !ok {
		n = len(l.shapeNumbers) + 1
		l.shapeNumbers[key] = n
	}
	l.shapes[e] = n
	return n
}

func (l *linter) shape(e syntax.Expr) shape {
	switch e := e.(type) {
	case *syntax.Name:
		return shape{label: "name " + l.withoutRoot(e.Name)}
	case *syntax.Number:
		return shape{label: strconv.FormatBool(e.Double) + strconv.FormatFloat(e.Float, 'g', -1, 64)}
	case *syntax.Unary:
		return shape{label: "prefix " + e.Op.String(), x: l.shapeNumber(e.X)}
	case *syntax.Binary:
		op, x, y := e.Op, l.shapeNumber(e.X), l.shapeNumber(e.Y)
		switch op {
		case syntax.Add, syntax.Mul, syntax.Eq, syntax.Neq, syntax.And, syntax.Or:
			x, y = min(x, y), max(x, y)
		case syntax.Gt, syntax.Geq:
			op, x, y = mirroredOp(op), y, x
		default:
		}
		return shape{label: op.String(), x: x, y: y}
	case *syntax.Ternary:
		return shape{"?:", l.shapeNumber(e.Guard), l.shapeNumber(e.Then), l.shapeNumber(e.Else)}
	case *syntax.Call:
		var label strings.Builder
		label.WriteString(e.Func.String())
		for i, arg := range e.Args {
			if k := e.Kind(i); k == syntax.Operand || k == syntax.MetricName {
				label.WriteString(" #" + strconv.Itoa(l.shapeNumber(arg)))
			} else {
				label.WriteString(" " + arg.String())
			}
		}
		if e.By != nil {
			label.WriteString(" " + e.By.String())
		}
		return shape{label: label.String()}
	case *syntax.Select:
		return shape{label: "[" + e.Instance, x: l.shapeNumber(e.X)}
	}
	return shape{label: e.String()}
}

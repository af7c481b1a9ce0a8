package lint

import (
	"cmp"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// metric looks at a definition that is bound to the collector's metrics.
func (l *linter) metric(m *derived.Metric) {
	l.names(m.Definition, m.Err == nil)
	if l.exists(m.Name) {
		l.warn(ShadowedName, -1, l.source()+" has a metric "+m.Name+": in other definitions the name means the metric")
	}
	var path []derived.Line // from the root to the line
	foreign := -1           // depth from which on the lines are those of another definition
	for line := range m.Lines {
		if foreign >= 0 && line.Depth > foreign {
			continue
		}
		foreign = -1
		if line.Name != "" {
			foreign = line.Depth
		}
		path = append(path[:line.Depth], line)
		if line.Depth > 0 {
			l.converted(path[line.Depth-1], line)
		}
		if foreign >= 0 {
			continue
		}
		if line.Fitted {
			l.fitted(path[line.Depth-1].Expr, line)
		}
		switch e := line.Expr.(type) {
		case *syntax.Binary:
			switch {
			case e.Op.Relation():
				l.comparison(e, line.Kids)
			case e.Op == syntax.Sub:
				l.difference(e, line.Node, path)
			case e.Op == syntax.Div:
				l.quotient(e, path)
			}
		case *syntax.Select:
			l.selected(e, line.Kids)
		case *syntax.Call:
			l.function(e, line.Kids)
		}
	}
}

// function looks at what a function is applied to.
func (l *linter) function(e *syntax.Call, kids []*derived.Node) {
	if e.Func == syntax.Match {
		l.matched(e, kids)
	}
	if len(kids) > 0 && kids[0].Sem != pdu.SemCounter {
		l.noCounter(e, clip(e.X())+" ("+kids[0].Sem.String()+")")
	}
}

// fitted looks at a number that took the metadata of what stands beside it.
func (l *linter) fitted(above syntax.Expr, line derived.Line) {
	if _, ok := above.(*syntax.Ternary); ok { // else what is above is told
		l.foreign(start(line.Expr), "a number beside metadata in ?: without mkconst()", syntax.Nowhere)
	}
}

// comparison looks at the operands of a comparison.
func (l *linter) comparison(e *syntax.Binary, kids []*derived.Node) {
	if len(kids) != 2 {
		return
	}
	x, y := kids[0], kids[1]
	switch {
	case x.Units.SameDimension(y.Units):
		if x.Units != y.Units && !l.fixed(e.X) && !l.fixed(e.Y) {
			l.warn(CompareScale, e.OpPos, "compares "+units(x)+" with "+units(y)+": one is converted")
		}
	case l.bare(e.X, x), l.bare(e.Y, y), justNumber(x.Units) && justNumber(y.Units):
	default:
		l.warn(CompareUnits, e.OpPos, "compares "+units(x)+" with "+units(y))
	}
	op := e.Op
	if zero(e.X) && unsigned(y) { // 0 < x is x > 0
		op = mirrored(op)
	} else if !zero(e.Y) || !unsigned(x) {
		return
	}
	if op == syntax.Lt {
		l.warn(ConstantCondition, start(e), clip(e)+" is never true: unsigned values are not below 0")
	} else if op == syntax.Geq {
		l.warn(ConstantCondition, start(e), clip(e)+" is always true: unsigned values are not below 0")
	}
}

// bare reports whether an operand is a number without units, which means whatever it is compared with.
func (l *linter) bare(e syntax.Expr, n *derived.Node) bool {
	return n.Units.Dimensionless() && l.fixed(e)
}

func justNumber(u pdu.Units) bool {
	return u.Dimensionless() || u.SameDimension(pdu.Units{Count: 1})
}

func unsigned(n *derived.Node) bool { return n.Type == pdu.TypeU32 || n.Type == pdu.TypeU64 }

func units(n *derived.Node) string { return cmp.Or(n.Units.String(), "a plain number") }

// converted looks at the conversion of an operand.
func (l *linter) converted(above, line derived.Line) {
	if !syntax.Is(above.Expr, syntax.Rescale) || line.Conversion.Divisor <= line.Conversion.Multiplier && line.Offset == 0 {
		return
	}
	switch line.Type {
	case pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64:
		l.warn(RescaleRounds, start(above.Expr), "rounds to whole "+cmp.Or(above.Units.String(), "numbers")+", as "+line.Type.String()+" has no fractions: multiply by 1.0 to keep them")
	}
}

package lint

import (
	"cmp"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// checkMetric checks a definition that is bound to the collector's metrics: the text does not tell types, semantics and
// units. It visits the definition's own lines; those of definitions that it uses are checked there.
func (l *linter) checkMetric(m *derived.Metric) {
	l.checkNames(m.Definition, m.Err == nil)
	if l.exists(m.Name) {
		l.warn(ShadowedName, -1, l.sourceText()+" has a metric "+m.Name+": in other definitions the name means the "+
			"metric")
	}
	var path []derived.Line // from the root to the line
	for line := range m.OwnLines {
		path = append(path[:line.Depth], line)
		if line.Depth > 0 {
			l.checkConversion(path[line.Depth-1], line)
		}
		if line.Name != "" { // another definition
			continue
		}
		if line.Fitted {
			l.checkFitted(path[line.Depth-1].Expr, line)
		}
		l.checkOrigins(line, path)
		switch e := line.Expr.(type) {
		case *syntax.Binary:
			switch {
			case e.Op.Relation():
				l.checkComparison(e, line.Kids)
			case e.Op == syntax.Sub:
				l.checkDifference(e, line.Node, path)
			case e.Op == syntax.Div:
				l.checkQuotient(e, path)
			}
		case *syntax.Select:
			l.checkSelected(e, line.Kids)
		case *syntax.Call:
			l.checkFunction(e, line.Kids)
		}
	}
}

// checkFunction checks the operand of a function. An aggregate of counters jumps when an instance comes or goes, so a
// change of it is no change of the counters.
func (l *linter) checkFunction(e *syntax.Call, kids []*derived.Node) {
	switch e.Func {
	case syntax.Match:
		l.checkMatched(e, kids)
	case syntax.PercentileBucket, syntax.ShareBucket:
		l.checkBuckets(e, kids)
	default:
	}
	if len(kids) == 0 {
		return
	}
	switch total := l.origin(kids[0]).total; {
	case total != nil && isChange(e):
		change := syntax.Call{Func: e.Func, Args: append([]syntax.Expr{total.X()}, e.Args[1:]...)}
		better := syntax.Call{Func: total.Func, Args: []syntax.Expr{&change}, By: total.By}
		l.warn(ChangeOfTotal, start(e), e.Func.String()+"() of "+clip(total)+" jumps when an instance comes or goes: write "+
			clip(&better))
	case kids[0].Sem != pdu.SemCounter:
		l.checkNonCounter(e, clip(e.X())+" ("+kids[0].Sem.String()+")")
	}
}

// checkFitted warns of a number that got its metadata from the other operand, as in x ? 1 : mem.free: libpcp refuses
// it.
func (l *linter) checkFitted(above syntax.Expr, line derived.Line) {
	if _, ok := above.(*syntax.Ternary); ok { // there is a warning about any other operator already
		l.warnPortable(start(line.Expr), "a number beside metadata in ?: without mkconst()", syntax.Nowhere)
	}
}

// checkComparison checks the operands of a comparison: their units, and whether an unsigned value can be below 0.
func (l *linter) checkComparison(e *syntax.Binary, kids []*derived.Node) {
	if len(kids) != 2 {
		return
	}
	x, y := kids[0], kids[1]
	switch {
	case x.Units.SameDimension(y.Units):
		if x.Units != y.Units && !l.isConstant(e.X) && !l.isConstant(e.Y) {
			l.warn(CompareScale, e.OpPos, "compares "+units(x)+" with "+units(y)+": one is converted")
		}
	case l.isBareNumber(e.X, x), l.isBareNumber(e.Y, y), countOrNone(x.Units) && countOrNone(y.Units):
	default:
		l.warn(CompareUnits, e.OpPos, "compares "+units(x)+" with "+units(y))
	}
	op := e.Op
	if isZero(e.X) && unsigned(y) { // 0 > x is x < 0
		op = mirroredOp(op)
	} else if !isZero(e.Y) || !unsigned(x) {
		return
	}
	switch op {
	case syntax.Lt:
		l.warn(ConstantCondition, start(e), clip(e)+" is never true: unsigned values are not below 0")
	case syntax.Geq:
		l.warn(ConstantCondition, start(e), clip(e)+" is always true: unsigned values are not below 0")
	default:
	}
}

// isBareNumber reports whether an operand is a constant without units, which fits any units.
func (l *linter) isBareNumber(e syntax.Expr, n *derived.Node) bool {
	return n.Units.Dimensionless() && l.isConstant(e)
}

// countOrNone reports whether units are a count, or none, which people write for the same.
func countOrNone(u pdu.Units) bool {
	return u.Dimensionless() || u.SameDimension(pdu.Units{Count: 1})
}

func unsigned(n *derived.Node) bool { return n.Type == pdu.TypeU32 || n.Type == pdu.TypeU64 }

func units(n *derived.Node) string { return cmp.Or(n.Units.String(), "a plain number") }

// checkConversion warns of a conversion that rounds: rescale() keeps the type, which nobody expects of 7.9 Gbyte.
func (l *linter) checkConversion(above, line derived.Line) {
	f := line.Conversion
	if !syntax.Is(above.Expr, syntax.Rescale) || f.Divisor <= f.Multiplier && line.Offset == 0 {
		return
	}
	switch line.Type {
	case pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64:
		l.warn(RescaleRounds, start(above.Expr), "rounds to whole "+cmp.Or(above.Units.String(), "numbers")+
			", as "+line.Type.String()+" has no fractions: multiply by 1.0 to keep them")
	}
}

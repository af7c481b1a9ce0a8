package check

import (
	"math"
	"slices"

	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// plainNumber returns the number that an expression consists of, and whether it has a minus sign. It returns nil for
// any other expression, and for mkconst(), which has metadata of its own.
func plainNumber(e syntax.Expr) (number *syntax.Number, minus bool) {
	e = syntax.Unparen(e)
	if u, ok := e.(*syntax.Unary); ok && u.Op == syntax.Neg {
		e, minus = syntax.Unparen(u.X), true
	}
	number, _ = e.(*syntax.Number)
	return number, minus
}

func isPlainNumber(e syntax.Expr) bool {
	number, _ := plainNumber(e)
	return number != nil
}

// fittedNumber returns a copy of n, the node of the plain number e, with the type, semantics and units of another
// operand. It returns nil if e is no plain number, or does not fit.
func fittedNumber(e syntax.Expr, n, beside *Node) *Node {
	number, minus := plainNumber(e)
	if number == nil || beside.Sem == pdu.SemCounter {
		return nil
	}
	value, ok := valueOf(number, minus, beside.Type)
	if !ok {
		return nil
	}
	made := *n
	made.Desc, made.Kids, made.Value, made.decided = beside.Desc, nil, value, false
	made.InDom = pdu.NoInDom
	made.Fitted = made.Type != n.Type || made.Sem != n.Sem || made.Units != n.Units
	return &made
}

// valueOf returns the bits of a number in a type, and false if the type cannot hold it.
func valueOf(number *syntax.Number, minus bool, t pdu.Type) (value uint64, ok bool) {
	f, whole := number.Float, int64(number.Int)
	if minus {
		f, whole = -f, -whole
	}
	switch t {
	case pdu.TypeDouble:
		return column.FromDouble(f), true
	case pdu.TypeFloat:
		value = column.FromFloat(float32(f))
		return value, column.Finite(t, value)
	case pdu.Type32:
		value, ok = uint64(uint32(whole)), whole >= math.MinInt32 && whole <= math.MaxInt32
	case pdu.Type64:
		value, ok = uint64(whole), true
	case pdu.TypeU32, pdu.TypeU64:
		value, ok = uint64(whole), whole >= 0
	default:
	}
	return value, ok && !number.Double
}

// fitNumbers gives each plain number among the operands of n the metadata of the operand that beside returns. If all
// operands are plain numbers, they stay as they are.
func (n *Node) fitNumbers(e *syntax.Call, beside func(operand int) *Node) Rule {
	written := e.Operands()
	if !slices.ContainsFunc(written, func(x syntax.Expr) bool { return !isPlainNumber(x) }) {
		return 0
	}
	for i, x := range written {
		if !isPlainNumber(x) {
			continue
		}
		made := fittedNumber(x, n.Kids[i], beside(i))
		if made == nil {
			n.Desc = beside(i).Desc
			return RuleNumberFit
		}
		n.Kids[i] = made
	}
	return 0
}

// checkAlike gives operands that are paired by instance a common type and scale, as the operator + does.
func checkAlike(c *checker, n *Node, e *syntax.Call) Rule {
	written := e.Operands()
	least := slices.IndexFunc(written, func(x syntax.Expr) bool { return !isPlainNumber(x) })
	// Plain numbers get the metadata of the others.
	counts := func(i int) bool { return least < 0 || !isPlainNumber(written[i]) }
	common := *n.Kids[max(least, 0)]
	for i, x := range n.Kids {
		if i <= least || !counts(i) {
			continue
		}
		if rule := c.operatorRule(syntax.Add, &common, x); rule != 0 {
			return rule
		}
		common.arithmeticUnits(syntax.Add, &common, x)
		common.Type, common.Sem = Promoted(common.Type, x.Type), combinedSemantics(syntax.Add, &common, x)
		if common.InDom == pdu.NoInDom || c.set.Pairing(&common, x) == PairWithLeftGroups {
			common.InDom, common.Key = x.InDom, x.Key
		}
	}
	n.Desc = common.Desc
	factors := slices.Repeat([]units.Factor{units.One}, len(n.Kids))
	for i, x := range n.Kids {
		if rule := c.pairingRule(n, x); rule != 0 { // a set that had a pair before the last operand was added
			return rule
		}
		if !counts(i) || !x.Units.SameDimension(n.Units) {
			continue
		}
		if factors[i], _, _, _ = units.Widen(x.Units, n.Units); !factors[i].Trivial() {
			n.Factors, n.Type = factors, pdu.TypeDouble
		}
	}
	return n.fitNumbers(e, func(int) *Node { return n })
}

// checkDefault requires that the second operand has the metadata of the first. Its type may be narrower.
func checkDefault(c *checker, n *Node, e *syntax.Call) Rule {
	x, y := n.Kids[0], n.Kids[1]
	if rule := n.fitNumbers(e, func(i int) *Node { return []*Node{y, x}[i] }); rule != 0 {
		return rule
	}
	x, y = n.Kids[0], n.Kids[1]
	n.Desc = x.Desc
	if rule := semanticsRule(syntax.Add, x.Sem == pdu.SemCounter, y.Sem == pdu.SemCounter); rule != 0 {
		return rule
	}
	switch {
	case Promoted(x.Type, y.Type) != x.Type, units.AxesOf(x.Units) != units.AxesOf(y.Units), !x.Units.SameExtra(y.Units):
		return RuleDefaultFit
	case y.InDom == pdu.NoInDom:
		return 0
	case x.InDom == pdu.NoInDom:
		return RuleInDom
	}
	if c.set.Pairing(x, y) == PairWithLeftGroups {
		return RuleInDom
	}
	return c.pairingRule(x, y)
}

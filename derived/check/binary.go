package check

import (
	"cmp"

	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// binary checks an operator and derives the metadata of its result. The order of the checks decides which message a
// user sees, and is libpcp's: operands that do not exist, then rules that a subexpression breaks, then those of
// operatorRule from top to bottom. Source: docs/language-rules.md 6.3-6.9, 6.11 for the order.
func (c *checker) binary(e *syntax.Binary) (*Node, *Error) {
	x, err := c.expr(e.X)
	if err != nil {
		return nil, c.firstError(err, e.Y)
	}
	y, err := c.expr(e.Y)
	if err != nil {
		if value, ok := decides(e.Op, x); ok && err.Unbound() { // defined(x) && x > 1
			return &Node{Expr: e, Desc: discrete(pdu.TypeU32), decided: true, Value: value}, nil
		}
		return nil, err
	}
	if rule := c.operatorRule(e.Op, x, y); rule != 0 {
		fault := c.errorAt(e, rule, operandText(e.X)+" "+e.Op.String()+" "+operandText(e.Y))
		if rule == RuleDimensions {
			fault.Hint = cmp.Or(negativeHint(e), unitsHint(e.X, y.Units), unitsHint(e.Y, x.Units))
		}
		return nil, fault
	}
	n := &Node{Expr: e, Desc: pdu.Desc{Sem: combinedSemantics(e.Op, x, y), InDom: x.InDom}, Kids: []*Node{x, y}}
	if n.InDom == pdu.NoInDom || c.set.Pairing(x, y) == PairWithLeftGroups {
		n.InDom = y.InDom
	}
	switch {
	case e.Op.Arithmetic():
		if !n.arithmeticUnits(e.Op, x, y) {
			return nil, c.errorAt(e, RuleDimensionRange, operandText(e.X)+" "+e.Op.String()+" "+operandText(e.Y))
		}
		n.Type = Promoted(x.Type, y.Type)
		if e.Op == syntax.Div || n.Factors != nil {
			n.Type = pdu.TypeDouble
		}
	case e.Op.Boolean():
		n.Type = pdu.TypeU32
		n.decide(e.Op, x, y)
	default:
		n.Type = pdu.TypeU32
		if x.Units.SameDimension(y.Units) {
			n.widen(x, y)
		}
	}
	return n, nil
}

// negativeHint returns advice for 0 - x.
func negativeHint(e *syntax.Binary) string {
	if number, _ := plainNumber(e.X); number == nil || number.Float != 0 || e.Op != syntax.Sub {
		return ""
	}
	return "write -x in place of 0 - x"
}

// unitsHint returns advice for a plain number beside an operand with units.
func unitsHint(e syntax.Expr, u pdu.Units) string {
	number, minus := plainNumber(e)
	if number == nil {
		return ""
	}
	sign := ""
	if minus {
		sign = "-"
	}
	return "a number has no units: write " + sign + "mkconst(" + number.String() + ", units=\"" + u.String() + "\")"
}

// operatorRule returns the first rule that the operands of an operator break, 0 if they break none.
func (c *checker) operatorRule(op syntax.Op, x, y *Node) Rule {
	xc, yc := x.Sem == pdu.SemCounter, y.Sem == pdu.SemCounter
	if rule := semanticsRule(op, xc, yc); rule != 0 {
		return rule
	}
	switch {
	case !x.Type.Numeric():
		return RuleLeftType
	case !y.Type.Numeric():
		return RuleRightType
	case !dimensionsFit(op, x, y):
		return RuleDimensions
	}
	if op != syntax.Add && op != syntax.Sub && !op.Boolean() {
		switch {
		case xc && !yc && !y.Units.Dimensionless():
			return RuleRightDimension
		case yc && !xc && !x.Units.Dimensionless():
			return RuleLeftDimension
		}
	}
	if rule := extraUnitsRule(op, x.Units, y.Units); rule != 0 {
		return rule
	}
	return c.pairingRule(x, y)
}

// equivalent reports whether the instances of two nodes have the same numbers. Source: __pmEquivInDom(3).
func (c *checker) equivalent(x, y *Node) bool {
	return c.set.language.InDoms.Equivalent(x.InDom, y.InDom)
}

// semanticsRule returns the rule of the table in docs/language-rules.md 6.4 that the operands break. xc and yc say
// whether they are counters. Relations and booleans accept counters: they use the values as they are.
func semanticsRule(op syntax.Op, xc, yc bool) Rule {
	sum, product := op == syntax.Add || op == syntax.Sub, op == syntax.Mul || op == syntax.Div
	switch {
	case xc && yc && product:
		return RuleCounters
	case xc && !yc && sum:
		return RuleCounterNonCounter
	case !xc && yc && (sum || op == syntax.Div):
		return RuleNonCounterCounter
	}
	return 0
}

// dimensionsFit reports whether the table in docs/language-rules.md 6.6 allows the dimensions of the operands.
func dimensionsFit(op syntax.Op, x, y *Node) bool {
	alike := x.Units.SameDimension(y.Units) ||
		x.Units.Dimensionless() && isCount(y.Units) || isCount(x.Units) && y.Units.Dimensionless()
	switch op {
	case syntax.Mul, syntax.Div:
		return true
	case syntax.Add, syntax.Sub:
		return alike
	case syntax.And, syntax.Or:
		return x.Units.Dimensionless() && y.Units.Dimensionless()
	default:
		return alike || x.Type == pdu.TypeU32 || y.Type == pdu.TypeU32 || x.constant() || y.constant()
	}
}

func isCount(u pdu.Units) bool { return u.SameDimension(pdu.Units{Count: 1}) }

// extraUnitsRule returns the rule that two operands with extra units break, 0 if none. Extra units are not converted to
// another scale without rescale(), and a result has one extra unit at most.
func extraUnitsRule(op syntax.Op, x, y pdu.Units) Rule {
	switch {
	case x.Extra == pdu.ExtraNone || y.Extra == pdu.ExtraNone:
		return 0
	case op == syntax.Mul:
		return RuleExtraProduct
	case x.SameExtra(y):
		return 0
	case op == syntax.Div:
		return RuleExtraQuotient
	}
	return RuleExtraScale
}

// combinedSemantics returns the semantics of a result: arithmetic with a counter makes a counter, a relation or boolean
// never does.
func combinedSemantics(op syntax.Op, x, y *Node) pdu.Semantics {
	switch {
	case op.Arithmetic() && (x.Sem == pdu.SemCounter || y.Sem == pdu.SemCounter):
		return pdu.SemCounter
	case x.Sem == pdu.SemDiscrete && y.Sem == pdu.SemDiscrete:
		return pdu.SemDiscrete
	}
	return pdu.SemInstant
}

// Promoted returns the common type of two numbers: the first type of the list that either has.
func Promoted(x, y pdu.Type) pdu.Type {
	for _, t := range [...]pdu.Type{pdu.TypeDouble, pdu.TypeFloat, pdu.TypeU64, pdu.Type64, pdu.TypeU32} {
		if x == t || y == t {
			return t
		}
	}
	return pdu.Type32
}

// widen sets the factors of n, which convert its operands to common scales, and returns the units after the conversion.
func (n *Node) widen(x, y *Node) (ux, uy pdu.Units) {
	fx, fy, ux, uy := units.Widen(x.Units, y.Units)
	if !fx.Trivial() || !fy.Trivial() {
		n.Factors = []units.Factor{fx, fy}
	}
	return ux, uy
}

// arithmeticUnits sets the units of n and the factors of its operands. It returns false if a dimension is out of range.
func (n *Node) arithmeticUnits(op syntax.Op, x, y *Node) bool {
	ok := true
	switch {
	case op == syntax.Mul || op == syntax.Div:
		sign := 1
		if op == syntax.Div {
			sign = -1
		}
		ux, uy := n.widen(x, y)
		n.Units, ok = units.Product(ux, uy, sign)
	case x.Units.SameDimension(y.Units):
		n.Units, _ = n.widen(x, y)
	case x.constant(): // one operand has no units, one is a count: the left operand decides, unless it is a constant
		n.Units = y.Units
	default:
		n.Units = x.Units
	}
	return ok
}

// decide sets the value of a boolean whose operands are known, or whose left operand is enough.
func (n *Node) decide(op syntax.Op, x, y *Node) {
	if n.Value, n.decided = decides(op, x); !n.decided && x.decided && y.decided {
		n.decided, n.Value = true, column.Truth(y.Value != 0)
	}
}

// decides reports whether the left operand of a boolean decides the result alone, and returns the result.
func decides(op syntax.Op, x *Node) (value uint64, ok bool) {
	value = column.Truth(op == syntax.Or)
	return value, op.Boolean() && x.decided && column.Truth(x.Value != 0) == value
}

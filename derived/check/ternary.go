package check

import (
	"cmp"

	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// ternary checks guard ? a : b. If the value of the guard is known, only the selected operand is checked, and its node
// takes the place of the whole: the other one may name metrics that do not exist. Otherwise the order of the checks is:
// guard, then, else, the metadata of then against else, the guard against the result. Source: docs/language-rules.md
// 6.10, 7.9.
func (c *checker) ternary(e *syntax.Ternary) (*Node, *Error) {
	guard, err := c.expr(e.Guard)
	if err != nil {
		return nil, c.firstError(err, e.Then, e.Else)
	}
	if guard.decided {
		chosen := e.Else
		if guard.Value != 0 {
			chosen = e.Then
		}
		n, err := c.expr(chosen) // a novalue() has the metadata of its own tags
		return n, ternaryError(err)
	}
	x, err := c.expr(e.Then)
	if err != nil {
		return nil, ternaryError(c.firstError(err, e.Else))
	}
	y, err := c.expr(e.Else)
	if err != nil {
		return nil, ternaryError(err)
	}
	switch {
	case isNoValue(e.Then, x):
		x = withMetadata(x, y)
	case isNoValue(e.Else, y):
		y = withMetadata(y, x)
	case !isPlainNumber(e.Then) || !isPlainNumber(e.Else):
		// A number that does not fit keeps its own metadata, and breaks a rule below.
		x, y = cmp.Or(fittedNumber(e.Then, x, y), x), cmp.Or(fittedNumber(e.Else, y, x), y)
	}
	if rule := c.ternaryOperandsRule(x, y); rule != 0 {
		return nil, c.errorAt(e, rule, operandText(e.Then)+" : "+operandText(e.Else))
	}
	n := &Node{Expr: e, Desc: x.Desc, Key: x.Key, Kids: []*Node{guard, x, y}}
	if n.InDom == pdu.NoInDom || c.set.Pairing(x, y) == PairWithLeftGroups {
		n.InDom, n.Key = y.InDom, y.Key
	}
	if rule := c.ternaryGuardRule(guard, n); rule != 0 {
		return nil, c.errorAt(e, rule, operandText(e.Guard)+" ? "+operandText(e.Then)+" : "+operandText(e.Else))
	}
	return c.complete(n)
}

// isNoValue reports whether an operand is novalue(), or a missing metric that stands for it.
func isNoValue(e syntax.Expr, n *Node) bool {
	_, name := e.(*syntax.Name)
	return n.Empty && (name || syntax.Is(e, syntax.NoValue))
}

// ternaryError returns the error of an operand of a ternary, nil for none, with the wording of PCP 7.
func ternaryError(err *Error) *Error {
	if err != nil && err.Rule == RuleUnknownOperand {
		err.Rule = RuleTernaryUnknown
	}
	return err
}

// withMetadata returns a copy of n with the metadata of another node.
func withMetadata(n, other *Node) *Node {
	made := *n
	made.Desc, made.Key = other.Desc, other.Key
	return &made
}

// ternaryOperandsRule returns the rule for the first difference in the metadata of the operands. Unlike in other
// operators, equivalent domains are different, as in libpcp. Groups are paired as in other operators.
func (c *checker) ternaryOperandsRule(x, y *Node) Rule {
	ax, ay := units.AxesOf(x.Units), units.AxesOf(y.Units)
	met := c.set.Pairing(x, y)
	switch {
	case x.Type != y.Type:
		return RuleTernaryType
	case met == NoMeeting:
		return RuleGroupKeys
	case met == NoPairs, met == PairByInstance && x.InDom != y.InDom && x.InDom != pdu.NoInDom && y.InDom != pdu.NoInDom:
		return RuleTernaryInDom
	case x.Sem != y.Sem:
		return RuleTernarySemantics
	case ax[units.Space] != ay[units.Space]:
		return RuleTernarySpace
	case ax[units.Time] != ay[units.Time]:
		return RuleTernaryTime
	case ax[units.Count] != ay[units.Count]:
		return RuleTernaryCount
	case !x.Units.SameExtra(y.Units):
		return RuleTernaryExtra
	}
	return 0
}

// ternaryGuardRule returns the rule that the guard of ternary n breaks. If n is over groups of the guard's instances,
// it gets the instances of the guard.
func (c *checker) ternaryGuardRule(guard, n *Node) Rule {
	switch {
	case !guard.Type.Numeric():
		return RuleTernaryGuardType
	case guard.InDom == pdu.NoInDom:
		return 0
	case n.InDom == pdu.NoInDom:
		return RuleTernaryGuardSet
	}
	if c.set.Pairing(n, guard) == PairWithLeftGroups {
		n.InDom, n.Key = guard.InDom, guard.Key
	}
	for _, k := range n.Kids {
		switch c.set.Pairing(n, k) {
		case NoPairs:
			return RuleTernaryGuardInDom
		case NoMeeting:
			return RuleGroupKeys
		default:
		}
	}
	return 0
}

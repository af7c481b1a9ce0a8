package derived

import (
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// ternary checks guard ? a : b. A guard that is known already selects one operand now; only that
// one is looked at, and takes the place of the whole. Source: language.md 6.10, 7.9.
func (c *checker) ternary(e *syntax.Ternary) (*Node, *Error) {
	guard, err := c.expr(e.Guard)
	if err != nil {
		return nil, c.first(err, e.Then, e.Else)
	}
	if guard.decided {
		return c.selected(e, guard.value != 0)
	}
	x, err := c.expr(e.Then)
	if err != nil {
		return nil, c.first(err, e.Else)
	}
	y, err := c.expr(e.Else)
	if err != nil {
		return nil, err
	}
	switch { // the syntax lets at most one of them be novalue()
	case noValue(e.Then):
		x = like(x, y)
	case noValue(e.Else):
		y = like(y, x)
	}
	if rule := ternaryOperands(x, y); rule != 0 {
		return nil, c.fail(e, rule, shown(e.Then)+" : "+shown(e.Else))
	}
	n := c.node(Node{
		Expr: e, Type: x.Type, Sem: x.Sem, Units: x.Units, InDom: x.InDom,
		Kids: c.operands(guard, x, y),
	})
	if n.InDom == pdu.NoInDom {
		n.InDom = y.InDom
	}
	if rule := ternaryGuard(guard, n); rule != 0 {
		return nil, c.fail(e, rule, shown(e.Guard)+" ? "+shown(e.Then)+" : "+shown(e.Else))
	}
	return c.grown(n)
}

func noValue(e syntax.Expr) bool {
	_, ok := e.(*syntax.NoValue)
	return ok
}

// like is n with the metadata of another node.
func like(n, other *Node) *Node {
	made := *n
	made.step, made.older = 0, nil
	made.Type, made.Sem, made.Units, made.InDom = other.Type, other.Sem, other.Units, other.InDom
	return &made
}

// selected is a ternary whose guard is decided. The metadata of a novalue() is that of the other
// operand, where that can be had.
func (c *checker) selected(e *syntax.Ternary, first bool) (*Node, *Error) {
	chosen, other := e.Else, e.Then
	if first {
		chosen, other = e.Then, e.Else
	}
	n, err := c.expr(chosen)
	if err != nil {
		if err.Rule == RuleUnknownOperand {
			err.Rule = RuleTernaryUnknown
		}
		return nil, err
	}
	if noValue(chosen) {
		if x, err := c.expr(other); err == nil {
			n = like(n, x)
		}
	}
	return n, nil
}

// ternaryOperands returns the first respect in which the metadata of the operands differs.
func ternaryOperands(x, y *Node) Rule {
	ax, ay := axesOf(x.Units), axesOf(y.Units)
	switch {
	case x.Type != y.Type:
		return RuleTernaryType
	case x.InDom != y.InDom && x.InDom != pdu.NoInDom && y.InDom != pdu.NoInDom:
		return RuleTernaryInDom
	case x.Sem != y.Sem:
		return RuleTernarySemantics
	case ax[axisSpace] != ay[axisSpace]:
		return RuleTernarySpace
	case ax[axisTime] != ay[axisTime]:
		return RuleTernaryTime
	case ax[axisCount] != ay[axisCount]:
		return RuleTernaryCount
	case !x.Units.SameExtra(y.Units):
		return RuleTernaryExtra
	}
	return 0
}

// ternaryGuard returns the rule that a guard breaks, given the ternary that it is to decide.
func ternaryGuard(guard, n *Node) Rule {
	switch {
	case !guard.Type.Numeric():
		return RuleTernaryGuardType
	case guard.InDom == pdu.NoInDom || guard.InDom == n.InDom:
		return 0
	case n.InDom == pdu.NoInDom:
		return RuleTernaryGuardSet
	}
	return RuleTernaryGuardInDom
}

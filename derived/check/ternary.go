package check

import (
	"cmp"

	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// ternary checks guard ? a : b. A guard that is known already selects one operand now; only that
// one is looked at, and takes the place of the whole. Source: docs/language-rules.md 6.10, 7.9.
func (c *checker) ternary(e *syntax.Ternary) (*Node, *Error) {
	guard, err := c.expr(e.Guard)
	if err != nil {
		return nil, c.first(err, e.Then, e.Else)
	}
	if guard.decided {
		chosen := e.Else
		if guard.Value != 0 {
			chosen = e.Then
		}
		n, err := c.expr(chosen) // a novalue() has the metadata of its own tags
		return n, ofTernary(err)
	}
	x, err := c.expr(e.Then)
	if err != nil {
		return nil, ofTernary(c.first(err, e.Else))
	}
	y, err := c.expr(e.Else)
	if err != nil {
		return nil, ofTernary(err)
	}
	switch {
	case noValue(e.Then, x):
		x = like(x, y)
	case noValue(e.Else, y):
		y = like(y, x)
	case !isPlainNumber(e.Then) || !isPlainNumber(e.Else): // what does not fit has libpcp's message
		x, y = cmp.Or(fitting(e.Then, x, y), x), cmp.Or(fitting(e.Else, y, x), y)
	}
	if rule := c.ternaryOperands(x, y); rule != 0 {
		return nil, c.fail(e, rule, shown(e.Then)+" : "+shown(e.Else))
	}
	n := &Node{Expr: e, Desc: x.Desc, Key: x.Key, Kids: []*Node{guard, x, y}}
	if n.InDom == pdu.NoInDom || c.set.Meet(x, y) == LeftGroups {
		n.InDom, n.Key = y.InDom, y.Key
	}
	if rule := c.ternaryGuard(guard, n); rule != 0 {
		return nil, c.fail(e, rule, shown(e.Guard)+" ? "+shown(e.Then)+" : "+shown(e.Else))
	}
	return c.completed(n)
}

// noValue reports whether an operand is novalue(), or a metric that is not there and stands for it.
func noValue(e syntax.Expr, n *Node) bool {
	_, name := e.(*syntax.Name)
	return n.Empty && (name || syntax.Is(e, syntax.NoValue))
}

// ofTernary words the error of an operand of a ternary, if there is one, as PCP 7 does.
func ofTernary(err *Error) *Error {
	if err != nil && err.Rule == RuleUnknownOperand {
		err.Rule = RuleTernaryUnknown
	}
	return err
}

// like is n with the metadata of another node.
func like(n, other *Node) *Node {
	made := *n
	made.Desc, made.Key = other.Desc, other.Key
	return &made
}

// ternaryOperands returns the first respect in which the metadata of the operands differs. Equivalent domains are different ones
// here, as in libpcp; groups meet as elsewhere.
func (c *checker) ternaryOperands(x, y *Node) Rule {
	ax, ay := units.AxesOf(x.Units), units.AxesOf(y.Units)
	met := c.set.Meet(x, y)
	switch {
	case x.Type != y.Type:
		return RuleTernaryType
	case met == Apart, met == ByInstance && x.InDom != y.InDom && x.InDom != pdu.NoInDom && y.InDom != pdu.NoInDom:
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

// ternaryGuard returns the rule that a guard breaks, given the ternary that it is to decide. If that is over groups of the guard's
// instances it becomes one over these.
func (c *checker) ternaryGuard(guard, n *Node) Rule {
	switch {
	case !guard.Type.Numeric():
		return RuleTernaryGuardType
	case guard.InDom == pdu.NoInDom:
		return 0
	case n.InDom == pdu.NoInDom:
		return RuleTernaryGuardSet
	}
	if c.set.Meet(n, guard) == LeftGroups {
		n.InDom, n.Key = guard.InDom, guard.Key
	}
	for _, k := range n.Kids {
		if c.set.Meet(n, k) == Apart {
			return RuleTernaryGuardInDom
		}
	}
	return 0
}

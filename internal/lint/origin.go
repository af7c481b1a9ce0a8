package lint

import (
	"math"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// origin says from what the value of an expression comes: by sums, factors, choices, and functions that keep the kind
// of a value. Types and units do not tell a share from a ratio, or an age from a duration.
type origin struct {
	number   bool         // the value is factor
	share    bool         // a rate of a time, multiplied by factor
	factor   float64      // of a number, a share, or a metric that is a factor
	change   bool         // a change of something
	age      bool         // a time since something
	since    bool         // a count since something began
	total    *syntax.Call // an aggregate over the instances of a counter; or nil
	instance string       // the only instance with a value; "" if there may be others
}

// origin returns the origin of a node. The factor of a share that is divided counts only within one product of one
// definition: there is the warning.
func (l *linter) origin(n *derived.Node) origin {
	root := n
	for root.Other != nil {
		root = root.Other
	}
	o, ok := l.origins[root]
	if !ok {
		kids := make([]origin, len(root.Kids))
		for i, k := range root.Kids {
			if kids[i] = l.origin(k); !isProduct(root.Expr) && kids[i].isDivided() {
				kids[i].factor = 1
			}
		}
		o = originOf(root, kids)
		o.instance = onlyInstance(root, kids)
		l.origins[root] = o
	}
	if root != n && o.isDivided() {
		o.factor = 1
	}
	return o
}

// isDivided reports whether a share is divided by a power of ten.
func (o origin) isDivided() bool {
	power := -math.Log10(o.factor)
	return o.share && power > 0.5 && math.Abs(power-math.Round(power)) < 1e-9
}

// originOf returns the origin of a node without its instance.
func originOf(n *derived.Node, kids []origin) origin {
	if number := literal(n.Expr); number != nil {
		return origin{number: true, factor: number.Float}
	}
	switch e := n.Expr.(type) {
	case *syntax.Name:
		since := n.Sem == pdu.SemCounter || strings.HasSuffix(e.Name, "_bucket") // the semantics may be unknown
		return origin{age: isTime(n) && namesAge(e.Name), since: since, factor: 1}
	case *syntax.Unary:
		if e.Op == syntax.Neg {
			return kids[0]
		}
	case *syntax.Select:
		return kids[0]
	case *syntax.Ternary:
		return kids[1].or(kids[2])
	case *syntax.Binary:
		if len(kids) == 2 && e.Op.Arithmetic() {
			return combine(n, e.Op, kids[0], kids[1])
		}
	case *syntax.Call:
		if len(kids) > 0 {
			return originOfCall(n, e, kids)
		}
	}
	return origin{}
}

// combine returns the origin of the result of an operator. A product with a number keeps the kind of the other operand,
// and a quotient that of its dividend; of two shares, or of two changes, it is a ratio and neither.
func combine(n *derived.Node, op syntax.Op, x, y origin) origin {
	o := x.or(y)
	if op == syntax.Sub && x.since && y.since {
		o.since = false // what was counted between two times
	}
	switch {
	case op == syntax.Sub && isTime(n) && !x.number && !y.number && !o.change:
		o.age = true
	case op == syntax.Mul && (x.number || y.number):
		if x.number {
			x, y = y, x
		}
		o = x
		o.factor *= y.factor
	case op == syntax.Div:
		o = x
		o.number, o.share, o.change = x.number && y.number, x.share && !y.share, x.change && !y.change
		if y.number {
			o.factor /= y.factor
		}
	}
	return o
}

// or returns the origin of a value that comes from both or from one of two.
func (o origin) or(p origin) origin {
	if !o.share && !p.number {
		o.share, o.factor = p.share, p.factor
	}
	o.number, o.change, o.age, o.since = false, o.change || p.change, o.age || p.age, o.since || p.since
	if o.total == nil {
		o.total = p.total
	}
	return o
}

// originOfCall returns the origin of the result of a function.
func originOfCall(n *derived.Node, e *syntax.Call, kids []origin) origin {
	o, x := kids[0], n.Kids[0]
	switch {
	case isChange(e):
		return origin{change: true, share: x.Units.Time == 1 && n.Units.Dimensionless(), factor: o.factor}
	case syntax.Is(e, syntax.Count, syntax.CountSample):
		return origin{}
	case pairsOperands(e) || e.Func == syntax.Default:
		for _, k := range kids[1:] {
			o = o.or(k)
		}
	case x.Sem == pdu.SemCounter && x.InDom != pdu.NoInDom &&
		syntax.Is(e, syntax.Sum, syntax.Avg, syntax.Max, syntax.Min):
		o.total = e
	}
	return o
}

// isChange reports whether a function computes a change from two or more samples.
func isChange(e *syntax.Call) bool {
	return syntax.Is(e, syntax.Delta, syntax.Rate, syntax.Increase, syntax.SlopeSample)
}

// pairsOperands reports whether the operands of a function are paired by instance.
func pairsOperands(e syntax.Expr) bool { return syntax.Is(e, syntax.Largest, syntax.Smallest) }

// isTime reports whether values are times and count nothing.
func isTime(n *derived.Node) bool {
	return n.Units.SameDimension(pdu.Units{Time: 1}) && n.Sem != pdu.SemCounter
}

// namesAge reports whether a metric has the name of a time since something, such as kernel.all.uptime.
func namesAge(metric string) bool {
	words := strings.Split(metric[strings.LastIndexByte(metric, '.')+1:], "_")
	return slices.ContainsFunc(words, func(word string) bool {
		return word == "uptime" || word == "age" || word == "elapsed"
	})
}

// onlyInstance returns the only instance of a node that has a value, "" if there may be others.
func onlyInstance(n *derived.Node, kids []origin) string {
	switch e := n.Expr.(type) {
	case *syntax.Select:
		return e.Instance
	case *syntax.Ternary:
		if kids[0].instance == "" && kids[1].instance != kids[2].instance {
			return ""
		}
	case *syntax.Call:
		if e.Func == syntax.Default {
			return ""
		}
	}
	for i, k := range n.Operands() {
		if k.InDom == n.InDom && kids[i].instance != "" {
			return kids[i].instance
		}
	}
	return ""
}

// checkOrigins warns of operators and functions that make no sense with operands of these origins.
func (l *linter) checkOrigins(line derived.Line, path []derived.Line) {
	kids := make([]origin, len(line.Kids))
	for i, k := range line.Kids {
		kids[i] = l.origin(k)
	}
	switch e := line.Expr.(type) {
	case *syntax.Binary:
		if len(kids) != 2 {
			return
		}
		x, y := kids[0], kids[1]
		if isProduct(e) {
			l.checkShare(e.OpPos, path)
		}
		if e.Op == syntax.Div && x.change && y.age && !y.change && line.Kids[1].Units.Time == 1 {
			l.warn(ChangeOverAge, e.OpPos, "divides a change by "+clip(e.Y)+", the time since something began: divide "+
				"all that was counted, instant(x) in place of rate(x)")
		}
		l.checkPaired(e.OpPos, line.Kids, kids)
	case *syntax.Ternary:
		if kids[0].instance != "" {
			l.checkPaired(l.textAfter(e.Guard), line.Kids, kids)
		}
	case *syntax.Select:
		if areDifferent(kids[0].instance, e.Instance) {
			l.warn(DifferentInstances, e.InstanceSpan.Start, clip(e.X)+" has only a value for "+kids[0].instance)
		}
	case *syntax.Call:
		if pairsOperands(e) {
			l.checkPaired(start(e), line.Kids, kids)
		}
		if isChange(e) {
			l.checkShare(start(e), path)
		}
		if syntax.Is(e, syntax.PercentileBucket, syntax.ShareBucket) && kids[0].since {
			l.warn(BucketTotals, start(e), clip(e.X())+" are the counts since the agent began: use delta() or rate()")
		}
	}
}

// checkShare warns of a product, or a rate of one, that is a share divided by a power of ten. By other numbers, such as
// that of CPUs, shares are divided with good reason.
func (l *linter) checkShare(offset int, path []derived.Line) {
	if l.origin(path[len(path)-1].Node).isDivided() && !isFactor(path) {
		l.warn(DividedShare, offset, "the rate of a time is a share, 1 for a second in each second, in whatever unit the "+
			"time is: do not divide it, or multiply by 100 for percent")
	}
}

func isProduct(e syntax.Expr) bool {
	b, ok := e.(*syntax.Binary)
	return ok && (b.Op == syntax.Mul || b.Op == syntax.Div)
}

// isFactor reports whether the last line is a factor or a dividend of the line above, where the whole product is
// judged.
func isFactor(path []derived.Line) bool {
	if len(path) < 2 {
		return false
	}
	above, n := path[len(path)-2], path[len(path)-1].Node
	return isProduct(above.Expr) && (above.Expr.(*syntax.Binary).Op == syntax.Mul || above.Kids[0] == n)
}

// checkPaired warns of operands that have no instance in common, as their values are paired by instance.
func (l *linter) checkPaired(offset int, nodes []*derived.Node, kids []origin) {
	first := slices.IndexFunc(kids, func(o origin) bool { return o.instance != "" })
	for i := range kids {
		if first >= 0 && nodes[i].InDom == nodes[first].InDom && areDifferent(kids[first].instance, kids[i].instance) {
			x, y := kids[first].instance, kids[i].instance
			l.warn(DifferentInstances, offset, "one operand has only a value for "+short(x)+", another one only for "+
				short(y)+": values of different instances are never paired. Use scalar(x["+short(x)+"]) and scalar(x["+
				short(y)+"])")
		}
	}
}

// areDifferent reports whether two names select different instances. A name may be the first word of the other.
func areDifferent(x, y string) bool {
	return x != "" && y != "" && x != y && !strings.HasPrefix(x, y+" ") && !strings.HasPrefix(y, x+" ")
}

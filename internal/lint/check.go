package lint

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/internal/blank"
	"pmdaderived/pdu"
)

// Warning is a part of a definition that is probably not meant.
type Warning struct {
	Definition *derived.Definition
	Code       Code
	Offset     int // in the definition's text, in bytes; -1: the name
	Message    string
	Other      *derived.Definition // of SameExpression: the earlier definition
}

// Options has what is known besides the definitions.
type Options struct {
	// Catalog has the collector's metrics: those that the definitions use, and those with the same names. nil: only the
	// text is checked.
	Catalog derived.Catalog

	Language derived.Language // the site's

	// Root is the subtree in which definitions are served. Expressions may use names with or without it.
	Root string

	// Host returns instances. nil: they are not known.
	Host Host

	// Archive means that the Catalog is that of an archive, not of this host.
	Archive bool

	// Portable returns which libpcp must support a definition. Check warns of what this libpcp does not support. nil:
	// none has to.
	Portable func(d *derived.Definition) syntax.Support

	// Suggest returns a metric with a similar name, "" for none. May be nil.
	Suggest func(name string) string
}

// Host returns the instances of a host.
type Host interface {
	// Instances returns the external names of a domain's instances, nil if they are not known.
	Instances(d pdu.InDom) []string

	// HasInstance reports whether a name selects an instance. The name may be the beginning of an external name. If the
	// instances are not known, it returns true.
	HasInstance(d pdu.InDom, name string) bool
}

// Check checks definitions of distinct names. Warnings are in the order of the definitions and of their texts.
func Check(defs []*derived.Definition, o Options) []Warning {
	l := &linter{
		Options: o, byName: make(map[string]*derived.Definition, len(defs)),
		origins:      map[*derived.Node]origin{},
		zeroWhenIdle: map[string]bool{}, shapeNumbers: map[shape]int{}, shapes: map[syntax.Expr]int{},
		firstByShape: map[int]*derived.Definition{},
	}
	for _, d := range defs {
		l.byName[d.Name] = d
	}
	var set *derived.Set
	if o.Catalog != nil {
		set = o.Language.NewSet(defs, o.Catalog, o.Root)
		l.groups = set.GroupDomains()
	}
	for _, d := range defs {
		from := len(l.warnings)
		l.checkText(d)
		l.checkPortable(d)
		if set != nil {
			m, _ := set.Lookup(d.Name)
			l.checkMetric(m)
		}
		if o.Root != "" && strings.HasPrefix(d.Name, o.Root+".") {
			l.warn(DoubledRoot, -1, "is served as "+o.Root+"."+d.Name+": leave out "+o.Root+". here")
		}
		slices.SortStableFunc(l.warnings[from:], func(x, y Warning) int { return cmp.Compare(x.Offset, y.Offset) })
	}
	return l.warnings
}

// linter checks definitions, one after the other. It keeps what it has found of their parts: definitions use each
// other, and would be searched again and again.
type linter struct {
	Options
	byName       map[string]*derived.Definition
	shapeNumbers map[shape]int
	firstByShape map[int]*derived.Definition // first definition with a shape
	warnings     []Warning

	groups       map[pdu.InDom]derived.GroupDomain
	origins      map[*derived.Node]origin
	current      *derived.Definition
	warningCount int                  // about the current definition
	constant     map[syntax.Expr]bool // results of isConstant
	shapes       map[syntax.Expr]int  // results of shapeNumber
	zeroWhenIdle map[string]bool      // results of isZeroWhenIdle for definitions
	visited      int                  // parts that contains has visited
}

// maxVisited is the number of parts that contains visits for all definitions. It limits the time of a check.
const maxVisited = 10_000_000

// maxWarnings is the largest number of warnings about one definition, which may be generated.
const maxWarnings = 20

// warn adds a warning, unless the same place already has one with this code: some mistakes are visible in the text and
// in the metadata.
func (l *linter) warn(code Code, offset int, message string) {
	l.addWarning(Warning{Definition: l.current, Code: code, Offset: offset, Message: message})
}

// addWarning does the same for a complete Warning.
func (l *linter) addWarning(w Warning) {
	for i := len(l.warnings) - 1; i >= 0 && l.warnings[i].Definition == w.Definition; i-- {
		if l.warnings[i].Code == w.Code && l.warnings[i].Offset == w.Offset {
			return
		}
	}
	if l.warningCount++; l.warningCount <= maxWarnings {
		l.warnings = append(l.warnings, w)
	}
}

// checkText checks the text of a definition.
func (l *linter) checkText(d *derived.Definition) {
	l.current, l.warningCount, l.constant = d, 0, map[syntax.Expr]bool{}
	clear(l.shapes)
	syntax.Walk(d.Expr, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Unary:
			l.checkUnary(e)
		case *syntax.Binary:
			l.checkBinary(e)
		case *syntax.Ternary:
			l.checkTernary(e)
		case *syntax.Call:
			l.checkCall(e)
			l.checkPercentile(e)
			l.checkLabels(e)
		}
		return l.warningCount < maxWarnings
	})
	constant := l.isConstant(d.Expr)
	if constant && l.warningCount == 0 && literal(d.Expr) == nil {
		l.warn(ConstantExpr, start(d.Expr), "uses no metric: its value never changes")
	}
	if constant {
		return
	}
	shape := l.shapeNumber(d.Expr)
	if first := l.firstByShape[shape]; first != nil {
		l.addWarning(Warning{
			Definition: d, Code: SameExpression, Offset: start(d.Expr),
			Message: "has the same expression as " + first.Name, Other: first,
		})
		return
	}
	l.firstByShape[shape] = d
}

// withoutRoot removes the root from the name of a definition, because both forms mean the definition. A metric of
// another agent keeps its name.
func (l *linter) withoutRoot(name string) string {
	if rest, ok := strings.CutPrefix(name, l.Root+"."); ok && l.Root != "" && l.byName[rest] != nil {
		return rest
	}
	return name
}

func start(e syntax.Expr) int { return e.Span().Start }

// textAfter returns the offset of the first character after an expression that is not blank.
func (l *linter) textAfter(e syntax.Expr) int {
	return blank.Skip(l.current.Text, e.Span().End)
}

// checkUnary warns of ! before an expression with operators: it takes all of it, unlike in other languages.
func (l *linter) checkUnary(e *syntax.Unary) {
	if _, ok := e.X.(*syntax.Binary); ok && e.Op == syntax.Not {
		l.warn(NotPrecedence, start(e), "! takes all of "+clip(e.X)+": put its operand in parentheses")
	}
}

// checkBinary warns of operators that group in an unexpected way, and of results that cannot change.
func (l *linter) checkBinary(e *syntax.Binary) {
	left, _ := e.X.(*syntax.Binary)
	switch {
	case left != nil && e.Op.Boolean() && left.Op.Boolean() && left.Op != e.Op:
		l.warn(MixedAndOr, e.OpPos, "&& and || have equal precedence and group from the left: this is ("+
			clip(e.X)+") "+e.Op.String()+" "+clip(e.Y))
	case left != nil && e.Op.Relation() && left.Op.Relation():
		l.warn(ChainedComparison, e.OpPos, "compares the result of "+clip(e.X)+", which is 1 or 0, with "+clip(e.Y))
	}
	x, y := l.isConstant(e.X), l.isConstant(e.Y)
	switch {
	case e.Op.Boolean() && x:
		l.warn(ConstantCondition, start(e.X), clip(e.X)+" never changes")
	case e.Op.Boolean() && y:
		l.warn(ConstantCondition, start(e.Y), clip(e.Y)+" never changes")
	case e.Op.Relation() && x && y:
		l.warn(ConstantCondition, start(e), clip(e)+" never changes")
	case e.Op == syntax.Div && isZero(e.Y):
		l.warn(DivisionByZero, e.OpPos, "divides by zero: the result is infinite, or 0 for 0 / 0")
	case e.Op == syntax.Mul && (isZero(e.X) || isZero(e.Y)), e.Op == syntax.Div && isZero(e.X):
		l.warn(AlwaysZero, start(e), clip(e)+" is always 0")
	}
	// x + x and x * x are ways to write twice x and its square. Constants have their own warnings.
	if e.Op != syntax.Add && e.Op != syntax.Mul && (!x || !y) && !joinsGuards(e) && l.equal(e.X, e.Y) {
		l.warn(SameOperands, e.OpPos, "both sides of "+e.Op.String()+" are the same")
	}
}

// isDefined reports whether an expression is defined(), whose operand need not have values.
func isDefined(e syntax.Expr) bool { return syntax.Is(syntax.Unparen(e), syntax.Defined) }

// joinsGuards reports whether both operands are defined(): the same one twice does no harm.
func joinsGuards(e *syntax.Binary) bool {
	return isDefined(e.X) && isDefined(e.Y)
}

func (l *linter) equal(x, y syntax.Expr) bool { return l.shapeNumber(x) == l.shapeNumber(y) }

// checkTernary warns of ?: inside the condition of another, of a condition that never changes, and of defined() that
// does not guard.
func (l *linter) checkTernary(e *syntax.Ternary) {
	if _, ok := e.Guard.(*syntax.Ternary); ok {
		l.warn(NestedTernary, l.textAfter(e.Guard), "everything to the left of this ? is its condition, because ?: "+
			"groups from the left: put the inner ?: in parentheses")
	}
	if l.isConstant(e.Guard) {
		l.warn(ConstantCondition, start(e.Guard), clip(e.Guard)+" never changes")
	}
	if l.equal(e.Then, e.Else) {
		l.warn(SameOperands, l.textAfter(e.Then), "both operands of ?: are the same")
	}
	l.checkReversedGuard(e, e.Then, true)
	l.checkReversedGuard(e, e.Else, false)
	// With two constants, as in defined(x) ? 1 : 0, whether the metric exists is the result.
	if !l.isConstant(e.Then) || !l.isConstant(e.Else) {
		l.checkUnusedGuards(e)
	}
}

// checkReversedGuard warns of metrics in the operand that is selected if they do not exist.
func (l *linter) checkReversedGuard(e *syntax.Ternary, operand syntax.Expr, truth bool) {
	for _, absent := range impliedArgs(e.Guard, truth, false) {
		syntax.Walk(operand, func(x syntax.Expr) bool {
			name, ok := x.(*syntax.Name)
			if ok && l.withoutRoot(name.Name) == l.withoutRoot(absent.Name) {
				l.warn(ReversedGuard, start(name),
					name.Name+" is used only where it does not exist: swap the operands of ?:")
			}
			return !isDefined(x)
		})
	}
}

// checkUnusedGuards warns of defined() of a metric that is not used. A metric also guards its siblings, which come from
// the same agent.
func (l *linter) checkUnusedGuards(e *syntax.Ternary) {
	for _, name := range slices.Concat(impliedArgs(e.Guard, true, true), impliedArgs(e.Guard, false, true)) {
		metric := l.withoutRoot(name.Name)
		beside := metric[:strings.LastIndexByte(metric, '.')+1]
		if !l.uses(l.current.Expr, func(used string) bool {
			return used == metric || beside != "" && strings.HasPrefix(used, beside)
		}) {
			l.warn(UnusedGuard, start(name), name.Name+" is tested with defined() and not used")
		}
	}
}

// impliedArgs returns the arguments of defined() that must exist, or must not, if condition e has this truth value.
func impliedArgs(e syntax.Expr, truth, exist bool) []*syntax.Name {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Unary:
		if e.Op == syntax.Not {
			return impliedArgs(e.X, !truth, exist)
		}
	case *syntax.Binary:
		if e.Op == syntax.And && truth || e.Op == syntax.Or && !truth {
			return slices.Concat(impliedArgs(e.X, truth, exist), impliedArgs(e.Y, truth, exist))
		}
	case *syntax.Call:
		if e.Func == syntax.Defined && truth == exist {
			return []*syntax.Name{e.Args[0].(*syntax.Name)}
		}
	}
	return nil
}

// uses reports whether an expression, or a definition that it uses, has an operand with a wanted name. A guard is often
// in a definition of its own.
func (l *linter) uses(e syntax.Expr, wanted func(name string) bool) bool {
	return l.contains(e, map[string]bool{}, func(x syntax.Expr) bool {
		name, ok := x.(*syntax.Name)
		return ok && wanted(l.withoutRoot(name.Name))
	})
}

// contains reports whether an expression, or a definition that it uses, has a wanted part outside of defined(). seen
// has definitions that need not be visited again. If too much has been visited it returns true, so that there is no
// warning.
func (l *linter) contains(e syntax.Expr, seen map[string]bool, wanted func(syntax.Expr) bool) bool {
	found := false
	syntax.Walk(e, func(x syntax.Expr) bool {
		if found || isDefined(x) {
			return false
		}
		l.visited++
		found = wanted(x) || l.visited > maxVisited
		if name, ok := x.(*syntax.Name); ok && !found {
			plain := l.withoutRoot(name.Name)
			if other := l.byName[plain]; other != nil && !seen[plain] {
				seen[plain] = true
				found = l.contains(other.Expr, seen, wanted)
			}
		}
		return !found
	})
	return found
}

// checkCall warns of a function of another function that makes no sense.
func (l *linter) checkCall(e *syntax.Call) {
	if x := e.X(); x != nil && syntax.Is(syntax.Unparen(x), syntax.Delta, syntax.Rate, syntax.Increase, syntax.Instant) {
		l.checkNonCounter(e, "the result of "+syntax.Unparen(x).(*syntax.Call).Func.String()+"()")
	}
	if syntax.Is(e, syntax.Count, syntax.CountSample) && e.X() != nil && l.isCondition(e.X()) {
		noun, adds := "instances", syntax.Sum
		if e.Func == syntax.CountSample {
			noun, adds = "samples", syntax.SumSample
		}
		l.warn(CountOfTruths, start(e), e.Func.String()+"() counts all "+noun+", also those where "+clip(e.X())+
			" is false: use "+adds.String()+"()")
	}
}

// isCondition reports whether an expression, or the definition that it names, is 1 for true and 0 for false.
func (l *linter) isCondition(e syntax.Expr) bool {
	for range len(l.byName) + 1 { // ends if definitions use each other in a circle
		switch x := syntax.Unparen(e).(type) {
		case *syntax.Binary:
			return x.Op.Relation() || x.Op.Boolean()
		case *syntax.Unary:
			return x.Op == syntax.Not
		case *syntax.Name:
			other := l.byName[l.withoutRoot(x.Name)]
			if other == nil {
				return false
			}
			e = other.Expr
		default:
			return false
		}
	}
	return false
}

// checkNonCounter warns of a function that needs a counter.
func (l *linter) checkNonCounter(e *syntax.Call, operand string) {
	switch e.Func {
	case syntax.Delta, syntax.Rate:
		l.warn(ChangeOfNoCount, start(e), e.Func.String()+"() of "+operand+", which is not a counter")
	case syntax.Instant:
		l.warn(InstantOfNoCount, start(e), e.Func.String()+"() of "+operand+" changes nothing")
	default: // takes any operand
	}
}

// checkNames warns of operands that do not exist. bound means that the definition is served without them, which
// defined() makes possible. In other definitions an absent operand is an error already.
func (l *linter) checkNames(d *derived.Definition, bound bool) {
	seen := map[string]bool{}
	syntax.Walk(d.Expr, func(e syntax.Expr) bool {
		name, ok := e.(*syntax.Name)
		if !ok || seen[name.Name] || l.byName[l.withoutRoot(name.Name)] != nil || l.exists(name.Name) {
			return true
		}
		seen[name.Name] = true
		if l.Suggest != nil {
			if meant := l.Suggest(name.Name); meant != "" {
				l.warn(MisspeltOperand, start(e),
					name.Name+" does not exist "+l.placeText()+"; did you mean "+meant+"?")
				return true
			}
		}
		if bound {
			l.warn(AbsentOperand, start(e), name.Name+" does not exist "+l.placeText()+": the operand for hosts that "+
				"have it is not used")
		}
		return true
	})
}

// exists reports whether the collector has a metric. If that is not known, as without an answer of its agent, it
// returns true: there is no reason for a warning.
func (l *linter) exists(name string) bool {
	_, err := l.Catalog.Desc(name)
	return !errors.Is(err, pdu.ErrName) && !errors.Is(err, pdu.ErrNonLeaf)
}

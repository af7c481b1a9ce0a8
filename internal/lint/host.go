package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/derived/pattern"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// checkDifference warns of a subtraction with an unsigned result, if its operands are of different subtrees. Within a
// subtree it is most often the difference between a whole and a part.
func (l *linter) checkDifference(e *syntax.Binary, n *derived.Node, path []derived.Line) {
	if unsigned(n) && !l.isConstant(e.X) && !l.isConstant(e.Y) && !l.related(e.X, e.Y) && !l.guarded(e, path) {
		l.warn(UnsignedDiff, e.OpPos, clip(e)+" is unsigned (type "+n.Type.String()+
			"): a result below zero becomes a huge number. For negative values multiply one side by 1.0")
	}
}

// checkQuotient warns of a divisor that is 0 when nothing has changed, if the dividend is not: 0 / 0 is 0, which is
// most often meant, but anything else divided by 0 is not finite.
func (l *linter) checkQuotient(e *syntax.Binary, path []derived.Line) {
	if isZero(e.X) || !l.isZeroWhenIdle(e.Y) || !reachesResult(path) || l.guarded(e.Y, path) ||
		l.contains(e.X, map[string]bool{}, func(e syntax.Expr) bool {
			return syntax.Is(e, syntax.Delta, syntax.Rate, syntax.Increase)
		}) {
		return
	}
	l.warn(ZeroDivisor, e.OpPos, "divides by "+clip(e.Y)+", which is 0 when nothing has changed: "+
		"the result is then not finite, and not served. Use default() or ?: to give another value")
}

// promRange is a time in brackets, as PromQL has it.
var promRange = regexp.MustCompile(`^[0-9]+(s|m|h|d)$`)

// checkSelected warns of an instance that does not exist. Most often it is in quotes, or is a time as in PromQL.
func (l *linter) checkSelected(e *syntax.Select, kids []*derived.Node) {
	window := windowHint(e.Instance, kids)
	if singular(kids) {
		text := clip(e.X) + " is singular: it has no instances, and no value here"
		if window != "" {
			text += "; " + window
		}
		l.warn(AbsentInstance, e.InstanceSpan.Start, text)
	}
	names := l.instances(kids)
	if names == nil || l.Host.HasInstance(kids[0].InDom, e.Instance) {
		return
	}
	text := l.sourceText() + " has no instance " + e.Instance + " of " + clip(e.X)
	bare := strings.Trim(e.Instance, `"'`)
	switch {
	case bare != e.Instance && bare != "" && l.Host.HasInstance(kids[0].InDom, bare):
		text += ": write [" + bare + "], because quotes are part of the name"
	case window != "":
		text += ": " + window
	default:
		text += ": " + instancesText(names)
	}
	l.warn(AbsentInstance, e.InstanceSpan.Start, text)
}

// windowHint returns what to write instead of an instance that is a time, "" for any other instance.
func windowHint(instance string, kids []*derived.Node) string {
	if !promRange.MatchString(instance) {
		return ""
	}
	x := "x"
	if len(kids) > 0 && kids[0].Sem == pdu.SemCounter {
		x = "rate(x)" // functions over time need a rate of a counter
	}
	return "a window is an operand, as in avg_sample(" + x + `, "` + instance + `")`
}

// checkMatched warns of a pattern that selects no instance. Most often it is for the whole name, and matchinst()
// compares only the part before the first blank.
func (l *linter) checkMatched(e *syntax.Call, kids []*derived.Node) {
	literal, operand := e.Literal(), clip(e.X())
	if singular(kids) {
		l.warn(MatchesNothing, start(literal), operand+" is singular: it has no instances, and no value here")
	}
	names := l.instances(kids)
	re, err := pattern.Compile(literal.Text)
	if len(names) == 0 || err != nil || len(e.Keys()) > 0 {
		return
	}
	heads := make([]string, len(names))
	longer := "" // a name of which the pattern matches the whole
	for i, name := range names {
		heads[i], _, _ = strings.Cut(name, " ")
		if re.MatchString(heads[i]) != literal.Negate {
			return
		}
		if longer == "" && re.MatchString(name) != literal.Negate {
			longer = name
		}
	}
	text := "this pattern matches no instance of " + operand + ": "
	switch {
	case literal.Negate:
		text = "this pattern matches every instance of " + operand + ", so none is left: " + instancesText(heads)
	case longer != "":
		head, _, _ := strings.Cut(longer, " ")
		text += fmt.Sprintf("only the part before the first blank of a name is matched, of %q only %q", short(longer),
			head)
	default:
		text += instancesText(heads)
	}
	l.warn(MatchesNothing, start(literal), text)
}

// checkBuckets warns of instances that are no buckets of a histogram. Some may be left out by other parts of the
// expression, but not all.
func (l *linter) checkBuckets(e *syntax.Call, kids []*derived.Node) {
	names := l.instances(kids)
	if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		table := derived.NewNameTable(map[pdu.Inst]string{0: name}, nil)
		return derived.BoundOf(table, 0) != derived.NoBound
	}) {
		l.warn(NoBuckets, start(e.X()), "no name of an instance has a bound: "+instancesText(names))
	}
}

// singular reports whether an operand is a metric without instances.
func singular(kids []*derived.Node) bool { return len(kids) > 0 && kids[0].InDom == pdu.NoInDom }

// instances returns the instances of an operand's domain, nil if they are not known or there is no domain.
func (l *linter) instances(kids []*derived.Node) []string {
	if l.Host == nil || len(kids) == 0 || singular(kids) {
		return nil
	}
	if _, ours := l.groups[kids[0].InDom]; ours {
		return nil // the number may be that of another domain of the collector, whose instances say nothing
	}
	return l.Host.Instances(kids[0].InDom)
}

// guarded reports whether an expression is an operand of a condition on one of its metrics: its author has thought of
// the case.
func (l *linter) guarded(e syntax.Expr, path []derived.Line) bool {
	for _, above := range path[:len(path)-1] {
		ternary, ok := above.Expr.(*syntax.Ternary)
		if ok && l.shareMetric(ternary.Guard, e, func(metric string) string { return metric }) {
			return true
		}
	}
	return false
}

// related reports whether two expressions use metrics of the same subtree, such as a whole and its parts.
func (l *linter) related(x, y syntax.Expr) bool {
	return l.shareMetric(x, y, func(metric string) string { root, _, _ := strings.Cut(metric, "."); return root })
}

// shareMetric reports whether two expressions use metrics with the same key.
func (l *linter) shareMetric(x, y syntax.Expr, key func(metric string) string) bool {
	known := map[string]bool{}
	l.uses(x, func(name string) bool {
		if l.byName[name] == nil {
			known[key(name)] = true
		}
		return false
	})
	return l.uses(y, func(name string) bool { return l.byName[name] == nil && known[key(name)] })
}

// reachesResult reports whether an infinite value of the last line makes the whole metric infinite. It does not where
// the value becomes a truth, an infinite divisor makes 0, values are only counted, or default() replaces it.
func reachesResult(path []derived.Line) bool {
	for i, above := range path[:len(path)-1] {
		first := above.Kids[0] == path[i+1].Node
		switch e := above.Expr.(type) {
		case *syntax.Unary:
			if e.Op == syntax.Not {
				return false
			}
		case *syntax.Binary:
			if !e.Op.Arithmetic() || e.Op == syntax.Div && !first {
				return false
			}
		case *syntax.Ternary:
			if first {
				return false
			}
		case *syntax.Call:
			if syntax.Is(e, syntax.Count, syntax.CountSample) || e.Func == syntax.Default && first {
				return false
			}
		}
	}
	return true
}

// isZeroWhenIdle reports whether an expression is 0 while its counters do not change, as on a host without work.
func (l *linter) isZeroWhenIdle(e syntax.Expr) bool {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Name:
		name := l.withoutRoot(e.Name)
		zero, known := l.zeroWhenIdle[name]
		if other := l.byName[name]; !known && other != nil {
			zero = l.isZeroWhenIdle(other.Expr)
			l.zeroWhenIdle[name] = zero
		}
		return zero
	case *syntax.Unary:
		return e.Op == syntax.Neg && l.isZeroWhenIdle(e.X)
	case *syntax.Binary:
		switch e.Op {
		case syntax.Add:
			return l.isZeroWhenIdle(e.X) && l.isZeroWhenIdle(e.Y)
		case syntax.Mul:
			return l.isZeroWhenIdle(e.X) || l.isZeroWhenIdle(e.Y)
		case syntax.Div:
			return l.isZeroWhenIdle(e.X)
		default:
		}
	case *syntax.Call:
		switch e.Func {
		case syntax.Delta, syntax.Rate, syntax.Increase:
			return true
		case syntax.Count, syntax.CountSample, syntax.Defined: // do not depend on values
			return false
		default:
			operands := e.Operands()
			varies := func(x syntax.Expr) bool { return !l.isZeroWhenIdle(x) }
			return len(operands) > 0 && !slices.ContainsFunc(operands, varies)
		}
	case *syntax.Select:
		return l.isZeroWhenIdle(e.X)
	}
	return false
}

// instancesText lists instances, the first ones if there are many.
func instancesText(names []string) string {
	const most = 4
	switch {
	case len(names) == 0:
		return "there are none"
	case len(names) == 1:
		return "there is " + short(names[0])
	case len(names) > most:
		return fmt.Sprintf("there are %d, such as %s", len(names), joinShort(names[:most]))
	}
	return "there are " + joinShort(names)
}

func joinShort(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = short(name)
	}
	return strings.Join(shown, ", ")
}

// sourceText returns where the metrics come from.
func (l *linter) sourceText() string {
	if l.Archive {
		return "the archive"
	}
	return "this host"
}

// placeText returns where metrics exist.
func (l *linter) placeText() string {
	if l.Archive {
		return "in the archive"
	}
	return "on this host"
}

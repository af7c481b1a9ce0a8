package lint

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"pmdaderived/derived/syntax"
)

// isConstant reports whether the value of an expression never changes and is the same on every host.
func (l *linter) isConstant(e syntax.Expr) bool {
	known, ok := l.constant[e]
	if !ok {
		known = l.hasConstantParts(e)
		l.constant[e] = known
	}
	return known
}

// hasConstantParts reports the same from the operands. The metadata of a metric differ between hosts, too.
func (l *linter) hasConstantParts(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Name:
		return false
	case *syntax.Call:
		for t := range e.Tags {
			if t.Key == "meta" || t.Key == "indom" {
				return false
			}
		}
		if e.Func != syntax.Const && len(e.Operands()) == 0 {
			return false // of a metric, or of nothing at all
		}
	}
	return !slices.ContainsFunc(syntax.Operands(e), func(x syntax.Expr) bool { return !l.isConstant(x) })
}

// mirroredOp returns the operator for exchanged operands. Relations are in the order < <= == >= > in package syntax.
func mirroredOp(op syntax.Op) syntax.Op {
	if op >= syntax.Lt && op <= syntax.Gt {
		return syntax.Lt + syntax.Gt - op
	}
	return op
}

// literal returns an expression that is a number, with or without a sign, nil for any other.
func literal(e syntax.Expr) *syntax.Number {
	if minus, ok := syntax.Unparen(e).(*syntax.Unary); ok && minus.Op == syntax.Neg {
		return literal(minus.X)
	}
	return syntax.NumberOf(e)
}

// isZero reports whether an expression is the number 0.
func isZero(e syntax.Expr) bool {
	number := literal(e)
	return number != nil && number.Float == 0
}

// checkPercentile warns of a percentile below 1, which PromQL's quantiles suggest.
func (l *linter) checkPercentile(e *syntax.Call) {
	if !syntax.Is(e, syntax.Percentile, syntax.PercentileSample, syntax.PercentileBucket) {
		return
	}
	if n := literal(e.Args[1]); n != nil && n.Float > 0 && n.Float < 1 {
		l.warn(PercentFraction, start(e.Args[1]), "n is from 0 to 100: "+n.Text+" is almost the minimum; did you mean "+
			strconv.FormatFloat(100*n.Float, 'g', 6, 64)+"?")
	}
}

// checkLabels warns of groups with a label that Prometheus gives each series itself.
func (l *linter) checkLabels(e *syntax.Call) {
	if e.By == nil {
		return
	}
	for _, key := range e.By.Keys {
		if name := key.LabelName(); name == "instance" || name == "job" {
			l.warn(ScrapeLabel, key.Span().Start, "Prometheus gives each series a label "+name+
				" itself, and renames this one or lets it take the place of that")
		}
	}
}

// clip returns an expression for a message, cut if it is long.
func clip(e syntax.Expr) string { return short(syntax.Beginning(e, utf8.UTFMax*maxShort+1)) }

// short returns a text for a message, cut if it is long: an expression may fill a page.
func short(text string) string {
	if utf8.RuneCountInString(text) <= maxShort {
		return text
	}
	return string([]rune(text)[:maxShort-3]) + "..."
}

// maxShort is the number of characters of a short text.
const maxShort = 40

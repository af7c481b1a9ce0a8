package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// maxHeight is the largest height of a typed tree, in nodes, including the definitions that it uses. Trees are walked
// by recursion, and a Go program cannot recover from a stack overflow.
const maxHeight = 2 * syntax.MaxDepth

// maxChain is the largest number of definitions that are checked within each other, which happens only in circles: see
// inOrder.
const maxChain = syntax.MaxDepth

// MaxHistory is the largest number of earlier samples that a metric may need.
const MaxHistory = 8

// checker binds the definitions of a Set to its Catalog and derives their metadata.
type checker struct {
	set    *Set
	states []state   // of each metric of the set
	metric *Metric   // being checked
	events *Error    // the first operand of metric whose values are events; rules that libpcp has come first
	chain  []*Metric // definitions that are being checked, each for the one before
}

// state is the progress of the check of a definition.
type state uint8

const (
	unchecked state = iota
	checking
	checked
)

func newChecker(s *Set) *checker {
	return &checker{set: s, states: make([]state, len(s.metrics))}
}

// check sets the tree or the error of m. Definitions that m uses are checked first.
func (c *checker) check(m *Metric) {
	state := &c.states[m.Index]
	if *state == checked {
		return
	}
	outer, outerEvents := c.metric, c.events
	c.metric, c.events = m, nil
	*state = checking
	c.chain = append(c.chain, m)
	if m.Tree, m.Err = c.expr(m.Definition.Expr); m.Err == nil && c.events != nil {
		m.Tree, m.Err = nil, c.events
	}
	c.chain = c.chain[:len(c.chain)-1]
	*state = checked
	c.metric, c.events = outer, outerEvents
}

// firstError returns the error to report: err, or that of another operand of the same operator. libpcp looks up all
// operands before it checks any operator, so a missing operand comes before a broken rule.
func (c *checker) firstError(err *Error, others ...syntax.Expr) *Error {
	for _, e := range others {
		if err.Unbound() {
			break
		}
		if _, other := c.expr(e); other != nil && other.Unbound() {
			err = other
		}
	}
	return err
}

func (c *checker) errorAt(at syntax.Expr, rule Rule, what string) *Error {
	return &Error{Metric: c.metric.Name, What: what, Rule: rule, Span: at.Span()}
}

// tooMany returns the error of an operand that exceeds a limit, and names the limit.
func (c *checker) tooMany(at syntax.Expr, rule Rule, limit int) *Error {
	fault := c.errorAt(at, rule, "operand "+operandText(at))
	fault.Detail = fmt.Sprintf("at most %d", limit)
	return fault
}

// expr returns the typed tree of e, or the first error: operands come before the operator, the left one before the
// right one, and missing operands before broken rules.
func (c *checker) expr(e syntax.Expr) (*Node, *Error) {
	var n *Node
	var err *Error
	switch e := e.(type) {
	case *syntax.Paren:
		return c.expr(e.X)
	case *syntax.Name:
		n, err = c.name(e)
		if err == nil && c.events == nil && (n.Type == pdu.TypeEvent || n.Type == pdu.TypeHighResEvent) {
			c.events = c.errorAt(e, RuleEvents, "operand "+e.Name)
		}
		return n, err
	case *syntax.Number:
		n = &Node{Expr: e, Desc: discrete(pdu.TypeU32)}
		n.setNumber(e)
	case *syntax.Unary:
		n, err = c.unary(e)
	case *syntax.Binary:
		n, err = c.binary(e)
	case *syntax.Ternary:
		return c.ternary(e)
	case *syntax.Call:
		n, err = c.call(e)
	case *syntax.Select:
		n = &Node{Expr: e}
		err = c.addOperand(n, e.X)
	}
	if err != nil {
		return nil, err
	}
	return c.complete(n)
}

// complete sets the fields of n that follow from its operands, and checks the limits of a tree.
func (c *checker) complete(n *Node) (*Node, *Error) {
	window, latch := n.window(), syntax.Is(n.Expr, syntax.Latch)
	for _, k := range n.Kids {
		n.height = max(n.height, k.height)
		n.overTime = n.overTime || k.overTime
		n.perClient = n.perClient || k.perClient
		n.latched = n.latched || k.latched
		n.clock = n.clock || k.clock
		if !window { // the operand of a window has a history of its own
			n.History = max(n.History, k.History)
			n.HasDelta = n.HasDelta || k.HasDelta
		}
	}
	for _, k := range n.Operands() {
		n.groupCounter = n.groupCounter || k.groupCounter && n.Sem == pdu.SemCounter
		if n.Key == nil && k.InDom == n.InDom {
			n.Key = k.Key
		}
	}
	n.height++
	n.clock = n.clock || syntax.Is(n.Expr, syntax.Now)
	if syntax.Is(n.Expr, syntax.Delta, syntax.Rate, syntax.Increase) {
		n.History++
		n.HasDelta = !syntax.Is(n.Expr, syntax.Rate)
	}
	switch {
	case latch && n.perClient:
		return nil, c.errorAt(n.Expr, RuleLatchPerClient, callText(n.Expr.(*syntax.Call)))
	case window && !latch && n.latched:
		return nil, c.errorAt(n.Expr, RuleLatchInWindow, callText(n.Expr.(*syntax.Call)))
	case window && !latch && n.overTime:
		return nil, c.errorAt(n.Expr, RuleWindowInWindow, callText(n.Expr.(*syntax.Call)))
	case n.overTime && syntax.Is(n.Expr, syntax.Delta, syntax.Rate):
		return nil, c.errorAt(n.Expr, RuleWindowChange, callText(n.Expr.(*syntax.Call)))
	case n.clock && syntax.Is(n.Expr, syntax.Delta, syntax.Rate):
		return nil, c.errorAt(n.Expr, RuleClockChange, callText(n.Expr.(*syntax.Call)))
	case n.height > maxHeight:
		return nil, c.tooMany(n.Expr, RuleTooDeep, maxHeight)
	case n.History > MaxHistory:
		return nil, c.tooMany(n.Expr, RuleHistory, MaxHistory)
	}
	if window && n.Key != nil { // the members of the groups were in the samples of the window
		n.Key = &GroupKey{By: n.Key.By, Keys: n.Key.Keys}
	}
	if window {
		span, _ := n.Expr.(*syntax.Call).Window()
		n.overTime, n.perClient, n.latched = true, span == 0, n.latched || latch
	}
	return n, nil
}

// name returns the node of an operand: a metric of the collector, else another definition, by the name in its file or
// the name that it is served under.
func (c *checker) name(e *syntax.Name) (*Node, *Error) {
	desc, other, err := c.set.Resolve(e.Name)
	switch {
	case isUnknown(err) && c.set.language.NoValue:
		return &Node{Expr: e, Desc: discrete(pdu.Type32), Empty: true, height: 1}, nil
	case isUnknown(err):
		fault := c.errorAt(e, RuleUnknownOperand, "operand "+e.Name)
		short, _ := c.set.withoutPrefix(e.Name)
		if at, ok := c.set.language.Masked[short]; ok {
			fault.Detail = "masked by " + at
		}
		return nil, fault
	case err != nil:
		return nil, c.metadataError(e, err)
	case other != nil:
		n, err := c.useDefinition(e, other)
		c.metric.Protected = c.metric.Protected || other.Protected
		return n, err
	}
	c.metric.Protected = c.metric.Protected || c.set.language.protects(e.Name)
	return &Node{Expr: e, Desc: desc, height: 1}, nil
}

func (c *checker) metadataError(e *syntax.Name, err error) *Error {
	fault := c.errorAt(e, RuleOperandMetadata, "operand "+e.Name)
	fault.Detail = pdu.CodeOf(err).Error()
	return fault
}

// Resolve looks up a name among the collector's metrics, which have a descriptor, and then among the definitions, which
// are metrics of the set. An error has the code of the catalog.
func (s *Set) Resolve(name string) (pdu.Desc, *Metric, error) {
	err := error(pdu.ErrName)
	if _, own := s.withoutPrefix(name); !own {
		var desc pdu.Desc
		if desc, err = s.catalog.Desc(name); !isUnknown(err) {
			return desc, nil, err
		}
	}
	if other := s.definition(name); other != nil {
		return pdu.Desc{}, other, nil
	}
	return pdu.Desc{}, nil, err
}

// isUnknown reports whether err says that no metric has a name.
func isUnknown(err error) bool { return errors.Is(err, pdu.ErrName) || errors.Is(err, pdu.ErrNonLeaf) }

// useDefinition returns the node of another definition in place of its name: a copy of its root, whose Other is the
// root itself.
func (c *checker) useDefinition(e *syntax.Name, other *Metric) (*Node, *Error) {
	switch state := c.states[other.Index]; {
	case state == checking:
		fault := c.errorAt(e, RuleCycle, "operand "+e.Name)
		fault.Detail = c.cycle(other)
		return nil, fault
	case state == unchecked && len(c.chain) >= maxChain:
		return nil, c.tooMany(e, RuleTooDeep, maxChain)
	}
	c.check(other)
	if other.Err != nil {
		return nil, c.brokenOperand(e, other.Err)
	}
	n := *other.Tree
	n.Other = other.Tree
	return &n, nil
}

// brokenOperand returns the error of the use of a definition that has an error. It names the definition where the error
// began, not those between, of which there may be thousands.
func (c *checker) brokenOperand(e *syntax.Name, err *Error) *Error {
	fault := c.errorAt(e, RuleBrokenOperand, "operand "+e.Name)
	switch err.Rule {
	case RuleCycle, RuleTooDeep:
		fault.Rule, fault.Detail = err.Rule, err.Detail
	case RuleBrokenOperand:
		fault.cause, fault.Detail = err.cause, err.Detail
	default:
		fault.cause, fault.Detail = err, err.Error()
	}
	return fault
}

// shownCycle is the number of definitions of a cycle that a message names.
const shownCycle = 8

// cycle returns the names of the definitions that lead back to start.
func (c *checker) cycle(start *Metric) string {
	round := c.chain[slices.Index(c.chain, start):]
	var b strings.Builder
	for i, m := range round {
		if i == shownCycle {
			fmt.Fprintf(&b, "%d more -> ", len(round)-i)
			break
		}
		b.WriteString(m.Name + " -> ")
	}
	b.WriteString(start.Name)
	return b.String()
}

// setNumber gives n, which is U32, the value of a number, and its type if it is DOUBLE.
func (n *Node) setNumber(e *syntax.Number) {
	n.Value, n.decided = uint64(e.Int), true
	if e.Double {
		n.Type, n.Value, n.decided = pdu.TypeDouble, column.FromDouble(e.Float), false
	}
}

// applyTags overrides the metadata of n with the tags of a function: first the metric named by meta, then the others.
func (c *checker) applyTags(n *Node, e *syntax.Call) *Error {
	for t := range e.Tags {
		if t.Key != "meta" {
			continue
		}
		like, err := c.name(&syntax.Name{Name: t.Value})
		if err != nil {
			err.Span = t.Span()
			return err
		}
		n.Desc = like.Desc
	}
	for t := range e.Tags {
		switch t.Key {
		case "type":
			n.Type = TypeNamed(t.Value)
		case "semantics":
			n.Sem = SemanticsNamed(t.Value)
		case "units":
			n.Units, _, _ = pdu.ParseUnits(t.Value) // judged when the definition was parsed
		case "indom":
			n.InDom = indomNamed(t.Value)
		}
	}
	return nil
}

// TypeNamed returns the type of values that a word stands for, in any mix of cases; pdu.TypeUnknown if it is none.
func TypeNamed(word string) pdu.Type {
	for t := pdu.Type32; t <= pdu.TypeAggregateStatic; t++ {
		if strings.EqualFold(word, t.String()) {
			return t
		}
	}
	return pdu.TypeUnknown
}

// SemanticsNamed returns the semantics that a word stands for, in any mix of cases; 0 if it is none.
func SemanticsNamed(word string) pdu.Semantics {
	for _, sem := range []pdu.Semantics{pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete} {
		if strings.EqualFold(word, sem.String()) {
			return sem
		}
	}
	return 0
}

func indomNamed(s string) pdu.InDom {
	d, err := pdu.ParseInDom(s)
	if err != nil {
		return pdu.NoInDom // the word "null": the parser accepts no other
	}
	return d
}

func (c *checker) unary(e *syntax.Unary) (*Node, *Error) {
	x, err := c.expr(e.X)
	if err != nil {
		return nil, err
	}
	n := &Node{Expr: e, Desc: x.Desc, Kids: []*Node{x}}
	n.Sem = pdu.SemInstant
	if e.Op == syntax.Not {
		if !x.Type.Numeric() {
			return nil, c.errorAt(e, RuleNotType, "! "+operandText(e.X))
		}
		n.Type, n.Units, n.decided = pdu.TypeU32, pdu.Units{}, x.decided
		n.Value = column.Truth(x.Value == 0)
		if x.Sem == pdu.SemDiscrete {
			n.Sem = pdu.SemDiscrete
		}
		return n, nil
	}
	switch {
	case !x.Type.Numeric():
		return nil, c.errorAt(e, RuleNegationType, "- "+operandText(e.X))
	case x.Type == pdu.TypeU32:
		n.Type = pdu.Type32
	case x.Type == pdu.TypeU64:
		n.Type = pdu.Type64
	}
	return n, nil
}

// call checks a function. The order decides which message a user sees: the arguments by their kinds, left to right; the
// tags; numbers and counters among the operands; the other rules of its row; changes of groups of counters; the key of
// by (KEY).
func (c *checker) call(e *syntax.Call) (*Node, *Error) {
	f := functions[e.Func]
	n := &Node{Expr: e, Desc: discrete(pdu.TypeU32)}
	if f.form == formEmpty {
		n.Type, n.Empty = pdu.Type32, true
	}
	for i, arg := range e.Args {
		var err *Error
		switch e.Kind(i) {
		case syntax.Operand:
			err = c.addOperand(n, arg)
		case syntax.MetricName:
			err = c.setExists(n, arg.(*syntax.Name))
		case syntax.TypeName:
			n.Type = TypeNamed(strings.TrimPrefix(e.Literal().Text, "PM_TYPE_"))
		case syntax.Constant:
			if f.form == formConstant {
				n.setNumber(arg.(*syntax.Number))
			}
		case syntax.Units, syntax.Pattern, syntax.Metadata, syntax.Interval, syntax.LabelName: // the row has them checked
		case syntax.InstanceKey: // below: it is a key of the first operand
		}
		if err != nil {
			return nil, err
		}
	}
	if err := c.applyTags(n, e); err != nil {
		return nil, err
	}
	for _, x := range n.Kids {
		if f.numeric && !x.Type.Numeric() {
			return nil, c.errorAt(e, RuleFunctionType, callText(e))
		}
		if f.noCounter && x.Sem == pdu.SemCounter {
			rule := RuleFunctionCounter
			if f.form == formWindow {
				rule = RuleWindowCounter
			}
			return nil, c.errorAt(e, rule, callText(e))
		}
	}
	if f.check != nil {
		if rule := f.check(c, n, e); rule != 0 {
			fault := c.errorAt(e, rule, callText(e))
			switch rule {
			case RuleNumberFit:
				fault.Detail = metadataText(n.Desc)
			case RuleDefaultFit:
				fault.Detail = metadataText(n.Kids[1].Desc) + ", not " + metadataText(n.Desc)
			default:
			}
			return nil, fault
		}
	}
	if syntax.Is(e, syntax.Delta, syntax.Rate) && n.Kids[0].groupCounter {
		return nil, c.errorAt(e, RuleGroupCounter, callText(e))
	}
	if f.result != nil {
		f.result(n)
	}
	var err *Error
	switch {
	case e.By != nil:
		err = c.setGroups(n, e)
	case e.Func == syntax.Match:
		n.Selecting, err = c.keys(n, n.Kids[0], e)
	}
	return n, err
}

// addOperand adds an operand to n. The first one gives n its metadata.
func (c *checker) addOperand(n *Node, e syntax.Expr) *Error {
	x, err := c.expr(e)
	if err != nil {
		return err
	}
	if n.Kids == nil {
		n.Desc = x.Desc
	}
	n.Kids = append(n.Kids, x)
	return nil
}

// metadataText returns metadata as messages show it.
func metadataText(d pdu.Desc) string {
	text := "type " + d.Type.String()
	if d.Sem == pdu.SemCounter {
		text += " counter"
	}
	if units := d.Units.String(); units != "" {
		text += " in " + units
	}
	return text
}

// callText returns a function with its operands as messages show it.
func callText(e *syntax.Call) string {
	switch {
	case e.Func == syntax.Rescale:
		to, _, _ := pdu.ParseUnits(e.Literal().Text)
		return operandText(e.X()) + " RESCALE " + cmp.Or(to.String(), "none")
	case e.X() == nil:
		return operandText(e)
	}
	const most = 4
	var operands []string
	for i, x := range e.Operands() {
		if i == most {
			operands = append(operands, ellipsis)
			break
		}
		operands = append(operands, operandText(x))
	}
	return strings.ToUpper(e.Func.String()) + "(" + strings.Join(operands, ", ") + ")"
}

// setExists sets the value of defined(): 1 if the collector has the metric, or a valid definition has the name, else 0.
func (c *checker) setExists(n *Node, name *syntax.Name) *Error {
	n.decided = true
	_, other, err := c.set.Resolve(name.Name)
	switch {
	case isUnknown(err):
	case err != nil:
		return c.metadataError(name, err)
	case other != nil:
		if _, fault := c.useDefinition(name, other); fault == nil {
			n.Value = 1
		} else if fault.Rule == RuleCycle || fault.Rule == RuleTooDeep {
			return fault
		}
	default:
		n.Value = 1
	}
	return nil
}

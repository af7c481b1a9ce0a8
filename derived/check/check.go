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

// maxHeight bounds the height of a typed tree, in nodes, the definitions it uses included. Trees
// are walked by recursion, and a Go stack overflow cannot be recovered from.
const maxHeight = 2 * syntax.MaxDepth

// maxChain bounds how many definitions that name each other in a circle are followed in a row.
const maxChain = syntax.MaxDepth

// MaxHistory bounds how many earlier samples a metric may need.
const MaxHistory = 8

// checker binds the definitions of a Set to its Catalog and derives their metadata.
type checker struct {
	set    *Set
	states []state // of each metric of the set
	metric *Metric // being checked
	chain  []*Metric
}

// state is how far the check of a definition has come.
type state uint8

const (
	unchecked state = iota
	checking
	checked
)

func newChecker(s *Set) *checker {
	return &checker{set: s, states: make([]state, len(s.metrics))}
}

// check gives m its tree or its error. Definitions that m uses are checked first.
func (c *checker) check(m *Metric) {
	state := &c.states[m.Index]
	if *state == checked {
		return
	}
	outer := c.metric
	c.metric = m
	*state = checking
	c.chain = append(c.chain, m)
	m.Tree, m.Err = c.expr(m.Definition.Expr)
	c.chain = c.chain[:len(c.chain)-1]
	*state = checked
	c.metric = outer
}

// firstError is the error to report of err and those in the other operands of the same operator: libpcp looks
// up all operands before it judges any operator, so one that is not there comes before a broken rule.
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

// expr returns the typed tree of e. The first rule broken ends it: operands come before the
// operator, left before right, and those that are not there before those that break a rule.
func (c *checker) expr(e syntax.Expr) (*Node, *Error) {
	var n *Node
	var err *Error
	switch e := e.(type) {
	case *syntax.Paren:
		return c.expr(e.X)
	case *syntax.Name:
		return c.name(e)
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

// complete is a node with what follows from its operands.
func (c *checker) complete(n *Node) (*Node, *Error) {
	window := n.window()
	for _, k := range n.Kids {
		n.height = max(n.height, k.height)
		n.overTime = n.overTime || k.overTime
		if !window { // its operand has a history of its own
			n.History = max(n.History, k.History)
			n.Adds = n.Adds || k.Adds
		}
		n.groupCounter = n.groupCounter || k.groupCounter && n.Sem == pdu.SemCounter
		if n.Key == nil && k.InDom == n.InDom {
			n.Key = k.Key
		}
	}
	n.height++
	if syntax.Is(n.Expr, syntax.Delta, syntax.Rate) {
		n.History++
		n.Adds = syntax.Is(n.Expr, syntax.Delta)
	}
	switch {
	case window && n.overTime:
		return nil, c.errorAt(n.Expr, RuleWindowInWindow, callText(n.Expr.(*syntax.Call)))
	case n.overTime && syntax.Is(n.Expr, syntax.Delta, syntax.Rate):
		return nil, c.errorAt(n.Expr, RuleWindowChange, callText(n.Expr.(*syntax.Call)))
	case n.height > maxHeight:
		return nil, c.errorAt(n.Expr, RuleTooDeep, "operand "+operandText(n.Expr))
	case n.History > MaxHistory:
		return nil, c.errorAt(n.Expr, RuleHistory, "operand "+operandText(n.Expr))
	}
	n.overTime = n.overTime || window
	return n, nil
}

// name resolves an operand: a metric of the collector, else another definition, by the name it was
// given or the one it is served under.
func (c *checker) name(e *syntax.Name) (*Node, *Error) {
	desc, other, err := c.set.Resolve(e.Name)
	switch {
	case isUnknown(err) && c.set.language.NoValue:
		return &Node{Expr: e, Desc: discrete(pdu.Type32), Empty: true, height: 1}, nil
	case isUnknown(err):
		return nil, c.errorAt(e, RuleUnknownOperand, "operand "+e.Name)
	case err != nil:
		return nil, c.metadataError(e, err)
	case other != nil:
		return c.useDefinition(e, other)
	}
	return &Node{Expr: e, Desc: desc, height: 1}, nil
}

func (c *checker) metadataError(e *syntax.Name, err error) *Error {
	fault := c.errorAt(e, RuleOperandMetadata, "operand "+e.Name)
	fault.Detail = pdu.CodeOf(err).Error()
	return fault
}

// Resolve finds a name among the collector's metrics and then among the definitions.
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

// isUnknown reports whether err says that there is no metric of a name.
func isUnknown(err error) bool { return errors.Is(err, pdu.ErrName) || errors.Is(err, pdu.ErrNonLeaf) }

// useDefinition is the use of another definition: its tree takes the place of the name.
func (c *checker) useDefinition(e *syntax.Name, other *Metric) (*Node, *Error) {
	switch state := c.states[other.Index]; {
	case state == checking:
		fault := c.errorAt(e, RuleCycle, "operand "+e.Name)
		fault.Detail = c.cycle(other)
		return nil, fault
	case state == unchecked && len(c.chain) >= maxChain:
		return nil, c.errorAt(e, RuleTooDeep, "operand "+e.Name)
	}
	c.check(other)
	if other.Err != nil {
		return nil, c.brokenOperand(e, other.Err)
	}
	n := *other.Tree
	n.Other = other.Tree
	return &n, nil
}

// brokenOperand is the use of a definition that has an error. What is told is where it began, not every
// definition on the way: there may be thousands.
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

// shownCycle is how many definitions of a cycle are named before the rest is left out.
const shownCycle = 8

// cycle spells out how the definitions being checked lead back to start.
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

// setNumber makes n, which is U32, the number as it is written.
func (n *Node) setNumber(e *syntax.Number) {
	n.Value, n.decided = uint64(e.Int), true
	if e.Double {
		n.Type, n.Value, n.decided = pdu.TypeDouble, column.FromDouble(e.Float), false
	}
}

// applyTags overrides the metadata of n by the tags of a function: first the metric named by meta, then the others.
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

// TypeNamed is the type of values that a word stands for, in any mix of cases; pdu.TypeUnknown if it is none.
func TypeNamed(word string) pdu.Type {
	for t := pdu.Type32; t <= pdu.TypeAggregateStatic; t++ {
		if strings.EqualFold(word, t.String()) {
			return t
		}
	}
	return pdu.TypeUnknown
}

// SemanticsNamed is the semantics that a word stands for, in any mix of cases; 0 if it is none.
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
		return pdu.NoInDom // the word "null"; the parser lets nothing else through
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

// call looks at the arguments of a function by their kinds, and then at its row.
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
		case syntax.Units, syntax.Pattern, syntax.Metadata, syntax.Interval: // for the whole function
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
	if f.class == Change && n.Kids[0].groupCounter {
		return nil, c.errorAt(e, RuleGroupCounter, callText(e))
	}
	if f.result != nil {
		f.result(n)
	}
	if e.By != nil {
		return n, c.setGroups(n, e)
	}
	return n, nil
}

// addOperand adds an operand to n, which has the metadata of the first one.
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

// metadataText is metadata in a message.
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

// callText is how messages name a function and its operands.
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

// setExists makes n 1 if there is such a metric, among the collector's or the definitions that are good,
// else 0; decided here and constant afterwards.
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

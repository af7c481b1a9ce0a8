package derived

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

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
	set     *Set
	results []result // of each metric of the set
	metric  *Metric  // being checked
	chain   []*Metric
	checked int // so many results there are
	nodes   arena[Node]
	kids    arena[*Node]
}

// result is what came of the check of a definition: a tree or an error.
type result struct {
	state state
	tree  *Node
	err   *Error
}

// state is how far the check of a definition has come.
type state uint8

const (
	unchecked state = iota
	checking
	checked
)

func newChecker(s *Set) *checker { return &checker{set: s, results: make([]result, len(s.metrics))} }

// check makes the result of m. Definitions that m uses are checked first.
func (c *checker) check(m *Metric) *result {
	r := &c.results[m.index]
	if r.state == checked {
		return r
	}
	outer := c.metric
	c.metric = m
	r.state = checking
	c.chain = append(c.chain, m)
	r.tree, r.err = c.expr(m.Definition.Expr)
	c.chain = c.chain[:len(c.chain)-1]
	r.state = checked
	c.checked++
	c.metric = outer
	return r
}

// alone checks m, hands its tree to use, and then forgets the tree: no other definition uses it.
func (c *checker) alone(m *Metric, use func(*result)) {
	before, nodes, kids := c.checked, c.nodes.used, c.kids.used
	r := c.check(m)
	use(r)
	r.tree = nil
	if c.checked == before+1 { // no tree of another definition was made on the way
		c.nodes.used, c.kids.used = nodes, kids
	}
}

// arena is the memory of trees. Most of them are needed no longer than it takes to compile them: what
// comes after a mark can be used again.
type arena[T any] struct {
	chunks [][]T
	used   mark
}

// mark is a place in an arena: so many chunks are full, and so many items of the next one are used.
type mark struct{ chunk, item int }

// take returns n items that are next to each other, not cleared.
func (a *arena[T]) take(n int) []T {
	const usual = 64 // items
	if len(a.chunks) > a.used.chunk && len(a.chunks[a.used.chunk]) < a.used.item+n {
		a.used = mark{chunk: a.used.chunk + 1}
	}
	if len(a.chunks) == a.used.chunk {
		a.chunks = append(a.chunks, make([]T, max(usual, n)))
	}
	from := a.used.item
	a.used.item += n
	return a.chunks[a.used.chunk][from:a.used.item:a.used.item]
}

// node returns a copy of n that lasts.
func (c *checker) node(n Node) *Node {
	made := &c.nodes.take(1)[0]
	*made = n
	return made
}

// operands returns a list that lasts.
func (c *checker) operands(kids ...*Node) []*Node {
	made := c.kids.take(len(kids))
	copy(made, kids)
	return made
}

// first is the error to report of err and those in the other operands of the same operator: libpcp looks
// up all operands before it judges any operator, so one that is not there comes before a broken rule.
func (c *checker) first(err *Error, others ...syntax.Expr) *Error {
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

func (c *checker) fail(at syntax.Expr, rule Rule, what string) *Error {
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
		return c.node(number(e)), nil
	case *syntax.Const:
		return c.constant(e)
	case *syntax.NoValue:
		return c.noValue(e)
	case *syntax.Unary:
		n, err = c.unary(e)
	case *syntax.Binary:
		n, err = c.binary(e)
	case *syntax.Ternary:
		return c.ternary(e)
	case *syntax.Call:
		n, err = c.call(e)
	case *syntax.Rescale:
		n, err = c.rescale(e)
	case *syntax.Match:
		n, err = c.pass(e, e.X)
	case *syntax.Select:
		n, err = c.pass(e, e.X)
	}
	if err != nil {
		return nil, err
	}
	return c.grown(n)
}

// grown completes a node that has operands.
func (c *checker) grown(n *Node) (*Node, *Error) {
	for _, k := range n.Kids {
		n.height = max(n.height, k.height)
		n.history = max(n.history, k.history)
		n.adds = n.adds || k.adds
	}
	n.height++
	if call, ok := n.Expr.(*syntax.Call); ok && (call.Func == syntax.Delta || call.Func == syntax.Rate) {
		n.history++
		n.adds = call.Func == syntax.Delta
	}
	switch {
	case n.height > maxHeight:
		return nil, c.fail(n.Expr, RuleTooDeep, "operand "+shown(n.Expr))
	case n.history > MaxHistory:
		return nil, c.fail(n.Expr, RuleHistory, "operand "+shown(n.Expr))
	}
	return n, nil
}

// name resolves an operand: a metric of the collector, else another definition, by the name it was
// given or the one it is served under.
func (c *checker) name(e *syntax.Name) (*Node, *Error) {
	desc, other, err := c.lookup(e.Name)
	switch {
	case unknown(err) && c.set.language.NoValue:
		return c.node(nothing(e)), nil
	case unknown(err):
		return nil, c.fail(e, RuleUnknownOperand, "operand "+e.Name)
	case err != nil:
		fault := c.fail(e, RuleOperandMetadata, "operand "+e.Name)
		fault.Detail = pdu.CodeOf(err).Error()
		return nil, fault
	case other != nil:
		return c.other(e, other)
	}
	return c.node(Node{
		Expr: e, Type: desc.Type, Sem: desc.Sem, Units: desc.Units, InDom: desc.InDom,
		operand: desc.PMID, height: 1,
	}), nil
}

// lookup finds a name among the collector's metrics and then among the definitions.
func (c *checker) lookup(name string) (pdu.Desc, *Metric, error) {
	err := error(pdu.ErrName)
	if _, own := c.set.own(name); !own {
		var desc pdu.Desc
		if desc, err = c.set.catalog.Desc(name); !unknown(err) {
			return desc, nil, err
		}
	}
	if other := c.set.definition(name); other != nil {
		return pdu.Desc{}, other, nil
	}
	return pdu.Desc{}, nil, err
}

// unknown reports whether err says that there is no metric of a name.
func unknown(err error) bool { return errors.Is(err, pdu.ErrName) || errors.Is(err, pdu.ErrNonLeaf) }

// other is the use of another definition: its tree takes the place of the name.
func (c *checker) other(e *syntax.Name, other *Metric) (*Node, *Error) {
	switch state := c.results[other.index].state; {
	case state == checking:
		fault := c.fail(e, RuleCycle, "operand "+e.Name)
		fault.Detail = c.cycle(other)
		return nil, fault
	case state == unchecked && len(c.chain) >= maxChain:
		return nil, c.fail(e, RuleTooDeep, "operand "+e.Name)
	}
	r := c.check(other)
	if r.err != nil {
		return nil, c.broken(e, r.err)
	}
	n := c.node(*r.tree)
	n.fromOther = true
	return n, nil
}

// broken is the use of a definition that has an error. What is told is where it began, not every
// definition on the way: there may be thousands.
func (c *checker) broken(e *syntax.Name, err *Error) *Error {
	fault := c.fail(e, RuleBrokenOperand, "operand "+e.Name)
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

func number(e *syntax.Number) Node {
	n := Node{
		Expr: e, Type: pdu.TypeU32, Sem: pdu.SemDiscrete, InDom: pdu.NoInDom,
		value: uint64(e.Int), decided: true, height: 1,
	}
	if e.Double {
		n.Type, n.value, n.decided = pdu.TypeDouble, math.Float64bits(e.Float), false
	}
	return n
}

// tagged overrides the metadata of n by tags: first the metric named by meta, then the others.
func (c *checker) tagged(n *Node, tags []syntax.Tag) *Error {
	for _, t := range tags {
		if t.Key != "meta" {
			continue
		}
		like, err := c.name(&syntax.Name{Name: t.Value})
		if err != nil {
			err.Span = t.Span
			return err
		}
		n.Type, n.Sem, n.Units, n.InDom = like.Type, like.Sem, like.Units, like.InDom
	}
	for _, t := range tags {
		switch t.Key {
		case "type":
			n.Type = typeNamed(t.Value)
		case "semantics":
			n.Sem = semanticsNamed(t.Value)
		case "units":
			n.Units, _, _ = pdu.ParseUnits(t.Value) // judged when the definition was parsed
		case "indom":
			n.InDom = indomNamed(t.Value)
		}
	}
	return nil
}

func typeNamed(s string) pdu.Type {
	for t := pdu.Type32; t <= pdu.TypeDouble; t++ {
		if strings.EqualFold(s, t.String()) {
			return t
		}
	}
	return pdu.TypeUnknown
}

func semanticsNamed(s string) pdu.Semantics {
	for _, sem := range []pdu.Semantics{pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete} {
		if strings.EqualFold(s, sem.String()) {
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

func (c *checker) constant(e *syntax.Const) (*Node, *Error) {
	n := c.node(number(e.Number))
	n.Expr = e
	if err := c.tagged(n, e.Tags); err != nil {
		return nil, err
	}
	if !n.Type.Numeric() {
		return nil, c.fail(e, RuleConstantType, shown(e))
	}
	if e.Number.Double {
		switch n.Type {
		case pdu.TypeDouble:
		case pdu.TypeFloat:
			n.value = fromFloat(float32(e.Number.Float))
		default:
			return nil, c.fail(e, RuleConstantType, shown(e))
		}
		return n, nil
	}
	switch n.Type { // 32-bit and 64-bit integers hold the digits' low bits as they are
	case pdu.TypeFloat:
		n.value = fromFloat(float32(e.Number.Int))
	case pdu.TypeDouble:
		n.value = math.Float64bits(float64(e.Number.Int))
	}
	return n, nil
}

func (c *checker) noValue(e *syntax.NoValue) (*Node, *Error) {
	n := c.node(nothing(e))
	return n, c.tagged(n, e.Tags)
}

// nothing is a novalue() without tags.
func nothing(e syntax.Expr) Node {
	return Node{Expr: e, Type: pdu.Type32, Sem: pdu.SemDiscrete, InDom: pdu.NoInDom, empty: true, height: 1}
}

func (c *checker) unary(e *syntax.Unary) (*Node, *Error) {
	x, err := c.expr(e.X)
	if err != nil {
		return nil, err
	}
	n := c.node(Node{Expr: e, Type: x.Type, Units: x.Units, InDom: x.InDom, Sem: pdu.SemInstant, Kids: c.operands(x)})
	if e.Op == syntax.Not {
		if !x.Type.Numeric() {
			return nil, c.fail(e, RuleNotType, "! "+shown(e.X))
		}
		n.Type, n.Units, n.decided = pdu.TypeU32, pdu.Units{}, x.decided
		n.value = truth(x.value == 0)
		if x.Sem == pdu.SemDiscrete {
			n.Sem = pdu.SemDiscrete
		}
		return n, nil
	}
	switch {
	case !x.Type.Numeric():
		return nil, c.fail(e, RuleNegationType, "- "+shown(e.X))
	case x.Type == pdu.TypeU32:
		n.Type = pdu.Type32
	case x.Type == pdu.TypeU64:
		n.Type = pdu.Type64
	}
	return n, nil
}

// pass is a function that leaves all metadata as it is: matchinst(), [instance].
func (c *checker) pass(e, operand syntax.Expr) (*Node, *Error) {
	x, err := c.expr(operand)
	if err != nil {
		return nil, err
	}
	return c.node(Node{Expr: e, Type: x.Type, Sem: x.Sem, Units: x.Units, InDom: x.InDom, Kids: c.operands(x)}), nil
}

func (c *checker) call(e *syntax.Call) (*Node, *Error) {
	switch e.Func {
	case syntax.Defined:
		return c.defined(e)
	case syntax.Anon:
		return anon(e), nil
	}
	n, err := c.pass(e, e.X)
	if err != nil {
		return nil, err
	}
	f := builtins[e.Func]
	if f.numeric && !n.Type.Numeric() {
		return nil, c.fail(e, RuleFunctionType, called(e))
	}
	if e.Func == syntax.Rate && n.Units.Time != 0 && n.Units.Time != 1 {
		return nil, c.fail(e, RuleRateDimension, called(e))
	}
	if e.Func == syntax.Rate && n.Units.Time == 1 {
		from := pdu.Units{Time: 1, TimeScale: n.Units.TimeScale}
		var ok bool
		if n.convert, ok = NewConverter(from, pdu.Units{Time: 1, TimeScale: pdu.TimeSec}); !ok {
			return nil, c.fail(e, RuleRateDimension, called(e))
		}
	}
	f.result(n)
	return n, nil
}

// called is how messages name a function: in capitals.
func called(e *syntax.Call) string {
	return strings.ToUpper(e.Func.String()) + "(" + shown(e.X) + ")"
}

// defined is 1 if there is such a metric, among the collector's or the definitions that are good,
// else 0; decided here and constant afterwards.
func (c *checker) defined(e *syntax.Call) (*Node, *Error) {
	n := c.node(Node{Expr: e, Type: pdu.TypeU32, Sem: pdu.SemDiscrete, InDom: pdu.NoInDom, decided: true})
	name := syntax.Unparen(e.X).(*syntax.Name)
	_, other, err := c.lookup(name.Name)
	switch {
	case unknown(err):
	case err != nil:
		fault := c.fail(name, RuleOperandMetadata, "operand "+name.Name)
		fault.Detail = pdu.CodeOf(err).Error()
		return nil, fault
	case other != nil:
		if _, fault := c.other(name, other); fault == nil {
			n.value = 1
		} else if fault.Rule == RuleCycle || fault.Rule == RuleTooDeep {
			return nil, fault
		}
	default:
		n.value = 1
	}
	return n, nil
}

// anon is a metric of the named type that never has a value.
func anon(e *syntax.Call) *Node {
	n := &Node{Expr: e, Sem: pdu.SemDiscrete, InDom: pdu.NoInDom, empty: true}
	n.Type = typeNamed(strings.TrimPrefix(syntax.Unparen(e.X).(*syntax.Name).Name, "PM_TYPE_"))
	return n
}

func (c *checker) rescale(e *syntax.Rescale) (*Node, *Error) {
	n, err := c.pass(e, e.X)
	if err != nil {
		return nil, err
	}
	to, _, _ := pdu.ParseUnits(e.Units) // judged when the definition was parsed
	what := shown(e.X) + " RESCALE " + cmp.Or(to.String(), "none")
	if !n.Type.Numeric() {
		return nil, c.fail(e, RuleFunctionType, what)
	}
	var ok bool
	if n.convert, ok = NewConverter(n.Units, to); !ok {
		return nil, c.fail(e, RuleRescaleDimension, what)
	}
	n.Units = to
	return n, nil
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

package derived

import (
	"fmt"
	"strings"

	"pmdaderived/derived/ere"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// stepOp is what a step does to the columns it takes.
type stepOp uint8

const (
	opOperand   stepOp = iota + 1 // ( -- values of a metric in the sample of the step's age )
	opConst                       // ( -- one number )
	opConstSet                    // ( -- the number for every instance of a domain )
	opNothing                     // ( -- no values )
	opConvert                     // ( a -- a as another numeric type )
	opScale                       // ( a -- a as DOUBLE, divided and multiplied )
	opRescale                     // ( a -- a in other units, same type )
	opArith                       // ( a b -- a+b … ), all of one type
	opCompare                     // ( a b -- a<b … as U32 ), both of type from
	opTruth                       // ( a -- 1 where a is not 0, else 0, as U32 )
	opBool                        // ( a b -- a&b … ), both truths
	opNot                         // ( a -- 1-a ), a truth
	opNegate                      // ( a -- -a )
	opAggregate                   // ( a -- sum of a … ), one value
	opCount                       // ( a -- number of values )
	opDelta                       // ( a b -- a minus b ), b one sample older
	opRate                        // ( a b -- a minus b per second )
	opScalar                      // ( a -- its first value )
	opSelect                      // ( a -- its value for one instance )
	opMatch                       // ( a -- its values for matching instances )
	opTernary                     // ( g a b -- a where g is not 0, else b )
)

//nolint:gochecknoglobals // a table
var stepNames = [...]string{
	opOperand: "operand", opConst: "const", opConstSet: "constset", opNothing: "nothing", opConvert: "convert",
	opScale: "scale", opRescale: "rescale", opArith: "arith", opCompare: "compare", opTruth: "truth", opBool: "bool",
	opNot: "not", opNegate: "negate", opAggregate: "aggregate", opCount: "count", opDelta: "delta", opRate: "rate",
	opScalar: "scalar", opSelect: "select", opMatch: "match", opTernary: "ternary",
}

// step computes one column from others. It is comparable: steps that are equal compute the same,
// so a program holds each once, whichever definitions it is for.
type step struct {
	op      stepOp
	set     bool      // the metadata gives the result an instance domain
	setA    bool      // likewise the first operand
	setB    bool      // likewise the second
	negate  bool      // of opMatch
	counter bool      // of opRate: the operand is a counter
	syntax  uint8     // syntax.Op of opArith, opCompare, opBool; syntax.Func of opAggregate
	age     uint16    // which sample it looks at, 0 the newest; of opAggregate, opCount: the oldest it must have
	typ     pdu.Type  // of the result
	from    pdu.Type  // of the operands
	a, b, c int32     // steps whose results it takes
	operand pdu.PMID  // of opOperand
	indom   pdu.InDom // of opConstSet, opSelect, opMatch
	value   uint64    // of opConst, opConstSet
	factor  Factor    // of opScale
	table   int32     // of opRescale: index of its converter; of opMatch: of its pattern
	text    string    // of opSelect: the instance
}

// program is the steps of all metrics of a Set. Every step comes after those that it takes from.
type program struct {
	steps      []step
	patterns   []*ere.Regexp
	converters []*Converter
}

// compiler turns typed trees into steps.
type compiler struct {
	program
	needs     []*Needs // of each step
	known     map[step]int32
	done      map[treeAt]int32
	patternOf map[string]int32
	unitsOf   map[[2]pdu.Units]int32
}

// treeAt is a subtree evaluated some samples ago.
type treeAt struct {
	node *Node
	age  uint16
}

// compile makes the program of all metrics that have a tree.
func compile(metrics []*Metric) *program {
	c := &compiler{
		known: make(map[step]int32), done: make(map[treeAt]int32),
		patternOf: make(map[string]int32), unitsOf: make(map[[2]pdu.Units]int32),
	}
	for _, m := range metrics {
		if m.Tree == nil {
			continue
		}
		m.root = c.tree(m.Tree, 0)
		m.needs = *c.needs[m.root]
		m.needs.History = m.Tree.history
	}
	return &c.program
}

// add appends a step unless the program has it already. A step over constants alone is computed now.
func (c *compiler) add(s step) int32 {
	if i, ok := c.known[s]; ok {
		return i
	}
	if v, ok := c.fold(&s); ok {
		i := c.add(step{op: opConst, typ: s.typ, value: v})
		c.known[s] = i
		return i
	}
	i := int32(len(c.steps))
	c.steps = append(c.steps, s)
	c.needs = append(c.needs, c.needsOf(&s))
	c.known[s] = i
	return i
}

// fold computes a step if all it takes are single numbers that never change.
func (c *compiler) fold(s *step) (uint64, bool) {
	switch s.op {
	case opConvert, opScale, opRescale, opTruth, opNot, opNegate:
		if c.steps[s.a].op != opConst {
			return 0, false
		}
	case opArith, opCompare, opBool:
		if c.steps[s.a].op != opConst || c.steps[s.b].op != opConst {
			return 0, false
		}
	default:
		return 0, false
	}
	out := []uint64{0}
	a, b := []uint64{c.steps[s.a].value}, []uint64{c.steps[s.b].value}
	c.number(s, out, a, b)
	return out[0], true
}

// tree returns the step that computes n, as it was age samples ago.
func (c *compiler) tree(n *Node, age uint16) int32 {
	key := treeAt{n, age}
	if i, ok := c.done[key]; ok {
		return i
	}
	i := c.node(n, age)
	c.done[key] = i
	return i
}

func (c *compiler) node(n *Node, age uint16) int32 {
	s := step{set: n.InDom != pdu.NoInDom, typ: n.Type, indom: n.InDom, age: age}
	if len(n.Kids) > 0 {
		s.setA, s.from = n.Kids[0].InDom != pdu.NoInDom, n.Kids[0].Type
	}
	if n.empty {
		return c.add(step{op: opNothing, typ: n.Type})
	}
	switch e := n.Expr.(type) {
	case *syntax.Name:
		return c.add(step{op: opOperand, typ: n.Type, set: s.set, operand: n.operand, age: age})
	case *syntax.Number, *syntax.Const:
		if s.set {
			return c.add(step{op: opConstSet, typ: n.Type, set: true, indom: n.InDom, value: n.value, age: age})
		}
		return c.add(step{op: opConst, typ: n.Type, value: n.value})
	case *syntax.Unary:
		a := c.tree(n.Kids[0], age)
		if e.Op == syntax.Not {
			return c.add(step{op: opNot, typ: n.Type, set: s.set, a: c.truth(a)})
		}
		return c.add(step{op: opNegate, typ: n.Type, set: s.set, a: a})
	case *syntax.Binary:
		return c.binary(e, n, age)
	case *syntax.Ternary:
		s.a, s.b, s.c = c.truth(c.tree(n.Kids[0], age)), c.tree(n.Kids[1], age), c.tree(n.Kids[2], age)
		s.op, s.age, s.indom, s.from = opTernary, 0, 0, 0
		return c.add(s)
	case *syntax.Rescale:
		a := c.tree(n.Kids[0], age)
		return c.add(step{op: opRescale, typ: n.Type, set: s.set, a: a, table: c.converter(n.Kids[0].Units, n.Units, n.convert)})
	case *syntax.Match:
		s.op, s.a, s.negate, s.table = opMatch, c.tree(n.Kids[0], age), e.Negate, c.pattern(e.Pattern)
		return c.add(s)
	case *syntax.Select:
		s.op, s.a, s.text = opSelect, c.tree(n.Kids[0], age), e.Instance
		return c.add(s)
	case *syntax.Call:
		return c.call(e, n, s)
	}
	panic(fmt.Sprintf("derived: no step for %T", n.Expr))
}

func (c *compiler) call(e *syntax.Call, n *Node, s step) int32 {
	if e.Func == syntax.Defined {
		return c.add(step{op: opConst, typ: n.Type, value: n.value})
	}
	x, age := n.Kids[0], s.age
	s.a = c.tree(x, age)
	switch e.Func {
	case syntax.Instant:
		return s.a
	case syntax.Count:
		return c.add(step{op: opCount, typ: n.Type, a: s.a, age: age + uint16(x.history)})
	case syntax.Scalar:
		return c.add(step{op: opScalar, typ: n.Type, a: s.a})
	case syntax.Delta:
		return c.add(step{op: opDelta, typ: n.Type, from: x.Type, set: s.set, age: age, a: s.a, b: c.tree(x, age+1)})
	case syntax.Rate:
		rate := c.add(step{
			op: opRate, typ: n.Type, from: x.Type, set: s.set, counter: x.Sem == pdu.SemCounter, age: age,
			a: s.a, b: c.tree(x, age+1),
		})
		if n.convert == nil {
			return rate
		}
		return c.scale(rate, n.convert.factor())
	}
	return c.add(step{op: opAggregate, typ: n.Type, from: x.Type, syntax: uint8(e.Func), a: s.a, age: age + uint16(x.history)})
}

// binary brings the operands to a common scale and type and then applies the operator.
func (c *compiler) binary(e *syntax.Binary, n *Node, age uint16) int32 {
	if len(n.Kids) == 0 { // decided by an operand that decides alone
		return c.add(step{op: opConst, typ: n.Type, value: n.value})
	}
	x, y := n.Kids[0], n.Kids[1]
	s := step{
		op: opArith, syntax: uint8(e.Op), typ: n.Type, set: n.InDom != pdu.NoInDom,
		setA: x.InDom != pdu.NoInDom, setB: y.InDom != pdu.NoInDom,
		a: c.tree(x, age), b: c.tree(y, age),
	}
	if boolean(e.Op) {
		s.op, s.a, s.b = opBool, c.truth(s.a), c.truth(s.b)
		return c.add(s)
	}
	s.from = n.Type
	if !arithmetic(e.Op) {
		s.op, s.from = opCompare, promoted(x.Type, y.Type)
		if n.Factors != nil {
			s.from = pdu.TypeDouble
		}
	}
	s.a = c.convert(s.a, s.from)
	s.b = c.convert(s.b, s.from)
	if n.Factors != nil {
		s.a, s.b = c.scale(s.a, n.Factors[0]), c.scale(s.b, n.Factors[1])
	}
	return c.add(s)
}

// convert brings a column of numbers to another type, unless its bits are the same in both.
func (c *compiler) convert(a int32, to pdu.Type) int32 {
	from := c.steps[a].typ
	if converters(from, to) == nil {
		return a
	}
	return c.add(step{op: opConvert, typ: to, from: from, set: c.steps[a].set, a: a})
}

func (c *compiler) scale(a int32, f Factor) int32 {
	if f.Trivial() {
		return a
	}
	return c.add(step{op: opScale, typ: pdu.TypeDouble, set: c.steps[a].set, a: a, factor: f})
}

func (c *compiler) truth(a int32) int32 {
	if op := c.steps[a].op; op == opCompare || op == opBool || op == opNot || op == opTruth {
		return a
	}
	return c.add(step{op: opTruth, typ: pdu.TypeU32, from: c.steps[a].typ, set: c.steps[a].set, a: a})
}

func (c *compiler) pattern(text string) int32 {
	if i, ok := c.patternOf[text]; ok {
		return i
	}
	re, err := ere.Compile(text)
	if err != nil {
		panic(fmt.Sprintf("derived: pattern %q was judged good when it was parsed: %v", text, err))
	}
	c.patterns = append(c.patterns, re)
	c.patternOf[text] = int32(len(c.patterns) - 1)
	return c.patternOf[text]
}

func (c *compiler) converter(from, to pdu.Units, conv *Converter) int32 {
	key := [2]pdu.Units{from, to}
	if i, ok := c.unitsOf[key]; ok {
		return i
	}
	c.converters = append(c.converters, conv)
	c.unitsOf[key] = int32(len(c.converters) - 1)
	return c.unitsOf[key]
}

// takes calls yield for the steps that s takes from.
func (s *step) takes(yield func(int32)) {
	switch s.op {
	case opOperand, opConst, opConstSet, opNothing:
	case opTernary:
		yield(s.a)
		yield(s.b)
		yield(s.c)
	case opArith, opCompare, opBool, opDelta, opRate:
		yield(s.a)
		yield(s.b)
	default:
		yield(s.a)
	}
}

// Disassemble lists the steps that compute a metric, one a line, operands before operators.
func (s *Set) Disassemble(m *Metric) string {
	if m.Err != nil {
		return ""
	}
	var b strings.Builder
	numbers := map[int32]int{}
	var down func(int32)
	down = func(i int32) {
		if _, ok := numbers[i]; ok {
			return
		}
		s.program.steps[i].takes(down)
		numbers[i] = len(numbers)
		fmt.Fprintf(&b, "%d\t%s\n", numbers[i], s.program.print(i, numbers))
	}
	down(m.root)
	return b.String()
}

func (p *program) print(i int32, numbers map[int32]int) string {
	s := &p.steps[i]
	words := []string{stepNames[s.op]}
	switch s.op {
	case opOperand:
		words = append(words, s.operand.String())
	case opConst:
		words = append(words, formatNumber(s.typ, s.value))
	case opConstSet:
		words = append(words, formatNumber(s.typ, s.value), s.indom.String())
	case opArith, opCompare, opBool:
		words = append(words, syntax.Op(s.syntax).String())
	case opAggregate:
		words = append(words, syntax.Func(s.syntax).String())
	case opScale:
		words = append(words, fmt.Sprintf("/%g *%g", s.factor.Divisor, s.factor.Multiplier))
	case opRescale:
		words = append(words, fmt.Sprintf("*%s /%s", p.converters[s.table].num, p.converters[s.table].den))
	case opSelect:
		words = append(words, fmt.Sprintf("%q", s.text))
	case opMatch:
		not := ""
		if s.negate {
			not = "!"
		}
		words = append(words, fmt.Sprintf("%s/%s/", not, p.patterns[s.table]))
	}
	s.takes(func(k int32) { words = append(words, fmt.Sprintf("%%%d", numbers[k])) })
	if s.age > 0 {
		words = append(words, fmt.Sprintf("@-%d", s.age))
	}
	words = append(words, "->", s.typ.String())
	if s.set {
		words = append(words, "set")
	}
	return strings.Join(words, " ")
}

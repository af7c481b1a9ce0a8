package derived

import (
	"fmt"
	"slices"

	"pmdaderived/derived/ere"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// compiler turns typed trees into steps.
type compiler struct {
	program   *program
	needs     []*Needs         // of each step
	users     []uint8          // how often each is taken from or is a metric; 2 stands for more
	known     map[step]int32   // where each step is
	trees     map[treeAt]int32 // of other definitions
	parts     map[treeAt]int32 // of the one that is compiled
	patternOf map[string]int32
	textOf    map[string]int32
	factorOf  map[Factor]int32
	unitsOf   map[[2]pdu.Units]int32
}

// treeAt is a tree as it was so many samples ago.
type treeAt struct {
	tree *Node
	age  uint8
}

// newCompiler makes a compiler for about n steps.
func newCompiler(n int) *compiler {
	return &compiler{
		program: &program{steps: make([]step, 0, n)},
		needs:   make([]*Needs, 0, n), users: make([]uint8, 0, n),
		known: make(map[step]int32, n), trees: make(map[treeAt]int32), parts: make(map[treeAt]int32),
		patternOf: make(map[string]int32), textOf: make(map[string]int32),
		factorOf: make(map[Factor]int32), unitsOf: make(map[[2]pdu.Units]int32),
	}
}

// metric adds the steps of a metric.
func (c *compiler) metric(m *Metric, tree *Node) {
	clear(c.parts) // the next tree may lie where this one does
	m.root = c.tree(tree, 0)
	m.needs = *c.needs[m.root]
	m.needs.History, m.needs.Adds = int(tree.history), tree.adds
	c.users[m.root] = many
}

// many is the users of a step whose result has to stay.
const many = 2

// finish gives the program away.
func (c *compiler) finish() *program {
	p := c.program
	p.steps = slices.Clone(p.steps)
	p.kept = make([]bool, len(p.steps))
	for i := range p.steps {
		s := &p.steps[i]
		p.kept[i] = c.users[i] >= many || s.op == opOperand || !s.set
	}
	return p
}

// add appends a step unless the program has it already. A step over constants alone is computed now.
func (c *compiler) add(s step) int32 {
	if i, ok := c.known[s]; ok {
		return i
	}
	if v, ok := c.fold(&s); ok {
		return c.add(step{op: opConst, typ: s.typ}.holding(v))
	}
	i := int32(len(c.program.steps))
	c.program.steps = append(c.program.steps, s)
	c.known[s] = i
	c.needs = append(c.needs, c.needsOf(&s))
	c.users = append(c.users, 0)
	uses := uint8(1)
	if s.op == opTernary && !s.setA && s.set {
		uses = many // the result of one is that of the other
	}
	s.takes(func(k int32) { c.users[k] = min(many, c.users[k]+uses) })
	return i
}

// fold computes a step if all it takes are single numbers that never change. What computes numbers from numbers is
// from opConvert to opEach.
func (c *compiler) fold(s *step) (uint64, bool) {
	two := s.op == opArith || s.op == opCompare || s.op == opBool
	steps := c.program.steps
	switch {
	case s.op < opConvert, s.op > opEach, steps[s.a].op != opConst, two && steps[s.b].op != opConst:
		return 0, false
	}
	out, a := []uint64{0}, []uint64{steps[s.a].value()}
	if two {
		s.binary()(out, a, []uint64{steps[s.b].value()})
	} else {
		c.program.unary(s, out, a)
	}
	return out[0], true
}

// tree returns the step that computes n, as it was age samples ago. What may be met again is remembered: the tree of
// another definition, and operands of delta() and rate() within each other, whose ages meet.
func (c *compiler) tree(n *Node, age uint8) int32 {
	if n.empty {
		return c.add(step{op: opNothing, typ: n.Type})
	}
	again, other := age > 0 && len(n.Kids) > 0, n.other != nil
	for n.other != nil {
		n, again = n.other, true
	}
	if !again {
		return c.node(n, age)
	}
	known := c.parts
	if other {
		known = c.trees
	}
	at, ok := known[treeAt{n, age}]
	if !ok {
		at = c.node(n, age)
		known[treeAt{n, age}] = at
	}
	return at
}

func (c *compiler) node(n *Node, age uint8) int32 {
	s := step{set: n.InDom != pdu.NoInDom, typ: n.Type}
	switch e := n.Expr.(type) {
	case *syntax.Name:
		s.op, s.id, s.age = opOperand, uint32(n.PMID), age
	case *syntax.Number:
		s.op = opConst
		s = s.holding(n.value)
	case *syntax.Unary:
		s.op, s.a = opNegate, c.tree(n.Kids[0], age)
		if e.Op == syntax.Not {
			s.op, s.a = opNot, c.truth(s.a)
		}
	case *syntax.Binary:
		return c.binary(e, n, age)
	case *syntax.Ternary:
		s.op, s.setA = opTernary, n.Kids[0].InDom != pdu.NoInDom
		s.a, s.b, s.c = c.truth(c.tree(n.Kids[0], age)), c.tree(n.Kids[1], age), c.tree(n.Kids[2], age)
	case *syntax.Select:
		s.op, s.a, s.b = opSelect, c.tree(n.Kids[0], age), entry(c.textOf, &c.program.texts, e.Instance, e.Instance)
		s.id, s.age = uint32(n.InDom), age
	case *syntax.Call:
		return c.call(e, n, s, age)
	default:
		panic(fmt.Sprintf("derived: no step for %T", n.Expr))
	}
	return c.add(s)
}

// call makes the step that a function's row names of s, which has the type of the result.
func (c *compiler) call(e *syntax.Call, n *Node, s step, age uint8) int32 {
	f := &builtins[e.Func]
	s.op = f.step
	if s.op == opConst {
		if s.set {
			s.op, s.id, s.age = opConstSet, uint32(n.InDom), age
		}
		return c.add(s.holding(n.value))
	}
	x := n.Kids[0]
	s.a = c.tree(x, age)
	switch s.op {
	case 0:
		return s.a
	case opEach:
		s.syntax, s.a = uint8(e.Func), c.convert(s.a, n.Type)
	case opAggregate:
		s.from, s.syntax, s.age = x.Type, uint8(e.Func), age+x.history
	case opCount:
		s.age = age + x.history
	case opRescale:
		s.b = entry(c.unitsOf, &c.program.converters, [2]pdu.Units{x.Units, n.Units}, n.convert)
	case opMatch:
		pattern := e.Literal()
		s.negate, s.b, s.id, s.age = pattern.Negate, c.pattern(pattern.Text), uint32(n.InDom), age
	case opDelta, opRate:
		s.age = age
		if len(c.needs[s.a].Operands) == 0 {
			s.op = opUnchanged
			break
		}
		s.typ, s.from = computed(s.typ), computed(x.Type)
		s.a, s.b = c.convert(s.a, s.from), c.convert(c.tree(x, age+1), s.from)
		s.counter = s.op == opRate && x.Sem == pdu.SemCounter
	default:
	}
	at := c.convert(c.add(s), n.Type)
	if s.op == opRate && n.convert != nil {
		factor, _ := n.convert.factor()
		return c.scale(at, factor)
	}
	return at
}

// binary brings the operands to a common scale and type and then applies the operator.
func (c *compiler) binary(e *syntax.Binary, n *Node, age uint8) int32 {
	if len(n.Kids) == 0 { // decided by an operand that decides alone
		return c.add(step{op: opConst, typ: n.Type}.holding(n.value))
	}
	x, y := n.Kids[0], n.Kids[1]
	s := step{
		op: opArith, syntax: uint8(e.Op), typ: n.Type, set: n.InDom != pdu.NoInDom,
		setA: x.InDom != pdu.NoInDom, setB: y.InDom != pdu.NoInDom,
		a: c.tree(x, age), b: c.tree(y, age),
	}
	if e.Op.Boolean() {
		s.op, s.a, s.b = opBool, c.truth(s.a), c.truth(s.b)
		return c.add(s)
	}
	common := n.Type
	if !e.Op.Arithmetic() {
		s.op, common = opCompare, promoted(x.Type, y.Type)
		if n.Factors != nil {
			common = pdu.TypeDouble
		}
	}
	s.from = computed(common)
	s.a = c.convert(c.convert(s.a, common), s.from)
	s.b = c.convert(c.convert(s.b, common), s.from)
	if n.Factors != nil {
		s.a, s.b = c.scale(s.a, n.Factors[0]), c.scale(s.b, n.Factors[1])
	}
	if s.op == opArith {
		s.typ = s.from
	}
	return c.convert(c.add(s), n.Type)
}

// computed is the type in which numbers of a type are computed.
func computed(t pdu.Type) pdu.Type {
	if t == pdu.TypeFloat {
		return pdu.TypeDouble
	}
	return t
}

// convert brings a column of numbers to another type, unless its bits are the same in both.
func (c *compiler) convert(a int32, to pdu.Type) int32 {
	from := c.program.steps[a].typ
	if converters(from, to) == nil {
		return a
	}
	return c.add(step{op: opConvert, typ: to, from: from, set: c.program.steps[a].set, a: a})
}

func (c *compiler) scale(a int32, f Factor) int32 {
	if f.Trivial() {
		return a
	}
	return c.add(step{op: opScale, typ: pdu.TypeDouble, set: c.program.steps[a].set, a: a, b: entry(c.factorOf, &c.program.factors, f, f)})
}

func (c *compiler) truth(a int32) int32 {
	if op := c.program.steps[a].op; op == opCompare || op == opBool || op == opNot || op == opTruth {
		return a
	}
	return c.add(step{op: opTruth, typ: pdu.TypeU32, from: c.program.steps[a].typ, set: c.program.steps[a].set, a: a})
}

func (c *compiler) pattern(text string) int32 {
	if i, ok := c.patternOf[text]; ok {
		return i
	}
	re, err := ere.Compile(text)
	if err != nil {
		panic(fmt.Sprintf("derived: pattern %q was judged good when it was parsed: %v", text, err))
	}
	return entry(c.patternOf, &c.program.patterns, text, re)
}

// entry returns where a list has the item of a key, and appends it if the key is new.
func entry[K comparable, T any](known map[K]int32, list *[]T, key K, item T) int32 {
	if i, ok := known[key]; ok {
		return i
	}
	i := int32(len(*list))
	*list = append(*list, item)
	known[key] = i
	return i
}

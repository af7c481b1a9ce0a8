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
	needs     []*Needs // of each step
	users     []uint8  // how often each is taken from or is a metric; 2 stands for more
	known     stepTable
	patternOf map[string]int32
	textOf    map[string]int32
	factorOf  map[Factor]int32
	unitsOf   map[[2]pdu.Units]int32
}

// newCompiler makes a compiler for about n steps.
func newCompiler(n int) *compiler {
	c := &compiler{
		program: &program{steps: make([]step, 0, n)},
		needs:   make([]*Needs, 0, n), users: make([]uint8, 0, n),
		patternOf: make(map[string]int32), textOf: make(map[string]int32),
		factorOf: make(map[Factor]int32), unitsOf: make(map[[2]pdu.Units]int32),
	}
	c.known.grow(n)
	return c
}

// metric adds the steps of a metric.
func (c *compiler) metric(m *Metric, tree *Node) {
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
		if s.op == opOperand {
			s.a = p.operands
			p.operands++
		}
		p.kept[i] = c.users[i] >= many || s.op == opOperand || !s.set
	}
	return p
}

// add appends a step unless the program has it already. A step over constants alone is computed now.
func (c *compiler) add(s step) int32 {
	if i, ok := c.known.find(c.program.steps, &s); ok {
		return i
	}
	if v, ok := c.fold(&s); ok {
		return c.add(step{op: opConst, typ: s.typ}.holding(v))
	}
	i := int32(len(c.program.steps))
	c.program.steps = append(c.program.steps, s)
	c.known.add(c.program.steps)
	c.needs = append(c.needs, c.needsOf(&s))
	c.users = append(c.users, 0)
	uses := uint8(1)
	if s.op == opTernary && !s.setA && s.set {
		uses = many // the result of one is that of the other
	}
	s.takes(func(k int32) { c.users[k] = min(many, c.users[k]+uses) })
	return i
}

// fold computes a step if all it takes are single numbers that never change.
func (c *compiler) fold(s *step) (uint64, bool) {
	steps := c.program.steps
	switch s.op {
	case opConvert, opScale, opRescale, opTruth, opNot, opNegate:
		if steps[s.a].op != opConst {
			return 0, false
		}
	case opArith, opCompare, opBool:
		if steps[s.a].op != opConst || steps[s.b].op != opConst {
			return 0, false
		}
	default:
		return 0, false
	}
	out, a := []uint64{0}, []uint64{steps[s.a].value()}
	switch s.op {
	case opArith, opCompare, opBool:
		s.binary()(out, a, []uint64{steps[s.b].value()})
	default:
		c.program.unary(s, out, a)
	}
	return out[0], true
}

// tree returns the step that computes n, as it was age samples ago.
func (c *compiler) tree(n *Node, age uint8) int32 {
	known := &n.step
	if age > 0 {
		if n.older == nil {
			n.older = &olderSteps{}
		}
		known = &n.older[age-1]
	}
	if *known == 0 {
		*known = c.node(n, age) + 1
	}
	return *known - 1
}

func (c *compiler) node(n *Node, age uint8) int32 {
	s := step{set: n.InDom != pdu.NoInDom, typ: n.Type, id: uint32(n.InDom), age: age}
	if len(n.Kids) > 0 {
		s.setA, s.from = n.Kids[0].InDom != pdu.NoInDom, n.Kids[0].Type
	}
	if n.empty {
		return c.add(step{op: opNothing, typ: n.Type})
	}
	switch e := n.Expr.(type) {
	case *syntax.Name:
		return c.add(step{op: opOperand, typ: n.Type, set: s.set, id: uint32(n.operand), age: age})
	case *syntax.Number, *syntax.Const:
		if s.set {
			return c.add(step{op: opConstSet, typ: n.Type, set: true, id: s.id, age: age}.holding(n.value))
		}
		return c.add(step{op: opConst, typ: n.Type}.holding(n.value))
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
		s.op, s.age, s.id, s.from = opTernary, 0, 0, 0
		return c.add(s)
	case *syntax.Rescale:
		a := c.tree(n.Kids[0], age)
		return c.add(step{op: opRescale, typ: n.Type, set: s.set, a: a, b: c.converter(n.Kids[0].Units, n.Units, n.convert)})
	case *syntax.Match:
		s.op, s.a, s.negate, s.b = opMatch, c.tree(n.Kids[0], age), e.Negate, c.pattern(e.Pattern)
		return c.add(s)
	case *syntax.Select:
		s.op, s.a, s.b = opSelect, c.tree(n.Kids[0], age), entry(c.textOf, &c.program.texts, e.Instance, e.Instance)
		return c.add(s)
	case *syntax.Call:
		return c.call(e, n, s)
	}
	panic(fmt.Sprintf("derived: no step for %T", n.Expr))
}

func (c *compiler) call(e *syntax.Call, n *Node, s step) int32 {
	if e.Func == syntax.Defined {
		return c.add(step{op: opConst, typ: n.Type}.holding(n.value))
	}
	x, age := n.Kids[0], s.age
	s.a = c.tree(x, age)
	if (e.Func == syntax.Delta || e.Func == syntax.Rate) && len(c.needs[s.a].Operands) == 0 {
		return c.add(step{op: opUnchanged, typ: n.Type, set: s.set, age: age, a: s.a})
	}
	switch e.Func {
	case syntax.Instant:
		return s.a
	case syntax.Count:
		return c.add(step{op: opCount, typ: n.Type, a: s.a, age: age + x.history})
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
		factor, _ := n.convert.factor()
		return c.scale(rate, factor)
	}
	return c.add(step{op: opAggregate, typ: n.Type, from: x.Type, syntax: uint8(e.Func), a: s.a, age: age + x.history})
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

func (c *compiler) converter(from, to pdu.Units, conv *Converter) int32 {
	return entry(c.unitsOf, &c.program.converters, [2]pdu.Units{from, to}, conv)
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

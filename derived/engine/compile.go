package engine

import (
	"fmt"
	"slices"

	"pmdaderived/derived/check"
	"pmdaderived/derived/column"
	"pmdaderived/derived/group"
	"pmdaderived/derived/pattern"
	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
	"pmdaderived/pdu"
)

// compiler turns typed trees into steps.
type compiler struct {
	set     *Set
	program *program
	reads   []bool           // of each step: it is computed from a metric
	walked  []uint32         // of each step: the last walk of collectNeeds that met it
	walks   uint32           // of collectNeeds, so far
	needs   map[int32]*Needs // of the metrics, by the steps of their values

	file       string               // of the metric that is compiled now
	counted    map[string]int       // the part of MaxNeeds that each file has taken
	countedAll int                  // the sum of these
	refused    map[*check.Node]bool // the trees of metrics that are refused
	beyond     bool                 // the metric that is compiled now uses one of these, or a window beyond MaxNeeds

	known       map[step]int32   // the position of each step
	byTree      map[treeAt]int32 // the steps of trees with operands
	instancesOf map[treeAt]int32 // the steps that addInstances and addBuckets returned
	unit        unit             // of what is compiled now
	patternOf   map[string]int32
	textOf      map[string]int32
	factorOf    map[units.Factor]int32
	unitsOf     map[[2]pdu.Units]int32
	windowAt    map[windowOf]int32
}

// treeAt is a tree, computed from the sample of an age.
type treeAt struct {
	tree *check.Node
	age  uint8
	all  bool // of instancesOf: see addBuckets
	unit unit // that it is computed for
}

// unit says which instances of a set are the buckets of one histogram, as a function of buckets reads it. At a sample
// at which one of them has no value, or its counter went back, the others have none either: else sums over instances
// and over time would have some of the buckets of that sample, and not the others.
type unit struct {
	read   bool            // by a function of buckets; false: by others
	key    *check.GroupKey // nil: all instances are
	domain pdu.InDom       // the groups of key
	merged bool            // groups of key are one histogram together, each with instances of several histograms
	kept   bool            // a window keeps the values

	// outer is the key of the groups of merged groups, each of which is one histogram; nil: all groups are. They are in
	// outerDomain.
	outer       *check.GroupKey
	outerDomain pdu.InDom
}

// newCompiler returns a compiler with room for about n steps.
func newCompiler(s *Set, n int) *compiler {
	return &compiler{
		set: s, program: &program{steps: make([]step, 0, n)},
		counted: make(map[string]int), refused: make(map[*check.Node]bool),
		reads: make([]bool, 0, n), walked: make([]uint32, 0, n), needs: make(map[int32]*Needs),
		known: make(map[step]int32, n), byTree: make(map[treeAt]int32), instancesOf: make(map[treeAt]int32),
		patternOf: make(map[string]int32), textOf: make(map[string]int32),
		factorOf: make(map[units.Factor]int32), unitsOf: make(map[[2]pdu.Units]int32),
		windowAt: make(map[windowOf]int32),
	}
}

// addMetric adds the steps of a metric, and refuses it if the needs of its file, or of all files, would be too many.
func (c *compiler) addMetric(m *Metric) {
	c.file, c.beyond = m.Definition.File, false
	m.root = c.addTree(m.Tree, 0)
	var ok bool
	if m.needs, ok = c.collectNeeds(m.root, m.Tree); !ok {
		c.refused[m.Tree] = true
		m.Refuse(MaxNeeds, maxAllNeeds)
		return
	}
	c.needs[m.root] = &m.needs
}

// finishProgram returns the program. No steps can be added afterwards.
func (c *compiler) finishProgram() *program {
	p := c.program
	if n := len(p.steps); cap(p.steps) > n+n/8 { // the estimate was too high
		p.steps = slices.Clone(p.steps)
	}
	return p
}

// add appends a step, unless the program has it already, and returns its position. A step over constants is computed
// now, and becomes a constant.
func (c *compiler) add(s step) int32 {
	if i, ok := c.known[s]; ok {
		return i
	}
	if v, ok := c.foldConstants(&s); ok {
		return c.add(step{op: opConst, typ: s.typ}.withValue(v))
	}
	i := int32(len(c.program.steps))
	c.program.steps = append(c.program.steps, s)
	c.known[s] = i
	c.walked = append(c.walked, 0)
	reads := s.op == opOperand
	s.takes(func(k int32) { reads = reads || c.reads[k] })
	c.reads = append(c.reads, reads)
	return i
}

// foldConstants computes a step whose operands are all constants, and returns false for any other. The steps from
// opConvert to opEach compute numbers from numbers alone.
func (c *compiler) foldConstants(s *step) (uint64, bool) {
	two := s.op == opArith || s.op == opCompare || s.op == opBool || s.op == opPair
	steps := c.program.steps
	switch {
	case s.op < opConvert, s.op > opEach, steps[s.first].op != opConst, two && steps[s.second].op != opConst:
		return 0, false
	}
	out, a := []uint64{0}, []uint64{steps[s.first].value()}
	switch {
	case s.divides() && a[0]<<1 == 0 && steps[s.second].value()<<1 == 0: // 0 / 0 depends on the evaluation
		return 0, false
	case two:
		s.binary()(out, a, []uint64{steps[s.second].value()})
	default:
		c.program.unary(s, out, a)
	}
	return out[0], true
}

// addTree returns the step that computes n from the sample of an age. A tree with operands is compiled once for each
// age: definitions share trees, nested delta() and rate() ask for the same age on several ways, and addInstances for
// trees that are compiled already.
func (c *compiler) addTree(n *check.Node, age uint8) int32 {
	if n.Empty {
		return c.add(step{op: opNothing, typ: n.Type})
	}
	for n.Other != nil {
		n = n.Other
		c.beyond = c.beyond || c.refused[n]
	}
	if len(n.Kids) == 0 {
		return c.addNode(n, age)
	}
	key := treeAt{tree: n, age: age, unit: c.unit}
	at, ok := c.byTree[key]
	if !ok {
		at = c.addNode(n, age)
		c.byTree[key] = at
	}
	return at
}

// addNode adds the step of n after those of its operands.
func (c *compiler) addNode(n *check.Node, age uint8) int32 {
	s := step{set: n.InDom != pdu.NoInDom, typ: n.Type}
	switch e := n.Expr.(type) {
	case *syntax.Name:
		s.op, s.entry, s.age = opOperand, int32(n.PMID), age
	case *syntax.Number:
		s.op = opConst
		s = s.withValue(n.Value)
	case *syntax.Unary:
		if len(n.Kids) == 0 { // see check.Node.Fitted
			s.op = opConst
			s = s.withValue(n.Value)
			break
		}
		s.op, s.first = opNegate, c.addTree(n.Kids[0], age)
		if e.Op == syntax.Not {
			s.op, s.first = opNot, c.addTruth(s.first)
		}
	case *syntax.Binary:
		return c.addBinary(e, n, age)
	case *syntax.Ternary:
		s.op, s.setA = opTernary, n.Kids[0].InDom != pdu.NoInDom
		s.first = c.addPaired(n, 0, c.addTruth(c.addTree(n.Kids[0], age)), c.addTree, age)
		s.second = c.addPaired(n, 1, c.addTree(n.Kids[1], age), c.addTree, age)
		s.third = c.addPaired(n, 2, c.addTree(n.Kids[2], age), c.addTree, age)
	case *syntax.Select:
		s.op, s.first, s.entry = opSelect, c.addTree(n.Kids[0], age), c.addText(e.Instance)
		s.domain, s.age = n.InDom, age
	case *syntax.Call:
		return c.addCall(e, n, s, age)
	default:
		panic(fmt.Sprintf("derived: no step for %T", n.Expr))
	}
	return c.add(s)
}

// addCall adds the step that the row of a function names. s has the type of the result, and whether it is a set.
func (c *compiler) addCall(e *syntax.Call, n *check.Node, s step, age uint8) int32 {
	s.op = functions[e.Func].step
	if s.op == opConst {
		if s.set {
			s.op, s.domain, s.age = opConstSet, n.InDom, age
		}
		return c.add(s.withValue(n.Value))
	}
	if s.op == opNow {
		s.age = age
		return c.add(s)
	}
	x := n.Kids[0]
	if s.op == opWindow {
		s.entry = c.addWindow(e, n)
		return c.addSeconds(c.add(s), n)
	}
	switch of := (unit{read: true, key: n.Key, domain: n.InDom, kept: c.unit.kept}); {
	case s.op == opBuckets: // a bucket without a value must be noticed
		s.first = c.addConvert(c.addWhole(x, of, age), pdu.TypeDouble)
	case e.By != nil && c.unit.read:
		of.merged = true
		if k := c.unit.key; k != nil && !c.unit.merged && c.set.groupDomains[c.unit.domain].Of == n.InDom {
			of.outer, of.outerDomain = k, c.unit.domain
		}
		s.first = c.addWhole(x, of, age)
	default:
		s.first = c.addTree(x, age)
	}
	if number := e.Number(); number != nil {
		s.third = c.add(step{op: opConst, typ: pdu.TypeDouble}.withValue(column.FromDouble(number.Float)))
	}
	if e.By != nil {
		s.op, s.from, s.word, s.domain, s.age = opGroup, x.Type, uint8(e.Func), n.InDom, age
		s.second = c.addGroupKey(n.Key, n.InDom, age)
		return c.add(s)
	}
	switch s.op {
	case opSame:
		return s.first
	case opEach:
		s.word, s.first = uint8(e.Func), c.addConvert(s.first, n.Type)
	case opPair:
		s.word, s.typ = uint8(e.Func), computedType(n.Type)
		return c.addConvert(c.addPairs(n, s, 0, len(n.Kids), age), n.Type)
	case opDefault:
		y := n.Kids[1]
		s.second = c.addPaired(n, 1, c.addConvert(c.addTree(y, age), n.Type), c.addInstances, age)
		s.third, s.age = s.first, age
		if s.setB = y.InDom != pdu.NoInDom; s.set && !s.setB {
			s.third = c.addInstances(x, age)
		}
	case opTop:
		s.word = uint8(e.Func)
	case opAggregate:
		s.from, s.word, s.age = x.Type, uint8(e.Func), age+x.History
	case opBuckets:
		s.word, s.domain, s.age = uint8(e.Func), x.InDom, age
	case opCount:
		s.age = age + x.History
	case opRescale:
		s.entry = addEntry(c.unitsOf, &c.program.converters, [2]pdu.Units{x.Units, n.Units}, n.Converter)
	case opMatch:
		pattern := e.Literal()
		s.variant, s.entry, s.domain, s.age = pattern.Negate, c.addPattern(pattern.Text), n.InDom, age
		s.second = c.addKeys(n.Selecting, n.InDom, pdu.NoInDom, age)
	case opDelta, opRate:
		s.age = age
		if !c.reads[s.first] {
			s.op = opUnchanged
			break
		}
		s.typ, s.from = computedType(s.typ), computedType(x.Type)
		s.first, s.second = c.addConvert(s.first, s.from), c.addConvert(c.addTree(x, age+1), s.from)
		s.variant = x.Sem == pdu.SemCounter
		if c.unit.read && s.op == opDelta {
			s.word = 1 // see positive
		}
	case opIncrease:
		if x.Empty {
			return s.first
		}
		s.age, s.entry = age, int32(x.Metric().PMID)
		s.typ, s.from = computedType(s.typ), computedType(x.Type)
		s.first, s.second = c.addConvert(s.first, s.from), c.addConvert(c.addTree(x, age+1), s.from)
		switch of := c.unit; {
		case of.merged: // nobody knows which other instances were reset, too
			s.word = 1 // see positive
		case of.read && s.set:
			zero := step{op: opFromZero, typ: s.from, set: true, first: s.first, third: s.second}
			c.setUnit(&zero, of, age)
			s.second = c.add(zero)
		}
	default:
	}
	at := c.addConvert(c.add(s), n.Type)
	if s.op == opRate {
		return c.addSeconds(at, n)
	}
	return at
}

// addSeconds converts the rate of a time to seconds per second, if n has a conversion.
func (c *compiler) addSeconds(at int32, n *check.Node) int32 {
	if n.Converter == nil {
		return at
	}
	factor, _ := n.Converter.Factor()
	return c.addScale(at, factor)
}

// addBinary adds steps that convert the operands to a common scale and type, apply the operator, and convert to the
// type of the result.
func (c *compiler) addBinary(e *syntax.Binary, n *check.Node, age uint8) int32 {
	if len(n.Kids) == 0 { // its left operand has decided it
		return c.add(step{op: opConst, typ: n.Type}.withValue(n.Value))
	}
	x, y := n.Kids[0], n.Kids[1]
	s := step{
		op: opArith, word: uint8(e.Op), typ: n.Type, set: n.InDom != pdu.NoInDom,
		setA: x.InDom != pdu.NoInDom, setB: y.InDom != pdu.NoInDom,
	}
	if e.Op.Boolean() {
		s.op = opBool
		s.first = c.addPaired(n, 0, c.addTruth(c.addTree(x, age)), c.addTree, age)
		s.second = c.addPaired(n, 1, c.addTruth(c.addTree(y, age)), c.addTree, age)
		return c.add(s)
	}
	common := n.Type
	if !e.Op.Arithmetic() {
		s.op, common = opCompare, check.Promoted(x.Type, y.Type)
		if n.Factors != nil {
			common = pdu.TypeDouble
		}
	}
	s.from = computedType(common)
	s.first, s.second = c.addOperand(n, 0, common, age), c.addOperand(n, 1, common, age)
	if s.op == opArith {
		s.typ = s.from
	}
	return c.addConvert(c.add(s), n.Type)
}

// addPaired returns the step with the values of operand i of n for the instances of n. at is the step of the operand.
// Values of groups in another domain become those of the groups with the same names; values of groups of n's instances
// are spread over these. The instances are those of another operand, whose step tree returns.
func (c *compiler) addPaired(n *check.Node, i int, at int32, tree func(*check.Node, uint8) int32, age uint8) int32 {
	k := n.Kids[i]
	s := step{typ: c.program.steps[at].typ, set: true, first: at}
	switch c.set.checked.Pairing(n, k) {
	case check.PairByName:
		s.op, s.entry, s.domain = opRename, int32(k.InDom), n.InDom
	case check.PairWithRightGroups:
		s.op, s.domain, s.age = opSpread, k.InDom, age
		s.second = c.addGroupKey(k.Key, k.InDom, age)
		_, selects := n.Expr.(*syntax.Ternary)
		s.third = -1
		for _, k := range n.Kids {
			switch {
			case k.InDom == pdu.NoInDom || k.Empty || c.set.checked.Pairing(n, k) != check.PairByInstance:
			case s.third < 0:
				s.third = tree(k, age)
			case selects && i == 0: // a guard may select values of either operand
				s.third = c.addInstancesOf(ofEither, s.third, tree(k, age))
			}
		}
		if selects && k.Key.Over != nil { // the other operand does not matter where it is not selected
			s.third = c.addInstancesOf(ofKnown, s.third, tree(k.Key.Over, age))
		}
	default:
		return at
	}
	return c.add(s)
}

// addOperand returns the step of operand i of n, converted to the common type and scale in which n is computed.
func (c *compiler) addOperand(n *check.Node, i int, common pdu.Type, age uint8) int32 {
	at := c.addConvert(c.addConvert(c.addTree(n.Kids[i], age), common), computedType(common))
	if n.Factors != nil {
		at = c.addScale(at, n.Factors[i])
	}
	return c.addPaired(n, i, at, c.addTree, age)
}

// addPairs applies a function of two operands to several: to the result for the first half of them and the result for
// the second half, so that many operands do not make a long chain. s has everything but the operands.
func (c *compiler) addPairs(n *check.Node, s step, from, to int, age uint8) int32 {
	if to-from == 1 {
		return c.addOperand(n, from, n.Type, age)
	}
	half := (from + to) / 2
	s.first, s.second = c.addPairs(n, s, from, half, age), c.addPairs(n, s, half, to, age)
	s.setA, s.setB = c.program.steps[s.first].set, c.program.steps[s.second].set
	s.set = s.setA || s.setB
	return c.add(s)
}

// instancesOp returns the operation of a node whose instances are not those that its operands share, 0 for any other
// node.
func instancesOp(n *check.Node) stepOp {
	switch e := n.Expr.(type) {
	case *syntax.Select:
		return opSelect
	case *syntax.Call:
		if e.By != nil {
			return opGroup
		}
		if step := functions[e.Func].step; step == opMatch || step == opTop || step == opDefault || step == opWindow {
			return step
		}
	}
	return 0
}

// addWhole returns the step of a set without the values of histograms of which one lacks.
func (c *compiler) addWhole(n *check.Node, of unit, age uint8) int32 {
	s := step{op: opWhole, typ: n.Type, set: true}
	c.setUnit(&s, of, age)
	outer := c.unit
	c.unit = of
	s.first, s.third = c.addTree(n, age), c.addBuckets(n, age)
	if of.merged {
		s.word = uint8(evenly)
	}
	if n.Key == nil && (of.kept || n.History > 0) { // an instance that has gone lacks, too
		before := c.addBuckets(n, age+1)
		if of.merged && n.History > 0 { // an instance that is in both samples was reset; one that was born has a value
			whole := s
			both := c.addInstancesOf(ofBoth, s.third, before)
			whole.word, whole.third = uint8(merged), c.addInstancesOf(ofEither, both, s.first)
			s.first = c.add(whole)
		}
		s.third = c.addInstancesOf(ofEither, s.third, before)
	}
	c.unit = outer
	return c.add(s)
}

// setUnit sets the fields of s that say which instances are one histogram.
func (c *compiler) setUnit(s *step, of unit, age uint8) {
	s.second, s.entry = -1, -1
	if of.key != nil {
		s.domain, s.age, s.second = of.domain, age, c.addGroupKey(of.key, of.domain, age)
	}
	if of.outer != nil {
		s.entry = c.addGroupKey(of.outer, of.outerDomain, age)
	}
}

// addInstances returns a step whose instances are those for which n could have a value: those that its operands share,
// even if a rate has no earlier sample. Its numbers mean nothing. default(x, y) needs it, as y stands for missing
// values of x, and so do windows, as they have earlier values of these instances.
func (c *compiler) addInstances(n *check.Node, age uint8) int32 {
	return c.addInstancesIn(n, age, false)
}

// addBuckets returns a step whose instances are the buckets that n has: those of any of its operands, whether or not
// there is a value. Its numbers mean nothing. What selects instances selects buckets.
func (c *compiler) addBuckets(n *check.Node, age uint8) int32 { return c.addInstancesIn(n, age, true) }

// addInstancesIn is addInstances, or with all addBuckets.
func (c *compiler) addInstancesIn(n *check.Node, age uint8, all bool) int32 {
	of := n
	for of.Other != nil {
		of = of.Other
	}
	key := treeAt{of, age, all, c.unit}
	if at, ok := c.instancesOf[key]; ok {
		return at
	}
	var at int32
	ternary, _ := of.Expr.(*syntax.Ternary)
	switch op := instancesOp(of); {
	case op == opTop, op == opGroup, op == opWindow, op == opDefault && !all:
		at = c.addTree(n, age)
	case op == opMatch, op == opSelect:
		s := c.program.steps[c.addTree(n, age)]
		s.first = c.addInstancesIn(of.Kids[0], age, all)
		at = c.add(s)
	case all && ternary != nil && of.Kids[0].InDom == pdu.NoInDom: // those of the operand that is selected
		s := c.program.steps[c.addTree(n, age)]
		s.second = c.addPaired(of, 1, c.addBuckets(of.Kids[1], age), c.addBuckets, age)
		s.third = c.addPaired(of, 2, c.addBuckets(of.Kids[2], age), c.addBuckets, age)
		at = c.add(s)
	default:
		which := ofBoth
		if all {
			which = ofEither
		}
		if at = c.addOperandInstances(of, which, age, all); at < 0 {
			at = c.addTree(n, age)
		}
	}
	c.instancesOf[key] = at
	return at
}

// addOperandInstances returns a step with the instances that all operands of n share, or with those of any, -1 if all
// are singular. With all it is addBuckets of the operands, and a constant has no buckets beside other operands.
func (c *compiler) addOperandInstances(n *check.Node, which instancesOf, age uint8, all bool) int32 {
	at, tree := int32(-1), c.addInstances
	if all {
		tree = c.addBuckets
	}
	constant := func(at int32) bool { return all && c.program.steps[at].op == opConstSet }
	for i, k := range n.Kids {
		if k.InDom == pdu.NoInDom || k.Empty {
			continue
		}
		switch one := c.addPaired(n, i, tree(k, age), tree, age); {
		case at < 0 || constant(at):
			at = one
		case !constant(one):
			at = c.addInstancesOf(which, at, one)
		}
	}
	return at
}

// addInstancesOf adds a step with instances of two steps.
func (c *compiler) addInstancesOf(of instancesOf, a, b int32) int32 {
	return c.add(step{op: opInstances, word: uint8(of), typ: pdu.TypeU32, set: true, first: a, second: b})
}

// addGroupKey returns the step of the first of the keys of groups.
func (c *compiler) addGroupKey(k *check.GroupKey, groups pdu.InDom, age uint8) int32 {
	return c.addKeys(k.Keys, c.set.groupDomains[groups].Of, groups, age)
}

// addKeys returns the step of the first of the keys of a domain's instances.
func (c *compiler) addKeys(keys []check.Key, domain, groups pdu.InDom, age uint8) int32 {
	next := int32(-1)
	for _, k := range slices.Backward(keys) {
		s := c.keySource(k.From, domain, age)
		if k.Metric != nil {
			s.second = c.add(c.keySource(k.By, k.Metric.InDom, age))
			s = step{op: opKey, key: group.KeyLookup, first: c.addKeyMetric(k.Metric, age), entry: c.add(s), age: age}
		}
		s.second, s.third, s.variant = next, int32(groups), k.LabelName() == BoundLabelName
		next = c.add(s)
	}
	return next
}

// keySource returns the step of the keys of a domain's instances from a source.
func (c *compiler) keySource(k check.Source, domain pdu.InDom, age uint8) step {
	s := step{op: opKey, second: -1, domain: domain, age: age}
	switch literal, _ := k.Expr.(*syntax.Literal); {
	case k.Metric != nil:
		s.key, s.first = group.KeyMetric, c.addKeyMetric(k.Metric, age)
	case k.Of.Count > 0:
		s.key, s.entry = group.KeyGroup, int32(k.Of.At<<keyBits+k.Of.Count)
	case literal == nil:
		s.key = group.KeyName
	case literal.Kind == syntax.LabelName:
		s.key, s.entry = group.KeyLabel, c.addText(literal.Text)
	default:
		s.key, s.entry = group.KeyPattern, c.addPattern(literal.Text)
	}
	return s
}

// addKeyMetric returns the step of a metric whose values are keys.
func (c *compiler) addKeyMetric(n *check.Node, age uint8) int32 {
	outer := c.unit
	c.unit = unit{}
	at := c.addTree(n, age)
	c.unit = outer
	return at
}

// computedType returns the type in which numbers of a type are computed: FLOAT is computed in DOUBLE.
func computedType(t pdu.Type) pdu.Type {
	if t == pdu.TypeFloat {
		return pdu.TypeDouble
	}
	return t
}

// addConvert adds a step that converts numbers to another type, unless their bits are the same in both.
func (c *compiler) addConvert(a int32, to pdu.Type) int32 {
	from := c.program.steps[a].typ
	if conversion(from, to) == nil {
		return a
	}
	return c.add(step{op: opConvert, typ: to, from: from, set: c.program.steps[a].set, first: a})
}

// addScale adds a step that applies a factor, unless that changes nothing.
func (c *compiler) addScale(a int32, f units.Factor) int32 {
	if f.Trivial() {
		return a
	}
	s := step{op: opScale, typ: pdu.TypeDouble, set: c.program.steps[a].set, first: a}
	s.entry = addEntry(c.factorOf, &c.program.factors, f, f)
	return c.add(s)
}

// addTruth adds a step that makes numbers truth values, unless they are.
func (c *compiler) addTruth(a int32) int32 {
	if op := c.program.steps[a].op; op == opCompare || op == opBool || op == opNot || op == opTruth {
		return a
	}
	return c.add(step{op: opTruth, typ: pdu.TypeU32, from: c.program.steps[a].typ, set: c.program.steps[a].set, first: a})
}

// addPattern returns the entry of a pattern.
func (c *compiler) addPattern(text string) int32 {
	if i, ok := c.patternOf[text]; ok {
		return i
	}
	re, err := pattern.Compile(text)
	if err != nil {
		panic(fmt.Sprintf("derived: pattern %q was judged good when it was parsed: %v", text, err))
	}
	return addEntry(c.patternOf, &c.program.patterns, text, re)
}

// addText returns the entry of a text.
func (c *compiler) addText(text string) int32 {
	return addEntry(c.textOf, &c.program.texts, text, text)
}

// addEntry returns the position of the item of a key in a list, and appends the item if the key is new.
func addEntry[K comparable, T any](known map[K]int32, list *[]T, key K, item T) int32 {
	if i, ok := known[key]; ok {
		return i
	}
	i := int32(len(*list))
	*list = append(*list, item)
	known[key] = i
	return i
}

package check

import (
	"slices"

	"pmdaderived/derived/syntax"
	"pmdaderived/derived/units"
)

// Line is one node of a metric's tree, as explain prints it.
type Line struct {
	*Node
	Depth int    // operators between the node and the metric
	Last  bool   // no other operand of the same operator comes after it
	Title string // a leaf as it is written; an operator or function with its operands cut short
	Name  string // of the definition whose whole tree the node is, as the operator above has it; or ""

	// Conversion is applied to the node's values before the operator above takes them: to the scale of the other
	// operand, of rescale(), or of rate() over a time. Then Offset is added, which only temperatures have.
	Conversion units.Factor
	Offset     float64

	// Repeated says that an earlier line has the same operands; they are not repeated.
	Repeated bool
}

// Lines calls yield for every node of m's tree, operators before their operands. A metric with an error has no lines.
func (m *Metric) Lines(yield func(Line) bool) { m.lines(yield, false) }

// OwnLines is as Lines without the operands of nodes that are the whole trees of other definitions.
func (m *Metric) OwnLines(yield func(Line) bool) { m.lines(yield, true) }

func (m *Metric) lines(yield func(Line) bool, own bool) {
	if m.Err != nil {
		return
	}
	x := explainer{yield: yield, seen: make(map[*Node]bool), own: own}
	tree := m.Tree
	x.node(Line{Node: tree, Last: true, Name: nameOf(m.Definition.Expr, tree)})
}

// Leaf returns the first metric of the collector below n that has n's instances, nil if there is none.
func (n *Node) Leaf() *syntax.Name {
	if name, ok := n.Expr.(*syntax.Name); ok && len(n.Kids) == 0 {
		return name
	}
	for _, k := range n.Kids {
		if k.InDom == n.InDom {
			if name := k.Leaf(); name != nil {
				return name
			}
		}
	}
	return nil
}

type explainer struct {
	yield func(Line) bool
	seen  map[*Node]bool // first operands of the nodes shown: definitions share trees
	own   bool           // other definitions end the tree
}

// node yields a line and those below it, and reports whether more are wanted.
func (x *explainer) node(l Line) bool {
	l.Title = title(l.Expr)
	if len(l.Kids) > 0 {
		l.Repeated = x.seen[l.Kids[0]]
		x.seen[l.Kids[0]] = true
	}
	if !x.yield(l) {
		return false
	}
	if l.Repeated || x.own && l.Name != "" {
		return true
	}
	written := syntax.Operands(l.Expr)
	for i, k := range l.Kids {
		next := Line{
			Node: k, Depth: l.Depth + 1, Last: i == len(l.Kids)-1,
			Name: nameOf(written[i], k),
		}
		next.Conversion, next.Offset = l.conversion(i)
		if !x.node(next) {
			return false
		}
	}
	return true
}

// conversion returns the factor and the offset that n applies to the values of an operand.
func (n *Node) conversion(operand int) (f units.Factor, offset float64) {
	switch {
	case n.Factors != nil:
		return n.Factors[operand], 0
	case n.Converter != nil:
		return n.Converter.Factor()
	}
	return units.One, 0
}

// nameOf returns the name of a definition whose tree took the place of the written operand, "" if there is none.
func nameOf(written syntax.Expr, n *Node) string {
	if name, ok := syntax.Unparen(written).(*syntax.Name); ok && n.Other != nil {
		return name.Name
	}
	return ""
}

// ellipsis stands for the parts that a title leaves out.
const ellipsis = "..."

// title returns e with its operands cut short.
func title(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Unary:
		return e.Op.String() + short(e.X)
	case *syntax.Binary:
		return short(e.X) + " " + e.Op.String() + " " + short(e.Y)
	case *syntax.Ternary:
		return short(e.Guard) + " ? " + short(e.Then) + " : " + short(e.Else)
	case *syntax.Select:
		x := syntax.Expr(&syntax.Paren{X: &syntax.Name{Name: ellipsis}})
		if _, ok := e.X.(*syntax.Name); ok {
			x = e.X
		}
		return (&syntax.Select{X: x, Instance: e.Instance}).String()
	}
	return short(e)
}

// short returns an operand for the title of its operator: leaves as they are written, functions by name.
func short(e syntax.Expr) string {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Name, *syntax.Number:
		return e.String()
	case *syntax.Call:
		args := slices.Clone(e.Args)
		for i := range args {
			if e.Kind(i) == syntax.Operand {
				args[i] = &syntax.Name{Name: ellipsis}
			}
		}
		return (&syntax.Call{Func: e.Func, Args: args, By: e.By}).String()
	}
	return ellipsis
}

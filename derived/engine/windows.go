package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pmdaderived/derived/check"
	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Window is a function over time, whichever definitions it is for: what its operand is, and which of its values count. Whoever
// evaluates the set keeps these (package window), and says what they come to ([Evaluation.SetResults]). Immutable.
type Window struct {
	Func  syntax.Func
	N     float64       // the number among the arguments, if there is one
	Span  int64         // ticks; 0: all that came since its client has looked last
	Every time.Duration // between them
	Type  pdu.Type      // of the operand
	Desc  pdu.Desc      // of the result; its PMID is pdu.NoPMID
	Own   bool          // the instances are groups

	expr  syntax.Expr // the operand
	root  int32       // step that computes it
	needs Needs
}

// Needs tells what the operand must find in a sample; read-only.
func (w *Window) Needs() *Needs { return &w.needs }

// Fetches calls yield for what must be sampled together for m: what it is computed from itself, and what the operand of each of its
// windows is.
func (m *Metric) Fetches(yield func(*Needs) bool) {
	if !yield(&m.needs) {
		return
	}
	for _, i := range m.needs.Windows {
		if !yield(&m.set.program.windows[i].needs) {
			return
		}
	}
}

// Windows are the functions over time of all metrics, each once; read-only.
func (s *Set) Windows() []*Window { return s.program.windows }

// addWindow returns the entry of a window, which the program may have already.
func (c *compiler) addWindow(e *syntax.Call, n *check.Node) int32 {
	x := n.Kids[0]
	span, every := e.Window()
	w := &Window{
		Func: e.Func, Span: int64(span / every), Every: every, Type: x.Type, Desc: n.Desc, expr: e.X(), root: c.addTree(x, 0),
	}
	if number := e.Number(); number != nil {
		w.N = number.Float
	}
	at := slices.IndexFunc(c.program.windows, func(known *Window) bool {
		return known.root == w.root && known.Func == w.Func && known.N == w.N && known.Span == w.Span && known.Every == w.Every
	})
	if at >= 0 {
		return int32(at)
	}
	w.Desc.PMID = pdu.NoPMID
	_, w.Own = c.set.groupDomains[n.InDom]
	w.needs = c.collectNeeds(w.root, x)
	c.users[w.root] = many
	c.program.windows = append(c.program.windows, w)
	return int32(len(c.program.windows) - 1)
}

// Key is the same for windows of two sets that have the same values: those of one of them can go on as those of the other.
func (s *Set) Key(w *Window) string {
	var b strings.Builder
	fmt.Fprint(&b, w.Func, w.N, w.Span, w.Every, w.Type, w.Desc, w.Own, s.checked.Language().NoValue)
	seen := make(map[string]bool)
	for next := []syntax.Expr{w.expr}; len(next) > 0; {
		e := next[len(next)-1]
		next = next[:len(next)-1]
		fmt.Fprintf(&b, "\n%s", e)
		for name := range (&check.Definition{Expr: e}).Names {
			if seen[name] {
				continue
			}
			seen[name] = true
			desc, other, err := s.checked.Resolve(name)
			fmt.Fprintf(&b, "\n%s = %v %v", name, desc, err)
			if other != nil {
				next = append(next, other.Definition.Expr)
			}
		}
	}
	return b.String()
}

// Results are what windows come to. Immutable.
type Results struct {
	Values []*column.Vector // of each of [Set.Windows]

	// Names are those of groups, by their numbers in Values. Nil: they have the numbers that the evaluation gives them.
	Names map[pdu.InDom]*column.NameTable
}

// SetResults gives e what the windows come to, after a Reset and before any Value that is computed from them.
func (e *Evaluation) SetResults(r *Results) { e.results = r }

// Operand computes the operand of a window, as Value does.
func (e *Evaluation) Operand(w *Window) *column.Vector { return e.step(w.root) }

// windowValues is what a window comes to.
func (e *Evaluation) windowValues(s *step, at *slot) *column.Vector {
	if e.results == nil {
		return &column.Vector{Code: pdu.ErrAgain}
	}
	w, v := e.set.program.window(s), e.results.Values[s.entry]
	if !w.Own || v.Insts == nil {
		return v
	}
	d, groups := w.Desc.InDom, e.groupNumbers()
	names := e.results.Names[d]
	if names == nil {
		names = groups.Table(d)
	}
	if at.cell == nil {
		at.cell = &cell{}
	}
	m := at.cell.memory()
	m.grouping, m.match.at = groups.Renamed(d, m.grouping, names, v.Insts, m.match.at)
	m.bits = fit(m.bits, len(m.match.at))
	column.Gather(m.bits, v.Bits, m.match.at)
	return &column.Vector{Type: v.Type, Insts: m.grouping.Insts, Bits: m.bits}
}

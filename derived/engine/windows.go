package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pmdaderived/derived/check"
	"pmdaderived/derived/column"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// Window is a function over time, with its operand and the ticks that it covers. The operand of latch() is the sum of
// its conditions, see addConditions. Definitions with the same function
// share it. The values of its operand over time are kept by the evaluator of the set (package window), which passes the
// results to [Evaluation.SetResults]. Immutable.
type Window struct {
	Func    syntax.Func
	Number  float64       // the number among the arguments, if there is one
	Span    int64         // in ticks; 0: since the client's last fetch
	Every   time.Duration // the time between two ticks
	Type    pdu.Type      // of the operand
	Desc    pdu.Desc      // of the result; its PMID is pdu.NoPMID
	Grouped bool          // the instances are groups

	// Histograms says which instances are the buckets of one histogram, see unit. "": no function of buckets reads it.
	Histograms string

	operands  []syntax.Expr // as they are written, and the key of histograms
	root      int32         // the step of the operand
	instances int32         // the step that Instances needs
	needs     Needs
}

// PerClient reports whether the window begins at the client's last fetch.
func (w *Window) PerClient() bool { return w.Span == 0 }

// Needs returns what the operand needs of a sample; read-only.
func (w *Window) Needs() *Needs { return &w.needs }

// Fetches calls yield for each list of needs that must be sampled together for m: its own, and that of the operand of
// each window.
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

// Windows returns the functions over time of all metrics, each once; read-only.
func (s *Set) Windows() []*Window { return s.program.windows }

// addWindow returns the position of a window among those of the program, and adds it if it is new.
func (c *compiler) addWindow(e *syntax.Call, n *check.Node) int32 {
	x := n.Kids[0]
	span, every := e.Window()
	w := &Window{Func: e.Func, Span: int64(span / every), Every: every, Desc: n.Desc, operands: slices.Clip(e.Operands())}
	of := c.unit
	c.unit = unit{}
	switch {
	case e.Func == syntax.Latch:
		x = bothConditions(n)
		w.root = c.addConditions(x)
	case of.read && x.InDom != pdu.NoInDom:
		kept := of
		kept.kept = true
		w.root, w.Histograms = c.addWhole(x, kept, 0), "histograms"
		if of.key != nil {
			w.Histograms = fmt.Sprint(of.key.By, of.merged)
			w.addKeys(of.key)
		}
		if of.outer != nil {
			w.Histograms += of.outer.By.String()
			w.addKeys(of.outer)
		}
	default:
		w.root = c.addTree(x, 0)
	}
	w.Type = x.Type
	switch w.instances = w.root; {
	case x.InDom == pdu.NoInDom:
	case e.Func == syntax.Latch: // a window in one condition may have no value of an instance for a time
		if at := c.addOperandInstances(x, ofEither, 0, false); at >= 0 {
			w.instances = at
		}
	default:
		w.instances = c.addInstances(x, 0)
	}
	c.unit = of
	if number := e.Number(); number != nil {
		w.Number = number.Float
	}
	same := windowOf{w.root, w.Func, w.Number, w.Span, w.Every}
	if at, ok := c.windowAt[same]; ok {
		return at
	}
	w.Desc.PMID = pdu.NoPMID
	_, w.Grouped = c.set.groupDomains[n.InDom]
	var ok bool
	w.needs, ok = c.collectNeeds(w.root, x)
	c.beyond = !ok
	if !w.Grouped && n.InDom != pdu.NoInDom { // to notice that a number has become another instance
		w.needs.Names = distinct(append(w.needs.Names, n.InDom), cmp.Compare)
	}
	at := addEntry(c.windowAt, &c.program.windows, same, w)
	if !ok { // a metric of another file may have it
		delete(c.windowAt, same)
	}
	return at
}

// addKeys makes keys a part of what the window computes.
func (w *Window) addKeys(k *check.GroupKey) {
	for _, key := range k.Keys {
		w.operands = append(w.operands, key.Metrics()...)
	}
}

// windowOf is what windows that are shared have in common.
type windowOf struct {
	root     int32
	function syntax.Func
	number   float64
	span     int64
	interval time.Duration
}

// bothConditions returns a node over the two conditions of latch(), paired as the operator || pairs them.
func bothConditions(latch *check.Node) *check.Node {
	on, off := latch.Kids[0], latch.Kids[1]
	return &check.Node{
		Expr: &syntax.Binary{Op: syntax.Or}, Desc: latch.Desc, Key: latch.Key, Kids: latch.Kids,
		History: max(on.History, off.History), HasDelta: on.HasDelta || off.HasDelta,
	}
}

// addConditions adds the steps of the two conditions of latch(), on + on + off. The sum is 0 if neither is true, 1 if
// only off is, and more if on is.
func (c *compiler) addConditions(n *check.Node) int32 {
	s := step{op: opArith, word: uint8(syntax.Add), typ: pdu.TypeU32, from: pdu.TypeU32}
	on := c.addPaired(n, 0, c.addTruth(c.addTree(n.Kids[0], 0)), c.addTree, 0)
	off := c.addPaired(n, 1, c.addTruth(c.addTree(n.Kids[1], 0)), c.addTree, 0)
	add := func(a, b int32) int32 {
		s.first, s.second, s.setA, s.setB = a, b, c.program.steps[a].set, c.program.steps[b].set
		s.set = s.setA || s.setB
		return c.add(s)
	}
	return add(on, add(on, off))
}

// Results has the current result of each window. Immutable.
type Results struct {
	Values []*column.Vector // of each of [Set.Windows]

	// Names has, for each of Values that has groups, their names by the numbers there. Nil: they have the numbers of the
	// evaluation.
	Names []*column.NameTable
}

// SetResults gives e the results of windows. It is called after a Reset, and before the Value of any metric that needs
// them.
func (e *Evaluation) SetResults(r *Results) { e.windows = r }

// NewWindowEvaluation returns an evaluation for the operands of windows. Those of latch() need the results of others.
func (s *Set) NewWindowEvaluation() *Evaluation {
	e := s.NewEvaluation()
	e.inWindow = true
	return e
}

// Operand returns the values of the operand of a window, as Value does for a metric.
func (e *Evaluation) Operand(w *Window) *column.Vector { return e.step(w.root) }

// Instances returns the instances for which the operand of a window could have a value: those that its own operands
// share. Of latch() it returns those of either condition. Nil: it is singular, or they are unknown.
func (e *Evaluation) Instances(w *Window) *column.InstSet { return e.step(w.instances).Insts }

// windowValues returns the result of a window. Groups get the numbers that they have in e.
func (e *Evaluation) windowValues(s *step, at *result) *column.Vector {
	if e.windows == nil {
		return &column.Vector{Code: pdu.ErrAgain}
	}
	w, v := e.set.program.window(s), e.windows.Values[s.entry]
	if !w.Grouped || v.Insts == nil {
		return v
	}
	d, groups := w.Desc.InDom, e.groupNumbers()
	names := e.windows.Names[s.entry]
	if names == nil {
		names = groups.Table(d)
	}
	if at.cell == nil {
		at.cell = &cell{}
	}
	c, m := at.cell, at.cell.memory()
	m.grouping, m.match.at = groups.Renamed(d, m.grouping, names, v.Insts, m.match.at)
	c.bits = fit(c.bits, len(m.match.at))
	column.Gather(c.bits, v.Bits, m.match.at)
	return &column.Vector{Type: v.Type, Insts: m.grouping.Insts, Bits: c.bits, Incomplete: v.Incomplete}
}

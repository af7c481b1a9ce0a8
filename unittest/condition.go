package unittest

import (
	"fmt"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
)

// Condition is what stands before the ? of an expression, with what it was in the tests of its definition.
type Condition struct {
	Definition  *derived.Definition
	Offset      int // of the condition in the definition's text, in bytes
	True, False bool
}

// String says what no test has shown, "" if all has been seen.
func (c *Condition) String() string {
	switch {
	case !c.True && !c.False:
		return "has no value in any test"
	case !c.True:
		return "is true in no test"
	case !c.False:
		return "is false in no test"
	}
	return ""
}

// watched is a condition as a definition of its own.
type watched struct {
	*Condition
	guard *derived.Definition
}

// conditions finds the conditions of definitions.
func conditions(defs []*derived.Definition) map[string][]watched {
	found := map[string][]watched{}
	for _, d := range defs {
		syntax.Walk(d.Expr, func(e syntax.Expr) bool {
			if t, ok := e.(*syntax.Ternary); ok {
				at := len(found[d.Name])
				found[d.Name] = append(found[d.Name], watched{
					&Condition{Definition: d, Offset: t.Guard.Span().Start},
					&derived.Definition{Name: fmt.Sprintf("(%s %d)", d.Name, at), Text: d.Text, Expr: t.Guard}, // no other has such a name
				})
			}
			return true
		})
	}
	return found
}

// Conditions are those of a definition, as far as the tests that were run have shown them, from left to right.
func (r *Runner) Conditions(name string) []*Condition {
	all := make([]*Condition, len(r.conditions[name]))
	for i, w := range r.conditions[name] {
		all[i] = w.Condition
	}
	return all
}

// see notes what a condition was in a sample.
func (w *watched) see(set *derived.Set, eval *derived.Evaluation) {
	m, ok := set.Lookup(w.guard.Name)
	if !ok || m.Err != nil || w.True && w.False {
		return
	}
	v := eval.Value(m)
	for _, b := range v.Bits {
		if v.Type.Float64(b) != 0 {
			w.True = true
		} else {
			w.False = true
		}
	}
}

//go:build pcp

package test

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"pmdaderived/derived"
	"pmdaderived/derived/syntax"
	"pmdaderived/pdu"
)

// expression is a random expression, in the form that the predicates below need.
type expression struct {
	text    string
	tree    syntax.Expr // nil: a syntax error
	problem string      // why our checker refuses it; "" if it does not
	catalog derived.CatalogMap
}

func newExpression(text string, catalog derived.CatalogMap) *expression {
	x := &expression{text: text, catalog: catalog}
	def, err := derived.Parse("x", text)
	if err != nil {
		return x
	}
	x.tree = def.Expr
	if m := (derived.Language{}).NewSet([]*derived.Definition{def}, catalog, "").Metrics()[0]; m.Err != nil {
		x.problem = m.Err.Error()
	}
	return x
}

// desc gives the metadata of a part of the expression.
func (x *expression) desc(e syntax.Expr) (pdu.Desc, bool) {
	m := derived.Language{}.NewSet([]*derived.Definition{{Name: "x", Text: x.text, Expr: e}}, x.catalog, "").Metrics()[0]
	return m.Desc, m.Err == nil
}

// has reports whether the predicate holds for a node of the tree.
func (x *expression) has(holds func(syntax.Expr) bool) bool {
	found := false
	if x.tree != nil {
		syntax.Walk(x.tree, func(e syntax.Expr) bool {
			found = found || holds(e)
			return !found
		})
	}
	return found
}

// size returns the number of nodes.
func (x *expression) size() int {
	n := 0
	x.has(func(syntax.Expr) bool { n++; return false })
	return n
}

// binary reports whether the predicate holds for a binary operator with good operands.
func (x *expression) binary(holds func(e *syntax.Binary, left, right pdu.Desc) bool) bool {
	return x.has(func(e syntax.Expr) bool {
		b, ok := e.(*syntax.Binary)
		if !ok {
			return false
		}
		left, okLeft := x.desc(b.X)
		right, okRight := x.desc(b.Y)
		return okLeft && okRight && holds(b, left, right)
	})
}

func constant(e syntax.Expr) bool { return syntax.NumberOf(e) != nil }

// axis is one dimension of both operands.
type axis struct {
	left, right           int // powers
	leftScale, rightScale int
	step                  float64 // bits in a step of scale, about
}

func (a axis) converted() bool { return a.left != 0 && a.right != 0 && a.leftScale != a.rightScale }

func axes(x, y pdu.Units) []axis {
	return []axis{
		{int(x.Space), int(y.Space), int(x.SpaceScale), int(y.SpaceScale), 10},
		{int(x.Time), int(y.Time), int(x.TimeScale), int(y.TimeScale), 10},
		{int(x.Count), int(y.Count), int(x.CountScale), int(y.CountScale), 3.33},
	}
}

func converted(x, y pdu.Units, also func(axis) bool) bool {
	return slices.ContainsFunc(axes(x, y), func(a axis) bool { return a.converted() && also(a) })
}

// factorBits returns the approximate number of bits by which the conversion multiplies or divides.
func factorBits(x, y pdu.Units) float64 {
	bits := 0.0
	for _, a := range axes(x, y) {
		if a.converted() {
			bits += a.step * math.Abs(float64(a.leftScale-a.rightScale))
		}
	}
	return bits
}

// decided reports whether a guard is known when the definition is bound, whatever its operands are.
func decided(e syntax.Expr) bool {
	switch e := syntax.Unparen(e).(type) {
	case *syntax.Number:
		return true
	case *syntax.Call:
		return e.Func == syntax.Const || e.Func == syntax.Defined
	case *syntax.Unary:
		return e.Op == syntax.Not && decided(e.X)
	case *syntax.Binary:
		return e.Op.Boolean() && (decided(e.X) || decided(e.Y))
	}
	return false
}

// patchy reports whether an expression may lack values, be in error, or lack instances of its domain.
func patchy(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Name:
			found = found || slices.Contains(sparse, e.Name)
		case *syntax.Call:
			found = found || syntax.Is(e, syntax.Delta, syntax.Rate, syntax.Match)
		case *syntax.Select:
			found = true
		}
		return true
	})
	return found
}

// plainNumber reports whether an expression is a number without metadata, with a minus perhaps.
func plainNumber(e syntax.Expr) bool {
	e = syntax.Unparen(e)
	if minus, ok := e.(*syntax.Unary); ok && minus.Op == syntax.Neg {
		e = syntax.Unparen(minus.X)
	}
	_, ok := e.(*syntax.Number)
	return ok
}

func (x *expression) ternary(holds func(*syntax.Ternary) bool) bool {
	return x.has(func(e syntax.Expr) bool {
		t, ok := e.(*syntax.Ternary)
		return ok && holds(t)
	})
}

// bareName matches the functions that libpcp 6.0.3 applies to a bare name only.
var bareName = regexp.MustCompile(`\b(avg|count|max|min|sum|delta|rate|instant|anon)\( *([A-Za-z][A-Za-z0-9_.]*)? *(.)?`)

// explanation is a wanted difference, and whether an expression might run into it.
type explanation struct {
	id  string
	may func(*expression) bool
}

// known returns the wanted differences that a random expression can run into, by their ids in package conformance. Each
// predicate reports whether the expression might.
var known = []explanation{
	{"Q-NOT-TYPE", func(x *expression) bool {
		return x.has(func(e syntax.Expr) bool {
			u, ok := e.(*syntax.Unary)
			if !ok || u.Op != syntax.Not {
				return false
			}
			d, good := x.desc(u.X)
			return good && (d.Type != pdu.TypeU32 || d.Sem == pdu.SemCounter || d.Units != pdu.Units{})
		})
	}},
	{"Q-REL-SEM", func(x *expression) bool {
		return x.binary(func(e *syntax.Binary, left, right pdu.Desc) bool {
			return !e.Op.Arithmetic() && (left.Sem == pdu.SemCounter || right.Sem == pdu.SemCounter)
		})
	}},
	{"Q-MUL-SEM", func(x *expression) bool {
		return x.binary(func(e *syntax.Binary, left, right pdu.Desc) bool {
			chosen, other := left, right // libpcp takes the semantics of the left one, unless that is a constant
			if constant(e.X) {
				chosen, other = right, left
			}
			return (e.Op == syntax.Mul || e.Op == syntax.Div) && chosen.Sem != pdu.SemCounter && other.Sem == pdu.SemCounter
		})
	}},
	{"Q-REL-SCALE", func(x *expression) bool {
		return x.binary(func(e *syntax.Binary, left, right pdu.Desc) bool {
			return e.Op.Relation() && converted(left.Units, right.Units, func(axis) bool { return true })
		})
	}},
	{"Q-REL-CONST", func(x *expression) bool {
		return x.binary(func(e *syntax.Binary, left, right pdu.Desc) bool {
			return e.Op.Relation() && (constant(e.X) || constant(e.Y)) &&
				left.Type != pdu.TypeU32 && right.Type != pdu.TypeU32
		})
	}},
	{"Q-CONST-LEFT", func(x *expression) bool {
		return x.binary(func(e *syntax.Binary, left, right pdu.Desc) bool {
			return e.Op.Arithmetic() && constant(e.X) && left.Units != pdu.Units{}
		})
	}},
	{"Q-SCALE-SIGN", func(x *expression) bool {
		return x.binary(func(e *syntax.Binary, left, right pdu.Desc) bool {
			return e.Op.Arithmetic() && converted(left.Units, right.Units, func(a axis) bool { return a.left*a.right < 0 })
		})
	}},
	{"Q-SCALE-POWER", func(x *expression) bool {
		return x.binary(func(e *syntax.Binary, left, right pdu.Desc) bool {
			return e.Op.Arithmetic() && converted(left.Units, right.Units, func(a axis) bool {
				return max(a.left, -a.left, a.right, -a.right) > 1
			})
		})
	}},
	{"Q-SCALE-OVERFLOW", func(x *expression) bool {
		return x.binary(func(e *syntax.Binary, left, right pdu.Desc) bool {
			return e.Op.Arithmetic() && factorBits(left.Units, right.Units) > 30
		}) || x.has(func(e syntax.Expr) bool {
			if !syntax.Is(e, syntax.Rescale) {
				return false
			}
			r := e.(*syntax.Call)
			d, good := x.desc(r.X())
			to, _, err := pdu.ParseUnits(r.Literal().Text)
			_, plain := syntax.Unparen(r.X()).(*syntax.Name)
			huge := !plain && (d.Type == pdu.Type64 || d.Type == pdu.TypeU64) // the value may be near the limit
			return good && err == nil && (factorBits(d.Units, to) > 30 || huge)
		})
	}},
	{"Q-DIM-RANGE", func(x *expression) bool { return strings.Contains(x.problem, derived.RuleDimensionRange.String()) }},
	{"Q-TERN-GUARD", func(x *expression) bool {
		return strings.Contains(x.problem, " ? ") && strings.Contains(x.problem, derived.RuleTernaryGuardInDom.String())
	}},
	{"Q-TERN-POS", func(x *expression) bool {
		return x.ternary(func(t *syntax.Ternary) bool { return patchy(t) })
	}},
	{"Q-TERN-BOTH", func(x *expression) bool {
		return x.ternary(func(t *syntax.Ternary) bool { return patchy(t.Then) || patchy(t.Else) })
	}},
	{"Q-TERN-LAZY", func(x *expression) bool {
		return x.ternary(func(t *syntax.Ternary) bool { return decided(t.Guard) }) || x.has(func(e syntax.Expr) bool {
			b, ok := e.(*syntax.Binary)
			return ok && b.Op.Boolean() && decided(b.X)
		})
	}},
	{"Q-AGGR-EMPTY", func(x *expression) bool {
		return x.has(func(e syntax.Expr) bool {
			return syntax.Is(e, syntax.Max, syntax.Min, syntax.Avg) && patchy(e)
		})
	}},
	{"numbers that fit", func(x *expression) bool {
		return x.ternary(func(t *syntax.Ternary) bool { return plainNumber(t.Then) != plainNumber(t.Else) })
	}},
	{"avg", func(x *expression) bool {
		return x.has(func(e syntax.Expr) bool {
			if !syntax.Is(e, syntax.Avg) {
				return false
			}
			d, good := x.desc(e.(*syntax.Call).X())
			return good && d.InDom != pdu.NoInDom
		})
	}},
	{"Q-7X", func(x *expression) bool { return x.callsExpression("delta rate instant") }},
	{"expressions in aggregates", func(x *expression) bool { return x.callsExpression("avg count max min sum") }},

	// These texts crash libpcp, or corrupt its memory: libpcp is not asked.
	{"Q-SCALAR-EMPTY", func(x *expression) bool {
		return x.has(func(e syntax.Expr) bool {
			return syntax.Is(e, syntax.Scalar) && patchy(e)
		})
	}},
	{"Q-INST-PAREN", func(x *expression) bool {
		return x.has(func(e syntax.Expr) bool {
			s, ok := e.(*syntax.Select)
			if !ok {
				return false
			}
			_, paren := s.X.(*syntax.Paren)
			return paren
		})
	}},
	{"Q-STRING", func(x *expression) bool {
		return x.has(func(e syntax.Expr) bool {
			switch e := e.(type) {
			case *syntax.Call:
				return e.Func == syntax.Match && x.textual(e)
			case *syntax.Ternary:
				return x.textual(e)
			case *syntax.Unary:
				return e.Op == syntax.Not && x.textual(e)
			}
			return false
		})
	}},
	{"Q-MATCH-SLASH", func(x *expression) bool {
		_, after, ok := strings.Cut(x.text, "matchinst")
		keyed := x.has(func(e syntax.Expr) bool { // a syntax error for libpcp
			return syntax.Is(e, syntax.Match) && len(e.(*syntax.Call).Keys()) > 0
		})
		return ok && (x.tree == nil || keyed || strings.Count(after, "/") != 2*strings.Count(x.text, "matchinst"))
	}},
}

// unaskable has the differences that harm the process in which libpcp runs.
const unaskable = "Q-SCALAR-EMPTY Q-INST-PAREN Q-STRING Q-MATCH-SLASH Q-NOVALUE Q-META-STAYS"

// callsExpression reports whether one of the functions stands before something other than a name.
func (x *expression) callsExpression(functions string) bool {
	for _, call := range bareName.FindAllStringSubmatch(x.text, -1) {
		if slices.Contains(strings.Fields(functions), call[1]) && (call[2] == "" || call[3] != ")") {
			return true
		}
	}
	return false
}

// textual reports whether a part of the expression names a metric that is no number.
func (x *expression) textual(e syntax.Expr) bool {
	found := false
	syntax.Walk(e, func(e syntax.Expr) bool {
		if n, ok := e.(*syntax.Name); ok {
			d, known := x.catalog[n.Name]
			found = found || known && !d.Type.Numeric()
		}
		return true
	})
	return found
}

// explanations returns the ids of all wanted differences that the expression might run into; seven: beside libpcp 7.
func (x *expression) explanations(seven bool) []string {
	var ids []string
	for _, k := range known {
		if k.may(x) {
			ids = append(ids, k.id)
		}
	}
	if !seven {
		return ids
	}
	for _, k := range knownSeven {
		if k.may(x) {
			ids = append(ids, k.id)
		}
	}
	return ids
}

// knownSeven returns those that exist only beside libpcp 7.
var knownSeven = []explanation{
	{"messages of PCP 7", func(x *expression) bool { return x.tree == nil && newWording.MatchString(x.text) }},
	{"meta and indom as names", func(x *expression) bool {
		return x.tree == nil && newKeys.MatchString(x.text) || x.has(func(e syntax.Expr) bool {
			n, ok := e.(*syntax.Name)
			return ok && newKeys.MatchString(n.Name) && !strings.Contains(n.Name, ".")
		})
	}},
	{"Q-NOVALUE", func(x *expression) bool {
		return x.ternary(func(t *syntax.Ternary) bool {
			first, second := syntax.Is(t.Then, syntax.NoValue), syntax.Is(t.Else, syntax.NoValue)
			return (first || second) && !decided(t.Guard)
		})
	}},
	// it harms what is read next
	{"Q-META-STAYS", func(x *expression) bool { return x.tree == nil && newKeys.MatchString(x.text) }},
	{"missing operands of a ternary", func(x *expression) bool {
		unbound := semantic(x.problem).Class == "unbound"
		return unbound && x.ternary(func(*syntax.Ternary) bool { return true })
	}},
}

// newKeys are the words that PCP 7 reserves and PCP 6 does not.
var newKeys = regexp.MustCompile(`\b(meta|indom)\b`)

// newWording matches the messages that differ between PCP 7 and PCP 6.
var newWording = regexp.MustCompile(`\b(mkconst|delta|rate)\(`)

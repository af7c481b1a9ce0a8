package syntax

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPrintOfHandMadeTrees wants parentheses exactly where they are needed.
func TestPrintOfHandMadeTrees(t *testing.T) {
	a, b, c := &Name{Name: "a"}, &Name{Name: "b"}, &Name{Name: "c"}
	binary := func(op Op, x, y Expr) Expr { return &Binary{Op: op, X: x, Y: y} }
	unary := func(op Op, x Expr) Expr { return &Unary{Op: op, X: x} }
	ternary := func(g, x, y Expr) Expr { return &Ternary{Guard: g, Then: x, Else: y} }

	for _, tt := range []struct {
		printed string
		tree    Expr
	}{
		{"a * (b + c)", binary(Mul, a, binary(Add, b, c))},
		{"(a + b) * c", binary(Mul, binary(Add, a, b), c)},
		{"a - b - c", binary(Sub, binary(Sub, a, b), c)},
		{"a - (b - c)", binary(Sub, a, binary(Sub, b, c))},
		{"a && (b || c)", binary(And, a, binary(Or, b, c))},
		{"-a * b", unary(Neg, binary(Mul, a, b))},
		{"(-a) * b", binary(Mul, unary(Neg, a), b)},
		{"-a + b", binary(Add, unary(Neg, a), b)},
		{"-(a + b)", unary(Neg, binary(Add, a, b))},
		{"a * -b", binary(Mul, a, unary(Neg, b))},
		{"a * (-b) * c", binary(Mul, binary(Mul, a, unary(Neg, b)), c)},
		{"a * -b + c", binary(Add, binary(Mul, a, unary(Neg, b)), c)},
		{"(!a) < b", binary(Lt, unary(Not, a), b)},
		{"-(!a) + b", binary(Add, unary(Neg, unary(Not, a)), b)},
		{"!a || b", binary(Or, unary(Not, a), b)},
		{"!(a || b)", unary(Not, binary(Or, a, b))},
		{"a * (!b) + c", binary(Add, binary(Mul, a, unary(Not, b)), c)},
		{"a ? b : c ? a : b", ternary(ternary(a, b, c), a, b)},
		{"a ? b : (c ? a : b)", ternary(a, b, ternary(c, a, b))},
		{"a ? b ? c : a : b", ternary(a, ternary(b, c, a), b)},
		{"!(a ? b : c)", unary(Not, ternary(a, b, c))},
		{"(a ? b : c) + a", binary(Add, ternary(a, b, c), a)},
		{"(a + b)[x]", &Select{X: binary(Add, a, b), Instance: "x"}},
		{`a[x\]\\]`, &Select{X: a, Instance: `x]\`}},
		{"(a[x])[y]", &Select{X: &Select{X: a, Instance: "x"}, Instance: "y"}},
		{"(avg(a))[x]", &Select{X: &Call{Func: Avg, Args: []Expr{a}}, Instance: "x"}},
		{
			`matchinst(!/\/\\d/, a + b)`,
			&Call{Func: Match, Args: []Expr{&Literal{Kind: Pattern, Text: `/\d`, Negate: true}, binary(Add, a, b)}},
		},
	} {
		t.Run(tt.printed, func(t *testing.T) {
			assert.Equal(t, tt.printed, tt.tree.String())
			assert.Equal(t, shape(tt.tree), shape(parse(t, tt.printed)))
		})
	}
}

// TestPrintAndParse: for any tree, the printed text reads as that tree.
func TestPrintAndParse(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		tree := randomTree(r, 6)
		printed := tree.String()
		e, err := Parse(printed, Literals{})
		require.NoError(t, err, "%s", printed)
		require.Equal(t, shape(tree), shape(e), "%s", printed)
		require.Equal(t, printed, e.String())
	}
}

// randomTree makes trees without a Paren that are at most so many nodes high.
func randomTree(r *rand.Rand, height int) Expr {
	if height <= 1 {
		switch r.IntN(4) {
		case 0:
			return &Number{Text: "1.5", Double: true, Float: 1.5}
		case 1:
			units := &Tag{Key: "units", Value: "Kbyte / sec", Quoted: true}
			return &Call{Func: Const, Args: []Expr{&Number{Text: "7"}, units, &Tag{Key: "type", Value: "u64"}}}
		default:
			return &Name{Name: string(rune('a' + r.IntN(5)))}
		}
	}
	x := func() Expr { return randomTree(r, height-1-r.IntN(3)) }
	switch r.IntN(13) {
	case 12:
		keys := []Expr{&Name{Name: "k"}, &Literal{Kind: Pattern, Text: `/\d`}, &Literal{Kind: LabelName, Text: "type"}}
		by := &By{Keys: []*Key{{Label: []string{"", "units"}[r.IntN(2)], Source: keys[r.IntN(len(keys))]}}}
		for i := range r.IntN(MaxKeys) {
			by.Keys = append(by.Keys, &Key{Label: fmt.Sprint("key", i), Source: keys[r.IntN(len(keys))]})
		}
		return &Call{Func: Avg + Func(r.IntN(int(Sum))), Args: []Expr{x()}, By: by}
	case 0, 1:
		return &Unary{Op: Neg + Op(r.IntN(2)), X: x()}
	case 2:
		return &Ternary{Guard: x(), Then: x(), Else: x()}
	case 3:
		return &Ternary{Guard: x(), Then: x(), Else: &Call{Func: NoValue}}
	case 4:
		return &Call{Func: Avg + Func(r.IntN(int(Scalar))), Args: []Expr{x()}}
	case 5:
		return &Select{X: x(), Instance: []string{"", "x", "]", `\`, `a\]b`}[r.IntN(5)]}
	case 6:
		pattern := &Literal{Kind: Pattern, Text: []string{"", "x", "/", `\d/`}[r.IntN(4)], Negate: r.IntN(2) == 0}
		return &Call{Func: Match, Args: []Expr{pattern, x()}}
	case 7:
		return &Call{Func: Rescale, Args: []Expr{x(), &Literal{Kind: Units, Text: "Kbyte / sec"}}}
	default:
		return &Binary{Op: Add + Op(r.IntN(int(Or-Add)+1)), X: x(), Y: x()}
	}
}

// The beginning of a text is what the whole text begins with, whatever the node is.
func TestBeginning(t *testing.T) {
	for _, text := range []string{
		"a", "a + b * (c - 1)", "!x ? -y : novalue()", `sum(matchinst(!/a.b/, (x)[one two])) by (g=/c/)`,
		`latch(max_sample(x, "5s", "1s") > 8, mkconst(1, type=u32))`,
	} {
		e, err := Parse(text, Literals{})
		require.NoError(t, err, text)
		assert.Equal(t, e.String(), Beginning(e, len(e.String())))
		for n := 1; n <= len(e.String()); n++ {
			assert.Equal(t, e.String()[:n], Beginning(e, n)[:n])
		}
	}
}

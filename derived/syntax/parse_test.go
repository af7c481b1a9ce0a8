package syntax

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCanonical holds the texts that print as they are, and those that print as another one.
func TestCanonical(t *testing.T) {
	another := func(text, printed string) {
		t.Helper()
		e := parse(t, text)
		assert.Equal(t, printed, e.String())
		again := parse(t, printed)
		assert.Equal(t, printed, again.String(), "the printed text prints differently")
		assert.Equal(t, shape(e), shape(again), "the printed text has another meaning")
	}
	same := func(text string) {
		t.Helper()
		another(text, text)
	}

	// metrics
	same("a")
	same("disk.dev.total_bytes")
	same("Ab.C_d.e9")
	same("a..b") // unknown, but a name
	same("a.")
	another("  a\t\n", "a")

	// words that are names unless a parenthesis follows, or unless they are a whole name
	same("avg + 1")
	same("matchinst / mkconst - novalue")
	same("type.foo")
	same("semantics.")
	same("meta + indom")
	same("units_")
	same("AVG")

	// numbers keep the text they were written with
	same("42")
	same("007")
	same("4294967295")
	same("1.5")
	same(".5")
	same("5.")
	same(".")

	// operators
	another("a+b", "a + b")
	another("a-b*c/d", "a - b * c / d")
	another("a<b", "a < b")
	another("a<=b==c>=d>e!=f", "a <= b == c >= d > e != f")
	another("a&&b||c", "a && b || c")
	another("- a", "-a")
	another("! a", "!a")
	another("- - 1", "--1")
	another("1--1", "1 - -1")
	another("!!a", "!!a")
	another("a?b:c", "a ? b : c")
	another("a ? b : c ? d : e", "a ? b : c ? d : e")
	another("a\n\t+\r\f\vb", "a + b")

	// parentheses stay
	same("(a)")
	same("((a + b)) * c")
	another("( a )", "(a)")

	// functions of one operand
	for f := range Functions {
		if functions[f].args[0].Kind > MetricName || len(functions[f].args) > 1 {
			continue
		}
		same(f.String() + "(a.b)")
		another(f.String()+"( a.b )", f.String()+"(a.b)")
		if f == Defined {
			continue
		}
		f := f.String()
		same(f + "(rate(a) / 2)")
		same(f + "((a))")
		same(f + "(a[x])")
		same(f + "(a + b)")
	}
	same("sum(rate(disk.dev.read))")
	same("anon(PM_TYPE_U64)")

	// functions of several operands, and with a number
	same("max(a, b, c + 1)")
	another("min( a,-2 )", "min(a, -2)")
	same("default(a / b, 0)")
	same("nth_percentile_inst(a, 99.5)")
	another("topk_inst(a,5)", "topk_inst(a, 5)")
	same("bottomk_inst(rate(a), 1)")
	same("nth_percentile_bucket(delta(a), 99.5) by (label(b)) + 1")
	another(`nth_percentile_bucket( a,95,"sec" )`, `nth_percentile_bucket(a, 95, "sec")`)
	another("share_bucket( a, - .5 )by(b)", "share_bucket(a, -.5) by (b)")
	same("share_bucket(a, 3) - nth_percentile_bucket")
	same(`max_sample(rate(a), "1 min") + 1`)
	another(`avg_sample( a,"1h","10")`, `avg_sample(a, "1h", "10")`)
	same("max_sample + last_sample[x]")
	another("sum_inst(a) + avg_inst(b + 1)", "sum(a) + avg(b + 1)")
	another("max_inst(a) - min_inst(a)", "max(a) - min(a)")
	same("sqrt + max - default * topk_inst")

	// rescale
	another(`rescale(a,"Kbyte / sec")`, `rescale(a, "Kbyte / sec")`)
	another(`rescale( a+1 , "" )`, `rescale(a + 1, "")`)

	// matchinst
	another("matchinst(/^lo/,a)", "matchinst(/^lo/, a)")
	another("matchinst( ! /^lo/ , a )", "matchinst(!/^lo/, a)")
	same("matchinst(//, a)")
	same(`matchinst(/a\/b/, a)`)
	another(`matchinst(/\a\[/, a)`, `matchinst(/a[/, a)`)
	same(`matchinst(/some\\*text\/other\\[text]/, a)`)
	same("matchinst(/x/, a / b)")
	same("matchinst(/x/, (a / b) / matchinst(!/y/, c / d)) / e")

	// instances
	same("a[x]")
	same("a[]")
	same("a[1 minute]")
	same("a[ x ]")
	another("a [x]", "a[x]")
	same("(a + b)[x]")
	same(`a[\]\\]`)
	another(`a[\x\[]`, `a[x[]`)
	same("avg[x]")

	// groups
	same("sum(a) by (b)")
	same("sum(rate(a.b)) by (kind=/^([a-z]+)/)")
	same("max(a) by (/x/)")
	same(`min(a) by (/a\/b/)`)
	another("avg(a)by(b)", "avg(a) by (b)")
	another("count( a ) by\n( type = b.c )", "count(a) by (type=b.c)")
	same("sum(a) by (label(device_type))")
	same("sum(a) by (disk=label(a.b))")
	same("sum(a) by (label(type))")
	same("sum(a) by (label)")
	same("sum(a) by (label=label)")
	same("sum(a) by (by=by)")
	same("sum(a) by (label(route), code=/x/, b.c)")
	same("matchinst(/^5/, a, label(code)) + 1")
	same("matchinst(!/^5/, a / b, /code:(.*)/)")
	same("sum(a) by (b -> c)")
	same("sum(a) by (/x/ -> b.c by (/y/), x=label(d) -> e by (label(f)), g -> by by (by))")
	same(`matchinst(!/x/, a - b, /^(.*)$/ -> c by (/^\/dev\/(.*)$/)) > 1`)
	another("sum(a)by(b->c by(d))", "sum(a) by (b -> c by (d))")
	another("sum( matchinst(/x/,rate(a) , b.c) )", "sum(matchinst(/x/, rate(a), b.c))")
	another("sum(a) by(a,b ,c = /,/)", "sum(a) by (a, b, c=/,/)")
	same("sum(a) by (a, b, c, d, e, f, g, h)")
	same("a / sum(a) by (b) * 2")
	same("(sum(a) by (b))[x]")
	same("max(sum(a) by (b)) by (/^(.)/)")
	same("by + label")

	// mkconst
	another("mkconst(42,type=32)", "mkconst(42, type=32)")
	another(`mkconst( 1.5 , type = DOUBLE,semantics="Instant" )`, `mkconst(1.5, type=DOUBLE, semantics="Instant")`)
	same(`mkconst(1, units="")`)
	same("mkconst(1, units=5)")
	same("mkconst(1, type=32, type=u64, type=64)")
	same("mkconst(1.5, type=32, type=float)") // the last one counts
	same("mkconst(1, semantics=counter)")
	same("-mkconst(1.0, semantics=instant)")
	same("mkconst(1, meta=disk.dev.read)")
	same(`mkconst(1, meta="disk.dev.read", units=byte)`)
	same("mkconst(1, meta=meta)")
	same("mkconst(1, indom=60.1)")
	same(`mkconst(1, indom="510.4194303")`)
	same("mkconst(1, indom=NULL)")

	// novalue
	same("a ? novalue() : b")
	same("a ? b : novalue()")
	same("defined(a) ? a : novalue(type=u64, semantics=counter, units=Kbyte, indom=157.2)")
	same("a ? b : novalue() ? c : novalue()")
	same("a ? (b ? novalue() : c) : novalue()")
	same("a ? b : novalue() * 100 + c")
	same("(a ? b : novalue() + 1) * 2")
	same("a + b ? c : novalue() > 2 && d ? e : f")
	same("a ? b ? c : novalue() * 2 : d")
	same("a ? b : (c ? d : novalue() * 2)")
	same("2 * (a ? b : novalue())")
}

// TestBindingPowers spells out what belongs together: docs/language-rules.md 3.2.
func TestBindingPowers(t *testing.T) {
	for _, tt := range []struct{ text, meaning string }{
		// the man page's examples, as libpcp reads them
		{"a+b*c", "(a + (b * c))"},
		{"-3*some.metric", "(-(3 * some.metric))"},
		{"a-b>c+d", "((a - b) > (c + d))"},
		{"a>b!=c", "((a > b) != c)"},
		{"a>b*c&&d<=e+f", "((a > (b * c)) && (d <= (e + f)))"},
		{"a>=b||b>c&&d!=e||f>g", "((((a >= b) || (b > c)) && (d != e)) || (f > g))"},
		{"!a>b||c<d", "((!(a > b)) || (c < d))"}, // Q-NOT-PREC
		{"!a<b+c", "(!(a < (b + c)))"},

		// each power folds to the left
		{"a-b-c", "((a - b) - c)"},
		{"a-b+c", "((a - b) + c)"},
		{"a/b/c", "((a / b) / c)"},
		{"a/b*c", "((a / b) * c)"},
		{"a<b<=c==d>=e>f!=g", "((((((a < b) <= c) == d) >= e) > f) != g)"},
		{"a||b&&c", "((a || b) && c)"},
		{"a&&b||c", "((a && b) || c)"},
		{"a?b:c?d:e", "((a ? b : c) ? d : e)"}, // Q-TERN-ASSOC
		{"a?b?c:d:e", "(a ? (b ? c : d) : e)"},
		{"a?b:c?d:e?f:g", "(((a ? b : c) ? d : e) ? f : g)"},

		// between neighbouring powers, both ways round
		{"a*b+c", "((a * b) + c)"},
		{"a+b/c", "(a + (b / c))"},
		{"a<b-c", "(a < (b - c))"},
		{"a-b<c", "((a - b) < c)"},
		{"a&&b<c", "(a && (b < c))"},
		{"a<b||c", "((a < b) || c)"},
		{"a||b?c&&d:e||f", "((a || b) ? (c && d) : (e || f))"},

		// prefix minus takes a product, wherever it stands
		{"-a*b", "(-(a * b))"}, // Q-NEG-PREC
		{"-a/b*c", "(-((a / b) * c))"},
		{"-a+b", "((-a) + b)"},
		{"a--b", "(a - (-b))"},
		{"2*-3*4", "(2 * (-(3 * 4)))"},
		{"2*-3+4", "((2 * (-3)) + 4)"},
		{"2*-3*4<5", "((2 * (-(3 * 4))) < 5)"},
		{"1--1", "(1 - (-1))"},
		{"- - 1", "(-(-1))"},

		// prefix not takes everything up to && || ? :
		{"!a+b<c", "(!((a + b) < c))"},
		{"!a||b", "((!a) || b)"},
		{"!a&&!b", "((!a) && (!b))"},
		{"!a?b:c", "((!a) ? b : c)"},
		{"a?!b:!c", "(a ? (!b) : (!c))"},
		{"2*!0+1", "(2 * (!(0 + 1)))"},
		{"2*!0+1||3", "((2 * (!(0 + 1))) || 3)"},
		{"!-a+b", "(!((-a) + b))"},
		{"-!a+b", "(-(!(a + b)))"},
		{"!!a<b", "(!(!(a < b)))"},

		// a selector belongs to what is right before it
		{"a+b[x]", "(a + b[x])"},
		{"(a+b)[x]", "(a + b)[x]"},
		{"-a[x]*b", "(-(a[x] * b))"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			assert.Equal(t, tt.meaning, shape(parse(t, tt.text)))
		})
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		text   string
		double bool
		i      uint32
		f      float64
	}{
		{"0", false, 0, 0},
		{"007", false, 7, 7},
		{"4294967295", false, math.MaxUint32, math.MaxUint32},
		{"0000000000000000000000000000042", false, 42, 42},
		{"1.5", true, 0, 1.5},
		{".5", true, 0, 0.5},
		{"5.", true, 0, 5},
		{".", true, 0, 0},
		{"4294967296.0", true, 0, 4294967296},
		{"0.1", true, 0, 0.1},
		{strings.Repeat("9", 400) + ".", true, 0, math.Inf(1)},
	} {
		t.Run(tt.text, func(t *testing.T) {
			n, ok := parse(t, tt.text).(*Number)
			require.True(t, ok)
			assert.Equal(t, tt.text, n.Text)
			assert.Equal(t, tt.double, n.Double)
			assert.Equal(t, tt.i, n.Int)
			assert.Equal(t, tt.f, n.Float)
		})
	}
}

// TestFields looks at what the canonical text does not tell: values after escapes, and places.
func TestFields(t *testing.T) {
	t.Run("instance", func(t *testing.T) {
		text := `1 + a.b [x\]\y\\ z]`
		s := parse(t, text).(*Binary).Y.(*Select)
		assert.Equal(t, `x]y\ z`, s.Instance)
		assert.Equal(t, `[x\]\y\\ z]`, part(text, s.InstanceSpan))
		assert.Equal(t, "a.b", part(text, s.X.Span()))
		assert.Equal(t, `a.b [x\]\y\\ z]`, part(text, s.Span()))
	})
	t.Run("pattern", func(t *testing.T) {
		text := ` matchinst( !/\/\\d[x\]/ , a )`
		m := parse(t, text).(*Call)
		l := m.Literal()
		assert.True(t, l.Negate)
		assert.Equal(t, `/\d[x]`, l.Text)
		assert.Equal(t, `/\/\\d[x\]/`, part(text, l.Span()))
		assert.Equal(t, `matchinst( !/\/\\d[x\]/ , a )`, part(text, m.Span()))
		assert.Equal(t, "a", m.X().String())
		assert.False(t, parse(t, "matchinst(/!/, a)").(*Call).Literal().Negate)
	})
	t.Run("rescale", func(t *testing.T) {
		text := `rescale(a, "Kbyte / sec" )`
		r := parse(t, text).(*Call)
		assert.Equal(t, "Kbyte / sec", r.Literal().Text)
		assert.Equal(t, `"Kbyte / sec"`, part(text, r.Literal().Span()))
		assert.Equal(t, text, part(text, r.Span()))
	})
	t.Run("groups", func(t *testing.T) {
		text := `1 + sum( a ) by ( x = b.c ) `
		c := parse(t, text).(*Binary).Y.(*Call)
		assert.Equal(t, "sum( a ) by ( x = b.c )", part(text, c.Span()))
		assert.Equal(t, "by ( x = b.c )", part(text, c.By.Span()))
		assert.Equal(t, "b.c", part(text, c.By.Keys[0].Source.Span()))
		assert.Equal(t, "by (x=b.c)", c.By.String())
		text = `sum(a) by (label( type ))`
		assert.Equal(t, "label( type )", part(text, parse(t, text).(*Call).By.Keys[0].Span()))
		assert.Equal(t, 3, parse(t, "sum(-a) by (b)").depth())
		text = `sum(a) by (x= b -> c.d by ( /e/ ), /f/)`
		k := parse(t, text).(*Call).By.Keys[0]
		assert.Equal(t, "x= b -> c.d by ( /e/ )", part(text, k.Span()))
		assert.Equal(t, "c.d", part(text, k.Lookup.Metric.Span()))
		assert.Equal(t, "/e/", part(text, k.Lookup.By.Span()))
		for text, label := range map[string]string{
			"b": "b", "b.c": "c", "x=b.c": "x", "/x/": "group", "units=/x/": "units", "label(a.b)": "a_b", "y=label(a)": "y",
			"b.": "group", "b._c": "group", "b, x=c, label(d.e)": "b,x,d_e", "/x/, g=/y/": "group,g",
			"/x/ -> b.c": "c", "x=a.b -> c by (d)": "x", "label(a) -> b._": "group",
		} {
			assert.Equal(t, label, parse(t, "sum(a) by ("+text+")").(*Call).By.LabelName(), text)
		}
	})
	t.Run("tags", func(t *testing.T) {
		text := `mkconst(1.5,type = Double, units="x y", semantics=instant, indom=4.5, meta="a.b")`
		c := parse(t, text).(*Call)
		assert.Equal(t, "1.5", part(text, NumberOf(c).Span()))
		var got []string
		for tag := range c.Tags {
			got = append(got, fmt.Sprint(tag.Key, " ", tag.Value, " ", tag.Quoted, " ", part(text, tag.Span())))
		}
		assert.Equal(t, []string{
			"type Double false Double", `units x y true "x y"`, "semantics instant false instant",
			"indom 4.5 false 4.5", `meta a.b true "a.b"`,
		}, got)
	})
	t.Run("novalue", func(t *testing.T) {
		text := "a ? novalue( type=u64 ) : b"
		n := parse(t, text).(*Ternary).Then.(*Call)
		assert.Equal(t, "novalue( type=u64 )", part(text, n.Span()))
		assert.Equal(t, []Expr{&Tag{node: node{at: Span{18, 21}}, Key: "type", Value: "u64"}}, n.Args)
	})
	t.Run("spans", func(t *testing.T) {
		text := "  -( a+b )*avg( c )  ? 1.5 : !d  "
		var got []string
		Walk(parse(t, text), func(e Expr) bool {
			got = append(got, part(text, e.Span()))
			return true
		})
		assert.Equal(t, []string{
			"-( a+b )*avg( c )  ? 1.5 : !d", "-( a+b )*avg( c )", "( a+b )*avg( c )", "( a+b )", "a+b", "a", "b",
			"avg( c )", "c", "1.5", "!d", "d",
		}, got)
	})
	t.Run("operator", func(t *testing.T) {
		b := parse(t, "a  <=b").(*Binary)
		assert.Equal(t, 3, b.OpPos)
		assert.Equal(t, Leq, b.Op)
	})
	t.Run("functions", func(t *testing.T) {
		for f := Avg; f <= Scalar; f++ {
			assert.Equal(t, f, parse(t, f.String()+"(a)").(*Call).Func)
		}
		assert.Equal(t, Largest, parse(t, "max(a, 1)").(*Call).Func)
		assert.InDelta(t, 0.5, parse(t, "nth_percentile_inst(a, .5)").(*Call).Number().Float, 0)
		assert.InDelta(t, -2.5, parse(t, "share_bucket(a, -2.5)").(*Call).Number().Float, 0)
		assert.Equal(t, Span{16, 21}, parse(t, "share_bucket(a, - 2.5)").(*Call).Number().Span())
		assert.Nil(t, parse(t, "max(a, 1)").(*Call).Number())
		anon := parse(t, "anon(PM_TYPE_32)").(*Call)
		assert.Equal(t, Anon, anon.Func)
		assert.Equal(t, "PM_TYPE_32", anon.Literal().Text)
		assert.IsType(t, &Name{}, parse(t, "defined(a)").(*Call).Args[0])
	})
}

// TestLiterals wants every literal shown to its judge, in order, as the language means it.
func TestLiterals(t *testing.T) {
	var units, patterns []string
	lits := Literals{
		Units:   func(text string) error { units = append(units, text); return nil },
		Pattern: func(ere string) error { patterns = append(patterns, ere); return nil },
	}
	const text = `rescale(matchinst(/a\/b\\./, x) + mkconst(1, units=byte, units="Kbyte / sec"), "sec")` +
		` + (x ? novalue(units=5) : matchinst(!//, x))`
	_, err := Parse(text, lits)
	require.NoError(t, err)
	assert.Equal(t, []string{"byte", "Kbyte / sec", "sec", "5"}, units)
	assert.Equal(t, []string{`a/b\.`, ""}, patterns)
}

func TestUnparen(t *testing.T) {
	assert.Equal(t, "a + (b)", Unparen(parse(t, "((a + (b)))")).String())
	assert.Equal(t, "a", Unparen(parse(t, "a")).String())
	assert.Equal(t, "(a)[x]", Unparen(parse(t, "((a)[x])")).String())
}

// TestBounds goes to the limits in every way a tree can grow, and one step beyond.
func TestBounds(t *testing.T) {
	tooDeep := fmt.Sprintf("Expression more than %d levels deep", MaxDepth)
	for _, tt := range []struct {
		name              string
		left, leaf, right string
		levels            int // nodes that left and right add
	}{
		{"parentheses", "(", "a", ")", 1},
		{"minus", "-", "a", "", 1},
		{"not", "!", "a", "", 1},
		{"functions", "sum(", "a", ")", 1},
		{"rescale", "rescale(", "a", `, "")`, 1},
		{"matchinst", "matchinst(/x/, ", "a", ")", 1},
		{"selectors", "(", "a", ")[x]", 2},
		{"sum", "", "a", "+b", 1},
		{"conjunction", "", "a", " && b", 1},
		{"ternary to the left", "", "a", "?b:c", 1},
		{"ternary to the right", "a?", "b", ":c", 1},
		{"nested to the right", "a+(", "b", ")", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := (MaxDepth - 1) / tt.levels
			deepest := strings.Repeat(tt.left, n) + tt.leaf + strings.Repeat(tt.right, n)
			e := parse(t, deepest)

			printed := e.String()
			again := parse(t, printed)
			assert.Equal(t, printed, again.String())
			height, nodes := 0, 0
			for x := e; x != nil; height++ {
				x = deeper(x)
			}
			Walk(e, func(Expr) bool { nodes++; return true })
			assert.Equal(t, n*tt.levels+1, height)
			assert.GreaterOrEqual(t, nodes, height)

			n++
			_, err := Parse(strings.Repeat(tt.left, n)+tt.leaf+strings.Repeat(tt.right, n), Literals{})
			assert.Equal(t, tooDeep, fault(t, err).Msg)
		})
	}

	t.Run("one level too many on top", func(t *testing.T) {
		highest := strings.Repeat("a*", MaxDepth-1) + "a"
		parse(t, highest)
		for _, around := range []string{
			"-%s", "!%s", "(%s)", "b - %s", "%s - b", "1 ? %s : 2", "1 ? 2 : %s", "%s ? 1 : 2",
			"sum(%s)", `rescale(%s, "")`, "matchinst(/x/, %s)",
		} {
			_, err := Parse(fmt.Sprintf(around, highest), Literals{})
			assert.Equal(t, tooDeep, fault(t, err).Msg, around)
		}
		_, err := Parse("("+strings.TrimPrefix(highest, "a*")+")[x]", Literals{})
		assert.Equal(t, tooDeep, fault(t, err).Msg, "selector")
	})
	t.Run("a megabyte of openings", func(t *testing.T) {
		for _, s := range []string{"(", "-", "!", "avg(", "a?", "a+(", "matchinst(/x/,", "rescale("} {
			_, err := Parse(strings.Repeat(s, MaxText/len(s)), Literals{})
			e := fault(t, err)
			assert.Equal(t, tooDeep, e.Msg, s)
		}
	})
	t.Run("a megabyte of operands", func(t *testing.T) {
		for _, s := range []string{"a+", "a?b:", "1*"} {
			_, err := Parse(strings.Repeat(s, MaxText/len(s)-1)+"a", Literals{})
			assert.Equal(t, tooDeep, fault(t, err).Msg, s)
		}
	})
	t.Run("the longest text", func(t *testing.T) {
		nodes := 0
		Walk(parse(t, wide(MaxText)), func(Expr) bool { nodes++; return true })
		assert.Greater(t, nodes, MaxText/32)
	})
	t.Run("longer than the longest text", func(t *testing.T) {
		_, err := Parse(wide(MaxText)+" ", Literals{})
		assert.Equal(t, &Error{At: MaxText, Msg: "Expression longer than 1048576 bytes"}, fault(t, err))
	})
}

// parse reads a text that has to be good.
func parse(t testing.TB, text string) Expr {
	t.Helper()
	e, err := Parse(text, Literals{})
	require.NoError(t, err, "%.80s", text)
	return e
}

// fault is the syntax error that a text has to have.
func fault(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	require.True(t, errors.As(err, &e), "not a syntax error: %v", err)
	return e
}

func part(text string, s Span) string { return text[s.Start:s.End] }

// shape prints a tree with parentheses around every operator and without those of the text.
func shape(e Expr) string {
	var b strings.Builder
	writeShape(&b, e)
	return b.String()
}

func writeShape(b *strings.Builder, e Expr) {
	switch e := Unparen(e).(type) {
	case *Unary:
		b.WriteString("(" + e.Op.String())
		writeShape(b, e.X)
		b.WriteString(")")
	case *Binary:
		b.WriteString("(")
		writeShape(b, e.X)
		b.WriteString(" " + e.Op.String() + " ")
		writeShape(b, e.Y)
		b.WriteString(")")
	case *Ternary:
		b.WriteString("(")
		writeShape(b, e.Guard)
		b.WriteString(" ? ")
		writeShape(b, e.Then)
		b.WriteString(" : ")
		writeShape(b, e.Else)
		b.WriteString(")")
	case *Call:
		b.WriteString(e.Func.String() + "(")
		for _, x := range e.Args {
			writeShape(b, x)
			b.WriteString(" ")
		}
		b.WriteString(")")
		if e.By != nil {
			for _, k := range e.By.Keys {
				b.WriteString("by " + k.Label + " ")
				writeShape(b, k.Source)
			}
		}
	case *Literal:
		fmt.Fprintf(b, "%d %t %q", e.Kind, e.Negate, e.Text)
	case *Tag:
		fmt.Fprintf(b, "%s=%q", e.Key, e.Value)
	case *Select:
		writeShape(b, e.X)
		b.WriteString("[" + e.Instance + "]")
	default:
		b.WriteString(e.String())
	}
}

// deeper is the operand with the highest tree, nil below a leaf.
func deeper(e Expr) Expr {
	var deepest Expr
	Walk(e, func(x Expr) bool {
		if x != e && (deepest == nil || x.depth() > deepest.depth()) {
			deepest = x
		}
		return x == e
	})
	return deepest
}

// wide is a text of so many bytes with a tree of many nodes that is not high.
func wide(size int) string {
	s := "disk.dev.read"
	for {
		twice := "(" + s + "+" + s + ")"
		if len(twice) > size {
			return s + strings.Repeat(" ", size-len(s))
		}
		s = twice
	}
}

package syntax

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWalk(t *testing.T) {
	const text = `(a + -b)[x] ? rescale(avg(c), "") : matchinst(/x/, mkconst(1, type=32)) ? novalue() : 2`
	visit := func(enter func(Expr) bool) []string {
		var seen []string
		Walk(parse(t, text), func(e Expr) bool {
			seen = append(seen, e.String())
			return enter(e)
		})
		return seen
	}

	t.Run("every node, parents first, in the order of the text", func(t *testing.T) {
		assert.Equal(t, []string{
			text,
			`(a + -b)[x] ? rescale(avg(c), "") : matchinst(/x/, mkconst(1, type=32))`,
			"(a + -b)[x]", "(a + -b)", "a + -b", "a", "-b", "b",
			`rescale(avg(c), "")`, "avg(c)", "c",
			"matchinst(/x/, mkconst(1, type=32))", "mkconst(1, type=32)",
			"novalue()", "2",
		}, visit(func(Expr) bool { return true }))
	})
	t.Run("the metric of a key", func(t *testing.T) {
		var seen []string
		const text = "sum(a) by (b -> d by (e)) + max(c) by (/x/ -> f)"
		Walk(parse(t, text), func(e Expr) bool {
			seen = append(seen, e.String())
			return true
		})
		assert.Equal(t, []string{
			text, "sum(a) by (b -> d by (e))", "a", "b", "d", "e", "max(c) by (/x/ -> f)", "c", "f",
		}, seen)
	})
	t.Run("not below a node where visit says no", func(t *testing.T) {
		assert.Equal(t, []string{
			text,
			`(a + -b)[x] ? rescale(avg(c), "") : matchinst(/x/, mkconst(1, type=32))`,
			"(a + -b)[x]", `rescale(avg(c), "")`, "matchinst(/x/, mkconst(1, type=32))",
			"novalue()", "2",
		}, visit(func(e Expr) bool { _, ok := e.(*Ternary); return ok }))
	})
}

// Operands are what has values; what else a function has is told by its own methods.
func TestOperands(t *testing.T) {
	for text, want := range map[string]string{
		"a": "", "-a": "a", "a < b": "a b", "a ? b : c": "a b c", "a[x]": "a", "(a)": "a", "sum(rate(a))": "rate(a)",
		"defined(a)": "", "matchinst(!/x/, a)": "a", "matchinst(/x/, a, b)": "a b", "sum(a) by (b)": "a b", "sum(a) by (/b/)": "a", "sum(a) by (label(b) -> c, d -> e by (f))": "a c d e f",
		`rescale(a, "sec")`: "a", "mkconst(1, type=32)": "",
	} {
		var got []string
		for _, x := range Operands(parse(t, text)) {
			got = append(got, x.String())
		}
		assert.Equal(t, want, strings.Join(got, " "), text)
	}

	call := parse(t, "matchinst(!/x/, a)").(*Call)
	assert.Equal(t, "a", call.X().String())
	assert.Equal(t, "!/x/", call.Literal().String())
	assert.True(t, Is(call, Rescale, Match))
	assert.False(t, Is(call, Rescale) || Is(call.X(), Match))

	number := parse(t, "mkconst(7, type=32, units=byte)").(*Call)
	assert.Nil(t, number.X())
	assert.Nil(t, number.Literal())
	for tag := range number.Tags {
		assert.Equal(t, "type=32", tag.String())
		break
	}
	assert.Equal(t, "7", NumberOf(number).Text)
	assert.Equal(t, "8", NumberOf(parse(t, "(8)")).Text)
	assert.Nil(t, NumberOf(call))
	for op, is := range map[Op]string{Add: "arithmetic", Leq: "relation", Or: "boolean"} {
		assert.Equal(
			t, []bool{is == "arithmetic", is == "relation", is == "boolean"},
			[]bool{op.Arithmetic(), op.Relation(), op.Boolean()},
		)
	}
}

package syntax

import (
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
	t.Run("not below a node where visit says no", func(t *testing.T) {
		assert.Equal(t, []string{
			text,
			`(a + -b)[x] ? rescale(avg(c), "") : matchinst(/x/, mkconst(1, type=32))`,
			"(a + -b)[x]", `rescale(avg(c), "")`, "matchinst(/x/, mkconst(1, type=32))",
			"novalue()", "2",
		}, visit(func(e Expr) bool { _, ok := e.(*Ternary); return ok }))
	})
}

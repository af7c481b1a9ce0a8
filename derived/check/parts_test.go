package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParts(t *testing.T) {
	for _, row := range []struct {
		text string
		most int
		want string
	}{
		{"a", 9, "a"},
		{"(a + 1) * b[x]", 9, "(a + 1) * b[x] <1 4> | a + 1 <2 3> | a | 1 | b[x] <5> | b"},
		{"max(matchinst(/x/, rescale(-a, \"byte\")))", 9, `max(matchinst(/x/, rescale(-a, "byte"))) <1> | matchinst(/x/, rescale(-a, "byte")) <2> | rescale(-a, "byte") <3> | -a <4> | a`},
		{"a ? b : novalue()", 9, "a ? b : novalue() | a | b"},
		{"defined(a) && b", 9, "defined(a) && b <1> | b"},
		{"a + b + c", 2, "a + b + c <1> | a + b"},
	} {
		t.Run(row.text, func(t *testing.T) {
			var got []string
			for i, p := range parsed(t, "x", row.text).Parts(row.most) {
				text := p.Expr.String()
				if len(p.Operands) > 0 {
					text += strings.NewReplacer("[", " <", "]", ">").Replace(fmt.Sprint(p.Operands))
				}
				got = append(got, text)
				assert.Equal(t, fmt.Sprintf("(%d)", i), p.Name)
			}
			assert.Equal(t, row.want, strings.Join(got, " | "))
		})
	}
}

package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Unportable yields each part of a text with the versions of libpcp that understand it.
func TestUnportable(t *testing.T) {
	versions := []string{Everywhere: "everywhere", PCP63: "PCP63", PCP7: "PCP7", Nowhere: "nowhere"}
	for _, row := range []struct{ text, want string }{
		{"avg(a) + rate(b) * scalar(a + b) > instant(a) && defined(c) ? a[x] : -mkconst(1, type=32)", ""},
		{`rescale(a, "byte") / matchinst(/x/, a + b) + a / b`, ""},
		{"sum(a + 1) - count((b))", "sum() of an expression: 4 nowhere; count() of an expression: 19 nowhere"},
		{"delta(a * 2) + rate(a[x])", "delta() of an expression: 6 PCP63; rate() of an expression: 20 PCP63"},
		{"instant(rate(a))", "instant() of an expression: 8 PCP63"},
		{"(a + b)[x]", "an instance of an expression: 7 PCP63"},
		{"a ? b : novalue(meta=b)", "novalue(): 8 PCP63"},
		{"mkconst(1, type=32, meta=a) + mkconst(1, indom=60.1)", "the tag meta: 25 PCP63; the tag indom: 47 PCP7"},
		{
			`a ? b : novalue(meta="b", indom="60.1")`,
			"novalue(): 8 PCP63; a metric in quotes as meta: 21 nowhere; the tag indom: 32 PCP7",
		},
		{"matchinst(!/x/, a / b)", "a division within matchinst(): 18 nowhere"},
		{"sum_inst(a)", "sum_inst(): 0 nowhere"},
		{"max(a) + min(a, b)", "min() of several operands: 9 nowhere"},
		{"max(sqrt(a), 1)", "max() of several operands: 0 nowhere; sqrt(): 4 nowhere"},
		{"matchinst(/a/, b, label(c))", "a key of matchinst(): 18 nowhere"},
		{"max(sum(a) by (b))", "max() of an expression: 4 nowhere; by (KEY): 11 nowhere"},
		{`latch(max_sample(a, "1min") > 1, a < 1)`, "latch(): 0 nowhere; max_sample(): 6 nowhere"},
		{
			"share_bucket(delta(a), -1) by (/x/) > nth_percentile_bucket(a, 50)",
			"share_bucket(): 0 nowhere; by (KEY): 27 nowhere; nth_percentile_bucket(): 38 nowhere",
		},
		{"topk_inst(default(a, 0), 5)", "topk_inst(): 0 nowhere; default(): 10 nowhere"},
	} {
		var got []string
		Unportable(parse(t, row.text), row.text, func(at Span, what string, s Support) {
			got = append(got, fmt.Sprintf("%s: %d %s", what, at.Start, versions[s]))
		})
		assert.Equal(t, row.want, strings.Join(got, "; "), row.text)
	}
}

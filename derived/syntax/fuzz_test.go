package syntax

import (
	"testing"

	"github.com/stretchr/testify/require"

	"pmdaderived/test/conformance"
)

// FuzzParse holds for any text: no panic; an error points into the text; a tree lies within it,
// nests properly, is no higher than allowed, and prints as a text that reads as the same tree.
func FuzzParse(f *testing.F) {
	for _, c := range conformance.ReadCorpus(f, "../testdata/corpus") {
		f.Add(c.Expr)
	}
	for _, seed := range []string{
		`a ? novalue(type=u64, semantics=counter, units=Kbyte, indom=157.2) : -b`,
		`mkconst(1, meta="a.b", indom=null)`,
		`sum(rate(a[\]\\]))[x]`,
		`nth_percentile_bucket(a, 9.5, "sec") by (label(b)) + share_bucket(a, - .5)`,
		"sum(a) by (label(b), c=/d/, e.f)", "sum(a) by (/b/, /c/,)", "matchinst(!/^5/, a / b, /c/)",
		`matchinst(!/\//, (a / b)[x]) / anon(PM_TYPE_32)`,
		"a[é\x00\xff] @ \"",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > MaxText/4 {
			return // the canonical text may be longer than the text, and then too long
		}
		e, err := Parse(text, Literals{})
		if err != nil {
			require.Nil(t, e)
			offset := fault(t, err).At
			require.GreaterOrEqual(t, offset, 0)
			require.LessOrEqual(t, offset, max(0, len(text)-1))
			return
		}
		checkSpans(t, e, Span{0, len(text)})
		require.LessOrEqual(t, e.depth(), MaxDepth)

		printed := e.String()
		again, err := Parse(printed, Literals{})
		require.NoError(t, err, "%q printed as %q", text, printed)
		require.Equal(t, shape(e), shape(again))
		require.Equal(t, printed, again.String())
	})
}

// checkSpans wants every node within the one above it and behind the one beside it.
func checkSpans(t *testing.T, e Expr, within Span) {
	at := e.Span()
	require.Less(t, at.Start, at.End)
	require.GreaterOrEqual(t, at.Start, within.Start)
	require.LessOrEqual(t, at.End, within.End)
	Walk(e, func(x Expr) bool {
		if x == e {
			return true
		}
		checkSpans(t, x, at)
		at.Start = x.Span().End
		return false
	})
}

package ere

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table was answered by the C library; agreeing with every row of it is what this package is for.
func TestAgreesWithCLibrary(t *testing.T) {
	rows := readRows(t, "ere.tsv")
	require.Greater(t, len(rows), 1000, "the table is not whole")
	seen := map[string]bool{}
	for _, r := range rows {
		assert.Equal(t, r.answer, answer(r.pattern, r.subject), "row %s", r.name())
		assert.False(t, seen[r.name()], "row %s is there twice", r.name())
		seen[r.name()] = true
	}
}

// Every row of the other table is a mistake of the C library that is not made here.
func TestDiffersOnPurpose(t *testing.T) {
	opposite := map[string]string{"match": "no match", "no match": "match"}
	for _, r := range readRows(t, "differences.tsv") {
		require.Contains(t, opposite, r.answer, "row %s", r.name())
		assert.Equal(t, opposite[r.answer], answer(r.pattern, r.subject), "row %s", r.name())
	}
}

func TestErrorsAreOfTypeError(t *testing.T) {
	for _, pattern := range strings.Fields(`[ [[.aa.]] [[:a:]] \ \1 [a ( a{ a{} [b-a] a{32768} *`) {
		_, err := Compile(pattern)
		var reason Error
		require.ErrorAs(t, err, &reason, "pattern %s", pattern)
	}
}

func TestStringIsThePattern(t *testing.T) {
	re, err := Compile("^(sd|hd)[a-z]{1,2}$")
	require.NoError(t, err)
	assert.Equal(t, "^(sd|hd)[a-z]{1,2}$", re.String())
}

// C strings end at their first NUL, so the C library never sees what is behind it.
func TestNULEndsBothTexts(t *testing.T) {
	for _, row := range []struct{ name, pattern, subject, answer string }{
		{"subject", "b", "a\x00b", "no match"},
		{"end of subject", "a$", "a\x00b", "match"},
		{"word at the end of the subject", `a\>`, "a\x00a", "match"},
		{"dot", ".", "\x00a", "no match"},
		{"negated bracket", "[^b]", "\x00a", "no match"},
		{"subject, back-reference", `(a)\1`, "a\x00a", "no match"},
		{"pattern", "a\x00(", "a", "match"},
		{"empty pattern", "\x00b", "a", "match"},
		{"bracket in pattern", "[a\x00]", "a", string(ErrBrack)},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.answer, answer(row.pattern, row.subject))
		})
	}
	re, err := Compile("a\x00b")
	require.NoError(t, err)
	assert.Equal(t, "a", re.String())
}

func TestLimits(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("(", n) + "a" + strings.Repeat(")", n) }
	for _, row := range []struct{ name, pattern, subject, answer string }{
		{"longest pattern", "^" + strings.Repeat("a", maxPattern-1), strings.Repeat("a", maxPattern), "match"},
		{"longer pattern", strings.Repeat("a", maxPattern+1), "a", string(ErrSize)},
		{"deepest groups", nested(maxDepth - 1), "a", "match"},
		{"deeper groups", nested(maxDepth), "a", string(ErrSize)},
		{"very deep groups", nested(maxPattern/2 - 1), "a", string(ErrSize)},
		{"open groups only", strings.Repeat("(", maxPattern), "a", string(ErrSize)},
		{"deepest repetitions", "a" + strings.Repeat("?", maxDepth-1), "", "match"},
		{"deeper repetitions", "a" + strings.Repeat("?", maxDepth), "", string(ErrSize)},
		{"stars do not add up", "a" + strings.Repeat("*", maxPattern-1), "", "match"},
		{"largest interval", "^a{0,32767}$", strings.Repeat("a", 100), "match"},
		{"largest exact interval", "^a{32767}$", strings.Repeat("a", maxRepeat), "match"},
		{"largest exact interval, one short", "^a{32767}$", strings.Repeat("a", maxRepeat-1), "no match"},
		{"largest interval of three bytes", "(abc){0,32767}", "a", "match"},
		{"largest interval of four bytes", "(abcd){0,32767}", "a", string(ErrSize)},
		{"interval of an interval", "(a{1000}){1000}", "a", string(ErrSize)},
		{"fault behind the limit", "(a{1000}){1000}(", "a", string(ErrParen)},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.answer, answer(row.pattern, row.subject))
		})
	}
}

// Each of these takes exponential time or memory when done the obvious way.
func TestHostilePatternsAreHarmless(t *testing.T) {
	many := strings.Repeat("a", 200)
	empties := strings.Repeat("(", 300)
	for _, row := range []struct{ name, pattern, subject, answer string }{
		{"intervals of nothing", "((((){32767}){32767}){32767}){32767}", "a", "match"},
		{"optional intervals of nothing", empties + strings.Repeat("){1,2}", 300), "a", "match"},
		{"loops of nothing", empties + strings.Repeat(")*", 300) + "b", "a", "no match"},
		{"one or more of one or more", empties + "a" + strings.Repeat(")+", 300) + "b", many, "no match"},
		{"loops of the same", "(a|a)*(a*)*(a|aa)+b", many, "no match"},
		{"optional bytes", "(a?){20000}b", many, "no match"},
		{"more states than fit", "[ab]*a[ab]{100}c", strings.Repeat("aabab", 2000), "no match"},
		{"assertion loops", `(((\b){2,}){1,3})*(\B|^|$)*c`, many, "no match"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.answer, answer(row.pattern, row.subject))
		})
	}
}

func TestConcurrentUse(t *testing.T) {
	re, err := Compile("[ab]*a[ab]{9}$")
	require.NoError(t, err)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 500 {
				name := strings.Repeat("ab", worker) + strings.Repeat("b", i%9) + "a" + strings.Repeat("b", 9)
				assert.True(t, re.MatchString(name), name)
				assert.False(t, re.MatchString(name+"c"), name)
			}
		})
	}
	wg.Wait()
}

func TestMatchingAllocatesNothing(t *testing.T) {
	re, err := Compile(`^(sd|nvme)[[:alnum:]]+\>`)
	require.NoError(t, err)
	names := []string{"sda", "sdb1", "nvme0n1p1", "loop0", "sd-é"}
	match := func() {
		for _, name := range names {
			re.MatchString(name)
		}
	}
	match()
	assert.Zero(t, testing.AllocsPerRun(100, match))
}

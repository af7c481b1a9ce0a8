package pattern

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table was answered by the C library. A pattern that it refuses is refused here, too, and any other one gives
// its answer or is refused.
func TestAgreesWithCLibrary(t *testing.T) {
	seen, refused := map[string]bool{}, map[string]int{}
	for _, r := range readRows(t, "patterns.tsv") {
		got := answer(r.pattern, r.subject)
		switch {
		case r.refused():
			assert.NotContains(t, []string{"match", "no match"}, got, "row %s", r.name())
		case row{answer: got}.refused():
			refused[got]++
		default:
			assert.Equal(t, r.answer, got, "row %s", r.name())
		}
		assert.False(t, seen[r.name()], "row %s is there twice", r.name())
		seen[r.name()] = true
	}
	assert.Equal(
		t, map[string]int{string(ErrBackref): 50, string(ErrCollate): 43, string(ErrBadBr): 10, string(ErrSize): 4},
		refused,
	)
}

// The other table has answers of the C library that are the opposite of those here.
func TestDiffersFromCLibrary(t *testing.T) {
	opposite := map[string]string{"match": "no match", "no match": "match"}
	for _, r := range readRows(t, "differences.tsv") {
		require.Contains(t, opposite, r.answer, "row %s", r.name())
		assert.Equal(t, opposite[r.answer], answer(r.pattern, r.subject), "row %s", r.name())
	}
}

// Each fault has a reason, the first one in the pattern if there are several.
func TestRefused(t *testing.T) {
	for pattern, want := range map[string]Error{
		"*a": ErrBadRpt, "a|+b": ErrBadRpt, "(?:a)": ErrBadRpt, "^*": ErrBadRpt, `\b{2}`: ErrBadRpt, "{": ErrBadRpt, "(*": ErrBadRpt,
		"(a": ErrParen, "((a)": ErrParen, "(": ErrParen,
		"a{": ErrBadBr, "a{}": ErrBadBr, "a{2,1}": ErrBadBr, "a{x}": ErrBadBr, "a{1": ErrBadBr, "a{-1}": ErrBadBr, "a{+1}": ErrBadBr,
		"a{1,2,3}": ErrBadBr, `a{1\}`: ErrBadBr, "a{99999999999999999999}": ErrBadBr,
		"a{1001}": ErrSize, "a{1001,}": ErrSize, "(a{40}){40}": ErrSize,
		"[": ErrBrack, "[]": ErrBrack, "[^]": ErrBrack, "[a": ErrBrack, "[a-": ErrBrack, "[[:alpha": ErrBrack,
		"[[:word:]]": ErrCType, "[[:^alpha:]]": ErrCType, "[[:ALPHA:]]": ErrCType,
		"[z-a]": ErrRange, "[a-c-e]": ErrRange, "[[:alpha:]-z]": ErrRange, "[a-[:alpha:]]": ErrRange,
		"[[.a.]]": ErrCollate, "[[=a=]]": ErrCollate, "[a-[.z.]]": ErrCollate, "[[.hyphen.]]": ErrCollate,
		`(a)\1`: ErrBackref, `\1`: ErrBackref,
		`a\`: ErrEscape, `\`: ErrEscape,
	} {
		_, err := Compile(pattern)
		assert.Equal(t, want, err, "/%s/", pattern)
	}
}

// C strings end at their first NUL, so the C library never sees what is behind it.
func TestNULEndsBothTexts(t *testing.T) {
	for _, row := range []struct{ name, pattern, subject, answer string }{
		{"subject", "b", "a\x00b", "no match"},
		{"end of subject", "a$", "a\x00b", "match"},
		{"word at the end of the subject", `a\>`, "a\x00a", "match"},
		{"dot", ".", "\x00a", "no match"},
		{"negated bracket", "[^b]", "\x00a", "no match"},
		{"pattern", "a\x00(", "a", "match"},
		{"empty pattern", "\x00b", "a", "match"},
		{"bracket in pattern", "[a\x00]", "a", string(ErrBrack)},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.answer, answer(row.pattern, row.subject))
		})
	}
}

// Whatever takes exponential time or memory when done the obvious way is refused or harmless.
func TestLimits(t *testing.T) {
	nested := func(n int, repetition string) string {
		return strings.Repeat("(", n) + "a" + strings.Repeat(")"+repetition, n)
	}
	many := strings.Repeat("a", 200)
	for _, row := range []struct{ name, pattern, subject, answer string }{
		{"longest pattern", "^" + strings.Repeat("a", maxPattern-1), strings.Repeat("a", maxPattern), "match"},
		{"longer pattern", strings.Repeat("a", maxPattern+1), "a", string(ErrSize)},
		{"longest bracket", "[" + strings.Repeat("a", maxPattern-2) + "]", "a", "match"},
		{"most branches", strings.Repeat("a|", maxPattern/2), "a", "match"},
		{"most word ends", strings.Repeat(`\<`, maxPattern/2-1) + "a", "a", "match"},
		{"deepest groups", nested(maxDepth-1, ""), "a", "match"},
		{"deeper groups", nested(maxDepth, ""), "a", string(ErrSize)},
		{"very deep groups", nested(maxPattern/2-1, ""), "a", string(ErrSize)},
		{"open groups only", strings.Repeat("(", maxPattern), "a", string(ErrSize)},
		{"most repetitions of repetitions", "a" + strings.Repeat("*", maxDepth-1), "", "match"},
		{"more repetitions of repetitions", "a" + strings.Repeat("*?+", maxPattern/3), "", string(ErrSize)},
		{"intervals of intervals", "a" + strings.Repeat("{2}?", maxPattern/4-1), "", string(ErrSize)},
		{"largest interval", "^a{0,1000}$", many, "match"},
		{"larger interval", "a{1001}", "a", string(ErrSize)},
		{"largest exact interval", "^a{1000}$", strings.Repeat("a", maxRepeat), "match"},
		{"largest exact interval, one short", "^a{1000}$", strings.Repeat("a", maxRepeat-1), "no match"},
		{"largest interval of intervals", "^(a{10}){100}$", strings.Repeat("a", maxRepeat), "match"},
		{"larger interval of intervals", "(a{10}){101}", "a", string(ErrSize)},
		{"largest program", "(" + strings.Repeat("a", 128) + "){1000}", "a", "no match"},
		{"larger program of several intervals", strings.Repeat("a{1000}", 128), "a", string(ErrSize)},
		{"larger program", "(" + strings.Repeat("a", 129) + "){1000}", "a", string(ErrSize)},
		{"intervals of nothing", "((((){1000}){1000}){1000}){1000}", "a", string(ErrSize)},
		{"optional intervals of nothing", nested(300, "{1,2}"), "a", string(ErrSize)},
		{"loops", nested(300, "*") + "b", many, "no match"},
		{"one or more of one or more", nested(300, "+") + "b", many, "no match"},
		{"loops of the same", "(a|a)*(a*)*(a|aa)+b", many, "no match"},
		{"optional bytes", "(a?){1000}b", many, "no match"},
		{"many states", "[ab]*a[ab]{100}c", strings.Repeat("aabab", 2000), "no match"},
		{"assertion loops", `(((\b){2,}){1,3})*(\B|^|$)*c`, many, "no match"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Compile(row.pattern)
			assert.Equal(t, err, Check(row.pattern))
			assert.Equal(t, row.answer, answer(row.pattern, row.subject))
		})
	}
}

// The translation of a pattern takes memory in proportion to its length, not to the square of that.
func TestLongPatternsTakeLinearMemory(t *testing.T) {
	taken := func(length int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := translate("[" + strings.Repeat("a", length) + "]" + strings.Repeat("b*", length))
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		return after.TotalAlloc - before.TotalAlloc
	}
	assert.Less(t, taken(maxPattern/4), 32*taken(maxPattern/64))
}

// Find returns a part of the leftmost longest match, as POSIX has it, in bytes.
func TestFind(t *testing.T) {
	for _, tt := range []struct{ pattern, in, want string }{
		{"^([a-z]+)", "sda1", "sda"},
		{"[0-9]+", "nvme0n12", "0"},
		{"(a)|(b)", "xb", "b"},
		{"x(y)?z", "xz", "xz"},
		{"x(y*)z", "xz", ""},
		{"(a|ab)(c|bcd)?", "abcd", "a"},
		{"a|ab", "xab", "ab"},
		{"(x|xy)+", "xxy", "xy"},
		{"nobody", "root", ""},
		{"", "root", ""},
		{".", "ü", "\xc3"},
		{"b(.*)", "abü\xff", "ü\xff"},
		{"b.*", "abü\xff", "bü\xff"},
		{"a.*", "ab\x00c", "ab"},
	} {
		re, err := Compile(tt.pattern)
		require.NoError(t, err)
		assert.Equal(t, tt.want, re.Find(tt.in), "/%s/ in %q", tt.pattern, tt.in)
	}
}

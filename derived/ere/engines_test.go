package ere

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func compileText(t testing.TB, pattern string) *program {
	t.Helper()
	tree, err := parse(pattern)
	require.NoError(t, err)
	p, err := compile(tree)
	require.NoError(t, err)
	return p
}

// The automaton and the search share nothing but the program, and must not differ.
func TestEnginesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	matches := 0
	for range 20_000 {
		pattern, subject := randomValid(r, 5), randomSubject(r)
		p := compileText(t, pattern)
		want := newSearch(p).match(subject)
		require.Equal(t, want, newAutomaton(p).match(subject), "pattern %q, subject %q", pattern, subject)
		if want {
			matches++
		}
	}
	assert.InDelta(t, 10_000, matches, 5_000, "one answer is too rare for this test to say much")
}

// What a search is spared would not have matched.
func TestFilterRefusesNoMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	matches, spared := 0, 0
	for range 20_000 {
		pattern := "(" + randomValid(r, 3) + ")" + randomValid(r, 2) + `\1` + randomValid(r, 2)
		tree, err := parse(pattern)
		if err != nil {
			continue // an anchor that would be repeated
		}
		p, err := compile(tree)
		require.NoError(t, err)
		f, subject := newFiltered(p), randomSubject(r)
		if newSearch(p).match(subject) {
			require.True(t, f.match(subject), "pattern %q, subject %q", pattern, subject)
			matches++
		} else if !f.loose.match(subject) {
			spared++
		}
	}
	assert.Greater(t, matches, 2000)
	assert.Greater(t, spared, 2000)
}

// A pattern with thousands of states keeps within the cache and is right all the same.
func TestAutomatonForgets(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	p := compileText(t, "[ab]*a[ab]{14}c")
	a := newAutomaton(p)
	forgotten, before := 0, 0
	for range 300 {
		subject := make([]byte, 120)
		for i := range subject {
			subject[i] = "ab"[r.IntN(2)]
		}
		subject[60+r.IntN(60)] = 'c'
		at := strings.IndexByte(string(subject), 'c')
		require.Equal(t, subject[at-15] == 'a', a.match(string(subject)), "%s", subject)
		if len(a.states) < before {
			forgotten++
		}
		before = len(a.states)
		assert.Less(t, a.size, maxCache+4096)
	}
	assert.Positive(t, forgotten, "the cache was never full")
}

// A state whose way is blocked ends the match early instead of reading the rest of the subject.
func TestAnchoredPatternGivesUpEarly(t *testing.T) {
	for _, row := range []struct {
		name, pattern string
		anchored      bool
	}{
		{"caret", "^a", true},
		{"all branches", "^a|^b", true},
		{"inside groups", "((^a)|(^))b", true},
		{"GNU form", "\\`a", true},
		{"behind something empty", "x{0}^a", true},
		{"behind an assertion", `\<^a`, true},
		{"one branch only", "^a|b", false},
		{"optional", "(^)?a", false},
		{"behind something optional", "x*^a", false},
		{"no byte at all", "$", false},
		{"nothing", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := newAutomaton(compileText(t, row.pattern))
			assert.Equal(t, row.anchored, a.anchored)
			assert.False(t, row.anchored && a.match("xa"))
		})
	}
}

func TestSearchIsCutOff(t *testing.T) {
	subject := strings.Repeat("ab", 100)
	s := newSearch(compileText(t, `(.*)(.*)(.*)\1\2\3x|(.)-\4$`))
	assert.False(t, s.match(subject+"a-a"))
	assert.Len(t, s.seen, maxSearch)

	assert.True(t, s.match("a-a"), "the next subject suffers from the last one")
	s = newSearch(compileText(t, `^(.*)-\1$`))
	assert.True(t, s.match(subject+"-"+subject))
	assert.Less(t, len(s.seen), maxSearch)
}

func TestClassesAreFew(t *testing.T) {
	for _, row := range []struct {
		name, pattern string
		columns       int // with the one for the end of the subject
	}{
		{"nothing to tell apart", "", 2},
		{"any byte", ".*", 2},
		{"one byte", "aaa", 3},
		{"overlapping sets", "[a-m][h-z]", 5},
		{"words", `\<`, 3},
		{"words and a member", `\<a`, 4},
		{"all bytes", "[\x01-\x7f]", 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.columns, newAutomaton(compileText(t, row.pattern)).columns())
		})
	}
}

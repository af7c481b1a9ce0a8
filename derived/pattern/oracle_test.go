//go:build oracle && linux

package pattern

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests compile testdata/gen/ere.c with gcc and need glibc, hence the build tag:
//
//	go test -tags oracle -run Oracle -v ./derived/pattern
//	go test -tags oracle -run OracleRandom -v ./derived/pattern -seed 7 -rows 1000000
//
// Without gcc they fail.

var (
	seed = flag.Uint64("seed", 1, "of the random patterns")
	rows = flag.Int("rows", 20_000, "how many of them")
)

// oracle is the C library, ready to be asked.
type oracle struct{ program string }

func newOracle(t *testing.T) oracle {
	t.Helper()
	program := filepath.Join(t.TempDir(), "ere")
	out, err := exec.CommandContext(t.Context(), "gcc", "-O2", "-Wall", "-Wextra", "-Werror",
		"-o", program, filepath.Join("testdata", "gen", "ere.c")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return oracle{program}
}

// answer returns the table it is given with the answers of the library in a locale.
func (o oracle) answer(t *testing.T, locale, table string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.program)
	cmd.Env = append(os.Environ(), "ERE_LOCALE="+locale)
	cmd.Stdin = strings.NewReader(table)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	require.NoError(t, err, "%s; answers so far: %d; the library may hang on the pattern that is next",
		failure.String(), strings.Count(string(out), "\n"))
	return string(out)
}

func TestOracleStillGivesTheTable(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("testdata", "patterns.tsv"))
	require.NoError(t, err)
	assert.Equal(t, string(table), newOracle(t).answer(t, "C", string(table)))
}

func TestOracleRandom(t *testing.T) {
	o := newOracle(t)
	for _, setting := range []struct {
		locale string
		wants  func(text string) bool
	}{
		{"C", func(string) bool { return true }},
		{"C.UTF-8", isASCII}, // for the rest a UTF-8 locale differs, see the package comment
	} {
		t.Run(setting.locale, func(t *testing.T) {
			r := rand.New(rand.NewPCG(*seed, 0))
			var table strings.Builder
			for range *rows {
				next := row{pattern: randomPattern(r), subject: randomSubject(r)}
				if next.pattern != "" && setting.wants(next.pattern+next.subject) && !mayDiffer(next) {
					table.WriteString(next.name() + "\n")
				}
			}
			count := map[string]int{}
			for _, r := range parseRows(t, o.answer(t, setting.locale, table.String())) {
				got := row{r.pattern, r.subject, answer(r.pattern, r.subject)}
				switch {
				case r.refused():
					assert.True(t, got.refused(), "row %s", r.name())
				case !got.refused():
					assert.Equal(t, r.answer, got.answer, "row %s", r.name())
				}
				count[got.answer]++
			}
			t.Log(count)
			assert.Greater(t, len(count), 9, "some kinds of answer never come up")
		})
	}
}

func randomPattern(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0, 1, 2, 3:
		return randomValid(r, 4)
	default:
		return randomPieces(r)
	}
}

// pieces are what random patterns without any structure are made of; most of these are refused.
const pieces = `a b a b c _ - ] [ [^ [a [a-c] [ab] [^a] [] ] { } {1} {,2} {2,} {1,3} {0} , 1 2 ( ) ( ) () | | * + ? . ` +
	`^ $ \ \b \B \< \> \w \W \s \S \` + "` " + `\' \( \n \1 [: :] [:alpha:] [[:digit:]] [[:space:]] [[:x:]] [= [=a=] [. [.-.] .] ` +
	`[.a.] \, \0 [[.a.]-c] \} \{ (a) (b*) (a|b)`

// randomPieces strings pieces together.
func randomPieces(r *rand.Rand) string {
	all := append(strings.Fields(pieces), " ", "\n", "\xc3", "\xe9")
	var b strings.Builder
	for range 1 + r.IntN(9) {
		b.WriteString(pick(r, all))
	}
	return b.String()
}

// mayDiffer says whether a row is of a kind that testdata/differences.tsv lists. Three hyphens in
// a row are left out because later libraries are free to read them in another way.
func mayDiffer(r row) bool {
	asserts := strings.ContainsAny(r.pattern, "^$")
	for _, assertion := range strings.Fields(`\b \B \< \> \' \` + "`") {
		asserts = asserts || strings.Contains(r.pattern, assertion)
	}
	if strings.Contains(r.pattern, `\<`) || strings.Contains(r.pattern, `\>`) {
		return true
	}
	return asserts && (strings.ContainsAny(r.pattern, "{+") || strings.Contains(r.subject, "\n")) ||
		strings.Contains(r.pattern, "---")
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] > '~' {
			return false
		}
	}
	return true
}

// randomValid makes a pattern that is never refused; a group is inside at most depth others. The
// C library takes exponential time when there are many intervals inside each other.
func randomValid(r *rand.Rand, depth int) string {
	kind := r.IntN(12)
	if depth == 0 {
		kind = r.IntN(5)
	}
	switch {
	case kind < 4:
		return pick(r, strings.Fields(`a b c . [ab] [^a] _ - [[:alpha:]] \w \W \s`))
	case kind < 5:
		return pick(r, strings.Fields(`^ $ \b \B \< \> \' \`+"`"))
	case kind < 8:
		return randomValid(r, depth-1) + randomValid(r, depth-1)
	case kind < 9:
		return randomValid(r, depth-1) + "|" + randomValid(r, depth-1)
	case kind < 10:
		return "(" + randomValid(r, depth-1) + "|" + randomValid(r, depth-1) + ")"
	case kind < 11:
		return "()"
	default:
		return "(" + randomValid(r, depth-1) + ")" + pick(r, strings.Fields("* + ? {2} {,2} {1,3} {2,} {0}"))
	}
}

func randomSubject(r *rand.Rand) string {
	const alphabet = "aaabbbccc__-- ]1.\n\xc3\xe9"
	b := make([]byte, r.IntN(8))
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

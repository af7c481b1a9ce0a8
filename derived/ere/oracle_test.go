//go:build oracle && linux

package ere

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests compile testdata/gen/ere.c with gcc and need glibc, hence the build tag:
//
//	go test -tags oracle -run Oracle -v ./derived/ere
//	ERE_SEED=7 ERE_ROWS=1000000 go test -tags oracle -run OracleRandom -v ./derived/ere
//
// Without gcc they fail.

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
	table, err := os.ReadFile(filepath.Join("testdata", "ere.tsv"))
	require.NoError(t, err)
	assert.Equal(t, string(table), newOracle(t).answer(t, "C", string(table)))
}

func TestOracleRandom(t *testing.T) {
	seed, rows := number(t, "ERE_SEED", 1), number(t, "ERE_ROWS", 20_000)
	t.Logf("ERE_SEED=%d ERE_ROWS=%d", seed, rows)
	o := newOracle(t)
	for _, setting := range []struct {
		locale string
		wants  func(text string) bool
	}{
		{"C", func(string) bool { return true }},
		{"C.UTF-8", isASCII}, // for the rest a UTF-8 locale differs, see the package comment
	} {
		t.Run(setting.locale, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			var table strings.Builder
			for range rows {
				next := row{pattern: randomPattern(r), subject: randomSubject(r)}
				if next.pattern != "" && setting.wants(next.pattern+next.subject) && !libraryErrs(next) {
					table.WriteString(next.name() + "\n")
				}
			}
			count := map[string]int{}
			for _, r := range parseRows(t, o.answer(t, setting.locale, table.String())) {
				assert.Equal(t, r.answer, answer(r.pattern, r.subject), "row %s", r.name())
				count[r.answer]++
			}
			t.Log(count)
			assert.Greater(t, len(count), 12, "some kinds of answer never come up")
		})
	}
}

func randomPattern(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return "(" + randomValid(r, 2) + ")" + randomValid(r, 2) + `\1`
	case 1, 2, 3:
		return randomValid(r, 4)
	default:
		return randomPieces(r)
	}
}

// pieces are what random patterns without any structure are made of; most of these are refused.
const pieces = `a b a b c _ - ] [ [^ [a [a-c] [ab] [^a] [] ] { } {1} {,2} {2,} {1,3} {0} , 1 2 ( ) ( ) () | | * + ? . ` +
	`^ $ \ \b \B \< \> \w \W \s \S \` + "` " + `\' \( \n \1 [: :] [:alpha:] [[:digit:]] [[:space:]] [= [=a=] [. [.-.] .] ` +
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

// libraryErrs says whether a row is of a kind that testdata/differences.tsv lists. Three hyphens in
// a row are left out because later libraries are free to read them in another way.
func libraryErrs(r row) bool {
	asserts := strings.ContainsAny(r.pattern, "^$")
	for _, assertion := range strings.Fields(`\b \B \< \> \' \` + "`") {
		asserts = asserts || strings.Contains(r.pattern, assertion)
	}
	refers := strings.Contains(r.pattern, `\1`)
	repeats := strings.Contains(r.pattern, "{")
	return asserts && (repeats || refers || strings.Contains(r.pattern, "+") || strings.Contains(r.subject, "\n")) ||
		refers && repeats || strings.Contains(r.pattern, "---")
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] > '~' {
			return false
		}
	}
	return true
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return n
}

package ere

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCompile wants an answer for every pattern and subject, from both engines the same.
func FuzzCompile(f *testing.F) {
	for _, r := range readRows(f, "ere.tsv") {
		f.Add(r.pattern, r.subject)
	}
	for _, r := range readRows(f, "differences.tsv") {
		f.Add(r.pattern, r.subject)
	}
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		re, err := Compile(pattern)
		if err != nil {
			var reason Error
			require.ErrorAs(t, err, &reason)
			return
		}
		require.LessOrEqual(t, len(re.program.code), maxProgram)
		matched := re.MatchString(subject)
		require.Equal(t, matched, re.MatchString(subject), "asked again")

		// With few enough places the search is sure to finish.
		if !re.program.backrefs && len(re.program.code)*(len(subject)+1) < maxSearch {
			require.Equal(t, newSearch(re.program).match(subject), matched)
		}
		again, err := Compile(re.String())
		require.NoError(t, err)
		require.Equal(t, matched, again.MatchString(subject))
	})
}

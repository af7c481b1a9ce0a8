package pattern

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCompile wants an answer for every pattern and subject.
func FuzzCompile(f *testing.F) {
	for _, r := range readRows(f, "patterns.tsv") {
		f.Add(r.pattern, r.subject)
	}
	for _, r := range readRows(f, "differences.tsv") {
		f.Add(r.pattern, r.subject)
	}
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		re, err := Compile(pattern)
		require.Equal(t, err, Check(pattern))
		if err != nil {
			var reason Error
			require.ErrorAs(t, err, &reason)
			return
		}
		matched := re.MatchString(subject)
		require.Equal(t, matched, re.MatchString(subject), "asked again")

		twice, err := Compile(cString(pattern) + "|" + cString(pattern))
		if err != nil {
			require.Equal(t, ErrSize, err)
			return
		}
		require.Equal(t, matched, twice.MatchString(subject), "either of two")
	})
}

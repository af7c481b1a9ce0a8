package pattern

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkMatchString matches the names of 10,000 processes, as in a first fetch of proc metrics.
func BenchmarkMatchString(b *testing.B) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("%06d-process-%d", i, i%97)
	}
	for _, row := range []struct{ name, pattern string }{
		{"end", "9$"},
		{"anchored", "^(sd|hd|nvme)[a-z]+[0-9]*$"},
		{"bracket", "process-[13579]+$"},
		{"alternation", "^0*[0-9]*1-process-(1|2|3|4)"},
		{"word", `\<process-1\>`},
		{"class", `^[[:digit:]]+-[[:alpha:]]+-.*7`},
	} {
		b.Run(row.name, func(b *testing.B) {
			re, err := Compile(row.pattern)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				for _, name := range names {
					re.MatchString(name)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, err := Compile("^(sd|hd|nvme)[a-z]+[0-9]{1,3}$")
		require.NoError(b, err)
	}
}

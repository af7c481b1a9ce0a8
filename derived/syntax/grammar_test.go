package syntax

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGrammar keeps grammar.txt whole: every word and operator the parser knows is in it.
func TestGrammar(t *testing.T) {
	file, err := os.ReadFile("grammar.txt")
	require.NoError(t, err)
	grammar := string(file)

	words := []string{"mkconst", "novalue", "rescale", "matchinst"}
	for f := Avg; f <= Anon; f++ {
		words = append(words, f.String())
	}
	for _, w := range words {
		k, _ := word(w)
		assert.NotEqual(t, tokName, k, w)
		assert.Contains(t, grammar, `"`+w+`("`)
	}
	for _, key := range []string{"type", "semantics", "units", "meta", "indom"} {
		assert.Regexp(t, `"`+key+`" +"="`, grammar)
	}
	for op := Neg; op <= Or; op++ {
		assert.Contains(t, grammar, `"`+op.String()+`"`)
	}
}

package syntax

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGrammar keeps grammar.txt whole: every word and operator the parser knows is in it.
func TestGrammar(t *testing.T) {
	file, err := os.ReadFile("grammar.txt")
	require.NoError(t, err)
	grammar := string(file)

	for f := Avg; int(f) < len(functions); f++ {
		assert.Equal(t, f.String(), functionOf(f.String()).String())
		assert.True(t, strings.Contains(grammar, `"`+f.String()+`("`), "derived/syntax/grammar.txt has no function %s()", f)
	}
	for _, key := range []string{"type", "semantics", "units", "meta", "indom"} {
		assert.Regexp(t, `"`+key+`" +"="`, grammar)
	}
	for op := Neg; op <= Or; op++ {
		assert.True(t, strings.Contains(grammar, `"`+op.String()+`"`), "derived/syntax/grammar.txt has no operator %s", op)
	}
}

package syntax

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/test/conformance"
)

// TestCorpus reads every definition of the corpus: what libpcp 6.0.3 refuses has its message and
// caret, to the byte; everything else has to be read. The wanted differences are those of package
// conformance; what is answered in their cases is in testdata/corpus-differences.txt of package derived.
func TestCorpus(t *testing.T) {
	refused := 0
	for _, c := range conformance.ReadCorpus(t, "../testdata/corpus") {
		t.Run(c.Name, func(t *testing.T) {
			text := " " + c.Expr // as behind the "=": the blank counts for the caret
			e, err := Parse(text, literals(c))
			_, wanted := conformance.Wanted(c.Name)
			switch {
			case c.Class == "config": // no expression at all: the file reader refuses it in PCP
				require.Empty(t, c.Expr)
				assert.Error(t, err)
			case c.Class != "syntax" || wanted && err == nil:
				require.NoError(t, err)
				again, err := Parse(e.String(), literals(c))
				require.NoError(t, err)
				assert.Equal(t, e.String(), again.String())
				assert.Equal(t, shape(e), shape(again))
			default:
				refused++
				got := fault(t, err)
				shown := conformance.Shown(text, got.At, got.Msg)
				if wanted {
					assert.NotEqual(t, c.Message(), shown, "no difference any more")
				} else {
					assert.Equal(t, c.Message(), shown)
				}
			}
		})
	}
	assert.Greater(t, refused, 150, "the corpus lost its syntax errors")
}

// literals refuses units or patterns where libpcp did, for the reason it gave.
func literals(c *conformance.Case) Literals {
	reason := func(intro string) func(string) error {
		_, rest, ok := strings.Cut(c.Stderr, "\n"+intro+": '")
		if !ok || c.Class != "syntax" {
			return nil
		}
		err := errors.New(strings.TrimSuffix(rest, "'\n"))
		return func(string) error { return err }
	}
	return Literals{Units: reason("Illegal units"), Pattern: reason("bad regular expression")}
}

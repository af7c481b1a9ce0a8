package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/syntax"
)

// Each function has a row here and one in package syntax. Package engine holds its own table to the same.
func TestFunctionsHaveRows(t *testing.T) {
	for f := range syntax.Functions {
		_, ok := functions[f]
		assert.True(t, ok, "%s() has a row in derived/syntax/functions.go and none in derived/check/functions.go", f)
	}
	for f := range functions {
		assert.NotPanics(t, func() { require.NotEmpty(t, f.String()) },
			"function %d has a row in derived/check/functions.go and none in derived/syntax/functions.go", f)
	}
}

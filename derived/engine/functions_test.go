package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/syntax"
)

// Each function has a row here and one in package syntax. Package check holds its own table to the same.
func TestFunctionsHaveRows(t *testing.T) {
	for f := range syntax.Functions {
		ok := int(f) < len(functions) && functions[f].step != 0
		assert.True(t, ok, "%s() has a row in derived/syntax/functions.go and none in derived/engine/functions.go", f)
	}
	for i, row := range functions {
		f := syntax.Func(i)
		if i > 0 {
			assert.NotPanics(t, func() { require.NotEmpty(t, f.String()) },
				"function %d has a row in derived/engine/functions.go and none in derived/syntax/functions.go", f)
		}
		assert.Equal(t, row.step == opEach, row.each != nil, "%s(): each", f)
		assert.Equal(t, row.step == opPair, row.pair != nil, "%s(): pair", f)
		assert.Equal(t, row.step == opAggregate, row.reduce != nil, "%s(): reduce", f)
	}
}

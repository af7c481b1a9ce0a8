package plural

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOf(t *testing.T) {
	assert.Equal(t, "0 values", Of(0, "value"))
	assert.Equal(t, "1 value", Of(1, "value"))
	assert.Equal(t, "2 values", Of(2, "value"))
	assert.Equal(t, "3 batches", Of(3, "batch"))
}

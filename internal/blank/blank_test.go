package blank

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBlanks(t *testing.T) {
	for c := range 256 {
		assert.Equal(t, strings.IndexByte(All, byte(c)) >= 0, Is(byte(c)), "%q", c)
	}
	assert.Equal(t, 3, Skip("a \tb", 1))
	assert.Equal(t, 0, Skip("a", 0))
	assert.Equal(t, 2, Skip("a ", 1))
	assert.Equal(t, 2, Skip("a ", 2))
}

package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFit(t *testing.T) {
	buf := make([]uint64, 100_000)
	assert.Same(t, &buf[0], &fit(buf, 50_000)[0])
	assert.Same(t, &buf[0], &fit(buf, 0)[:1][0], "an empty column says nothing about the next")
	assert.Equal(t, 10, cap(fit(buf, 10)), "far too long")
	assert.Len(t, fit(buf, 200_000), 200_000)
}

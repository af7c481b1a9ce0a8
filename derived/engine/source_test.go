package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Registers are used again, the list of them does not grow, and one that was needed once is given back.
func TestRegisters(t *testing.T) {
	var r registers
	a, b := r.take(10), r.take(100_000)
	r.give(a)
	r.give(b)
	assert.Same(t, &a[0], &r.take(5)[0], "the shortest that is long enough")
	assert.Same(t, &b[0], &r.take(5000)[0])
	r.give(a)
	c := r.take(20)
	assert.Len(t, c, 20)
	assert.Empty(t, r.free, "one that is too short is let go")
	r.give(c)
	r.give(b)
	for range 200 {
		r.give(r.take(20))
		r.shrink()
	}
	require.Len(t, r.free, 1)
	assert.Less(t, cap(r.free[0]), 100)
}

func TestFit(t *testing.T) {
	buf := make([]uint64, 100_000)
	assert.Same(t, &buf[0], &fit(buf, 50_000)[0])
	assert.Same(t, &buf[0], &fit(buf, 0)[:1][0], "an empty column says nothing about the next")
	assert.Equal(t, 10, cap(fit(buf, 10)), "far too long")
	assert.Len(t, fit(buf, 200_000), 200_000)
}

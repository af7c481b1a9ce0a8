package soak

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/test/liar"
)

// Every lie of the table is told once before any is told again, and every fourth is random.
func TestOrderOfLies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all, told, n := newLies(random), map[string]bool{}, int64(0)
	for ; len(told) < len(all); n++ {
		order := all.at(n, random)
		if n%everyRandom == everyRandom-1 {
			assert.True(t, strings.HasPrefix(order, "random "))
			continue
		}
		assert.False(t, told[order], order)
		told[order] = true
	}
	assert.Len(t, told, len(liar.Lies()))

	long := Plan{Length: time.Hour, Liars: 2, Lie: time.Second}
	assert.True(t, all.row(n, long).OK)
	assert.False(t, all.row(n-1, long).OK, "one was not told")
	assert.True(t, all.row(1, Plan{Length: time.Second, Liars: 2, Lie: time.Second}).OK, "no time for more")
}

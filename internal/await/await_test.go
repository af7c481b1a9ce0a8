package await_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/await"
)

// failing is a test that records its failure.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(string, ...any) {
	f.failed = true
	panic(f)
}

// until reports whether a wait failed, and how long it took.
func until(condition func() bool) (failed bool, took time.Duration) {
	f, start := &failing{}, time.Now()
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
		failed, took = f.failed, time.Since(start)
	}()
	await.Until(f, "it is so", condition)
	return
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed, took := until(func() bool { return true })
		assert.False(t, failed)
		assert.Zero(t, took, "a condition that is met is not waited for")

		start := time.Now()
		failed, took = until(func() bool { return time.Since(start) >= 50*time.Second })
		assert.False(t, failed)
		assert.InDelta(t, 50*time.Second, took, float64(time.Second), "a slow machine is no failure")

		failed, took = until(func() bool { return false })
		assert.True(t, failed)
		assert.InDelta(t, await.Limit, took, float64(time.Second))
	})
}

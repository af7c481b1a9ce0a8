package agent

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCrowd(t *testing.T) {
	for _, row := range []struct {
		name     string
		contexts []int // one after the other
		released int64
	}{
		{"a few", []int{0, manyContexts - 1, 0}, 0},
		{"many that stay", []int{0, 4 * manyContexts, manyContexts + 1}, 0},
		{"many that go", []int{0, manyContexts, 0}, 1},
		{"most of many", []int{0, 4 * manyContexts, manyContexts}, 1},
		{"some come back at once", []int{0, manyContexts, 0, 10, 0}, 1},
		{"and again", []int{0, manyContexts, 0, manyContexts, 0}, 1},
		{"one at a time", slices.Repeat([]int{1, 0}, manyContexts), 1},
		{"not so many", slices.Repeat([]int{1, 0}, manyContexts-1), 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, released := newCrowd(), atomic.Int64{}
				ctx, cancel := context.WithCancel(t.Context())
				go c.clear(ctx, func() { released.Add(1) })
				for i := 1; i < len(row.contexts); i++ {
					for n := row.contexts[i-1]; n > row.contexts[i]; n-- {
						c.left(n - 1)
					}
					synctest.Wait()
				}
				time.Sleep(dispersal - time.Millisecond)
				synctest.Wait()
				assert.Zero(t, released.Load())
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.Equal(t, row.released, released.Load())
				cancel()
				synctest.Wait()
			})
		})
	}
}

// As long as contexts go in numbers, nothing is given back that the next ones would need.
func TestCrowdThatKeepsGoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, released := newCrowd(), atomic.Int64{}
		ctx, cancel := context.WithCancel(t.Context())
		go c.clear(ctx, func() { released.Add(1) })
		goEvery := func(pause time.Duration, n int) {
			for range n {
				c.left(0)
				time.Sleep(pause)
			}
		}
		goEvery(dispersal/(2*stragglers), 2*manyContexts)
		assert.Zero(t, released.Load())
		goEvery(dispersal/2, 5)
		synctest.Wait()
		assert.EqualValues(t, 1, released.Load(), "one every second")
		cancel()
		synctest.Wait()
	})
}

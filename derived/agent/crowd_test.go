package agent

import (
	"context"
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
		{"a few", []int{0, manyViews - 1, 0}, 0},
		{"many that stay", []int{0, 4 * manyViews, manyViews + 1}, 0},
		{"many that go", []int{0, manyViews, 0}, 1},
		{"most of many", []int{0, 4 * manyViews, manyViews}, 1},
		{"some come back at once", []int{0, manyViews, 0, 10, 0}, 1},
		{"and again", []int{0, manyViews, 0, manyViews, 0}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, released := newCrowd(), atomic.Int64{}
				ctx, cancel := context.WithCancel(t.Context())
				go c.clear(ctx, func() { released.Add(1) })
				for i := 1; i < len(row.contexts); i++ {
					for n := row.contexts[i-1]; n > row.contexts[i]; n-- {
						c.count(n, n-1)
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

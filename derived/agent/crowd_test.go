package agent

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

func TestCrowd(t *testing.T) {
	for _, row := range []struct {
		name     string
		contexts []int // one after the other
		released int64
	}{
		{"a few", []int{0, manyContexts - 1, 0}, 0},
		{"many that stay", []int{0, 4 * manyContexts, manyContexts + 1}, 0},
		{"many that go", []int{0, manyContexts, 0}, 2},
		{"most of many", []int{0, 4 * manyContexts, manyContexts}, 2},
		{"some come back at once", []int{0, manyContexts, 0, 10, 0}, 2},
		{"and again", []int{0, manyContexts, 0, manyContexts, 0}, 2},
		{"one at a time", slices.Repeat([]int{1, 0}, manyContexts), 2},
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
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Equal(t, row.released, released.Load(), "at once, and when what was sampled for them is too old")
				cancel()
				synctest.Wait()
			})
		})
	}
}

// Those who stay when a crowd has gone do not notice: what is known of them, and their histories, go on.
func TestCrowdLeavesTheOthersAlone(t *testing.T) {
	b := newBench(t, conf("d = delta(up.count)", "c = up.count"), withoutWarmStart)
	const stays = pmda.Client(10 * manyContexts)
	b.agent.Attribute(stays, pdu.AttrUserID, "7")
	b.sample(100, "d", "c")
	b.value(stays, 0, "d")
	for c := range pmda.Client(2 * manyContexts) {
		b.fetch(c, 0, "d")
		b.fetch(c, 1, "c")
	}
	assert.Len(t, b.agent.views.byKey, 4*manyContexts+1)
	b.pass(time.Second)
	b.sample(107, "d", "c")
	a := b.agent
	pointers := func() (all []uintptr) {
		for _, m := range []any{a.clients, a.views.byKey, a.views.ofClient} {
			all = append(all, reflect.ValueOf(m).Pointer())
		}
		return all
	}
	before := pointers()
	for c := range pmda.Client(2 * manyContexts) {
		b.agent.EndContext(c)
	}
	for i, now := range pointers() {
		assert.NotEqual(t, before[i], now, "the map is a smaller one")
	}
	assert.Len(t, b.agent.views.byKey, 1)
	assert.Len(t, b.agent.views.ofClient, 1)
	assert.Equal(t, 7, b.agent.clients[stays].uid)
	assert.Equal(t, "7", b.value(stays, 0, "d"))
	b.agent.EndContext(stays)
	assert.Empty(t, b.agent.clients)
	assert.Empty(t, b.agent.views.byKey)
}

// As long as contexts go in numbers nothing is given back that the next ones would need, but not for ever.
func TestCrowdThatKeepsGoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, released := newCrowd(), atomic.Int64{}
		ctx, cancel := context.WithCancel(t.Context())
		go c.clear(ctx, func() { released.Add(1) })
		const pause = dispersal / (2 * stragglers)
		goFor := func(d, pause time.Duration) (times int64) {
			before := released.Load()
			for range d / pause {
				c.left(0)
				time.Sleep(pause)
			}
			synctest.Wait()
			return released.Load() - before
		}
		begin := manyContexts * pause
		assert.Zero(t, goFor(begin+patience-dispersal, pause))
		assert.EqualValues(t, 1, goFor(2*dispersal, pause), "they have not come to an end in time")
		assert.InDelta(t, 15, goFor(20*time.Minute, pause), 5, "once a minute at most, every two minutes at least")
		assert.NotZero(t, goFor(2*respite, dispersal/2), "one every second: the others have gone")
		time.Sleep(respite + settling)
		synctest.Wait()
		assert.Zero(t, goFor(time.Hour, time.Hour), "nobody any more")
		cancel()
		synctest.Wait()
	})
}

package sampler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const ms = time.Millisecond

// RunDue comes when the ticker has asked for it, and later.
func TestTicker(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	c := &ticker{rhythm: rhythm{interval: time.Second}, windows: []int{4, 5}}
	advance := func(now time.Time) {
		if now.Before(c.nextTick) {
			return
		}
		if c.startTick(now) {
			c.pending = c.windowsAt(c.tickTime)
		}
		c.nextTick = c.tickAfter(now)
	}
	c.nextTick = c.tickAfter(start.Add(300 * ms))
	assert.Equal(t, start.Add(time.Second), c.nextEvent(), "at a multiple of the interval")
	advance(start.Add(999 * ms))
	assert.Empty(t, c.pending)
	advance(start.Add(1002 * ms))
	assert.EqualValues(t, 1, c.tick)
	assert.Equal(t, []int{4, 5}, c.pending)
	assert.Equal(t, start.Add(1500*ms+1), c.nextEvent(), "until then its sample may come")

	assert.Empty(t, c.takeExpired(start.Add(1500*ms)))
	c.pending = c.pending[1:] // one has come
	assert.Equal(t, []int{5}, c.takeExpired(start.Add(1501*ms)))
	assert.Equal(t, start.Add(2*time.Second), c.nextEvent())

	advance(start.Add(4400 * ms))
	assert.EqualValues(t, 4, c.tick, "two were slept through")
	assert.Equal(t, start.Add(4*time.Second), c.tickTime)
	assert.Equal(t, []int{4, 5}, c.takeExpired(start.Add(5600*ms)))
	advance(start.Add(5600 * ms))
	assert.EqualValues(t, 4, c.tick, "it is too late for a sample of that one")
	assert.Equal(t, start.Add(6*time.Second), c.nextEvent())

	advance(start.Add(6 * time.Second))
	assert.EqualValues(t, 6, c.tick)
	c.nextTick = start // the clock was set back by five seconds
	advance(start.Add(1001 * ms))
	assert.EqualValues(t, 7, c.tick, "ticks are counted")
}

// Per-client windows have a tick each second while a client reads them, else seldom.
func TestTickerOfPerClientWindows(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	c := &ticker{
		rhythm: rhythm{time.Second, true}, unreadInterval: 5 * time.Second,
		windows: []int{4, 5, 6}, together: []int{4: 4, 5: 5, 6: 5},
	}
	assert.Equal(t, start.Add(5*time.Second), c.tickAfter(start.Add(300*ms)))
	assert.Equal(t, []int{4, 5, 6}, c.windowsAt(start))
	c.read = map[int]bool{5: true}
	assert.Equal(t, start.Add(time.Second), c.tickAfter(start.Add(300*ms)))
	assert.Equal(t, []int{5, 6}, c.windowsAt(start.Add(time.Second)))
	assert.Equal(t, []int{4, 5, 6}, c.windowsAt(start.Add(5*time.Second)))

	c.unreadInterval, c.read = 0, nil
	assert.True(t, c.tickAfter(start).After(start.Add(24*time.Hour)), "never")
}

package quiet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pmda/quiet"
)

func TestTimer(t *testing.T) {
	const ms = time.Millisecond
	timer, err := quiet.NewTimer()
	require.NoError(t, err)
	start := time.Now()
	waits := func(atLeast time.Duration) {
		t.Helper()
		assert.True(t, timer.Wait())
		assert.GreaterOrEqual(t, time.Since(start), atLeast)
	}
	timer.Set(20 * ms)
	waits(20 * ms)
	for _, past := range []time.Duration{0, -time.Hour} {
		timer.Set(past)
		waits(0)
	}

	timer.Set(time.Hour)
	ended := make(chan bool)
	go func() { ended <- timer.Wait() }()
	start = time.Now()
	timer.Set(30 * ms) // sooner than what is waited for
	assert.True(t, <-ended)
	assert.GreaterOrEqual(t, time.Since(start), 30*ms)

	start = time.Now()
	timer.Set(0)
	timer.Set(40 * ms) // what has ended, and was not waited for, does not count
	waits(40 * ms)

	go func() { ended <- timer.Wait() }() // it is not set
	timer.Close()
	assert.False(t, <-ended)
	timer.Set(0)
	assert.False(t, timer.Wait(), "for ever")
}

func TestSetDoesNotAllocate(t *testing.T) {
	timer, err := quiet.NewTimer()
	require.NoError(t, err)
	t.Cleanup(timer.Close)
	assert.Zero(t, testing.AllocsPerRun(100, func() { timer.Set(time.Hour) }))
}

package nonblock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTimer(t *testing.T) {
	timer, err := NewTimer()
	require.NoError(t, err)
	waited := func(set func()) time.Duration {
		t.Helper()
		done := make(chan struct{})
		began := time.Now()
		go func() {
			timer.Wait()
			close(done)
		}()
		set()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			require.FailNow(t, "it does not go off")
		}
		return time.Since(began)
	}
	assert.GreaterOrEqual(t, waited(func() { timer.Set(20 * time.Millisecond) }), 20*time.Millisecond)
	waited(func() { timer.Set(0) })
	waited(func() { timer.Set(-time.Second) })
	waited(func() {
		timer.Set(time.Hour)
		timer.Set(time.Millisecond)
	})
	timer.Set(time.Nanosecond)
	time.Sleep(10 * time.Millisecond)
	began := time.Now()
	timer.Set(20 * time.Millisecond)
	timer.Wait()
	assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond, "what it was set to before is forgotten")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		timer.Set(0)
		timer.Wait()
	}))
}

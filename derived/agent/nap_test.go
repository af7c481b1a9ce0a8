package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNap(t *testing.T) {
	kernel := newNap()
	require.IsType(t, &kernelNap{}, kernel)
	for name, n := range map[string]nap{"kernel": kernel, "go": newGoNap()} {
		t.Run(name, func(t *testing.T) {
			waits := func(set ...time.Duration) time.Duration {
				t.Helper()
				began, done := time.Now(), make(chan struct{})
				n.set(set[0])
				go func() {
					n.wait()
					close(done)
				}()
				for _, d := range set[1:] {
					time.Sleep(time.Millisecond)
					n.set(d)
				}
				select {
				case <-done:
				case <-time.After(20 * time.Second):
					require.FailNow(t, "still waiting")
				}
				return time.Since(began)
			}
			const some = 20 * time.Millisecond
			assert.GreaterOrEqual(t, waits(some), some)
			assert.GreaterOrEqual(t, waits(time.Hour, some), some, "it was moved to come earlier")
			n.set(some)
			assert.GreaterOrEqual(t, waits(2*some), 2*some, "and later")
			waits(0)
			waits(-time.Second)
			n.set(0)
			time.Sleep(some)
			assert.GreaterOrEqual(t, waits(some), some, "what nobody has waited for is forgotten")

			n.set(time.Hour)
			go func() {
				time.Sleep(some / 4)
				n.end()
			}()
			n.wait()
			n.set(time.Hour)
			n.wait()
		})
	}
}

func TestGoNapOnAnyClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, n := time.Now(), newGoNap()
		n.set(time.Hour)
		n.wait()
		assert.Equal(t, time.Hour, time.Since(began))
	})
}

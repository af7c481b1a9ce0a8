package agent

import (
	"sync"
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
			began := time.Now()
			n.sleep(20 * time.Millisecond)
			assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond)
			n.rouse()
			n.rouse()
			n.sleep(time.Hour)
			began = time.Now()
			n.sleep(20 * time.Millisecond)
			assert.GreaterOrEqual(t, time.Since(began), 20*time.Millisecond, "roused once")
			n.sleep(0)
			n.sleep(-time.Second)
		})
	}
}

// No rouse is lost, whenever it comes.
func TestNapIsRoused(t *testing.T) {
	n := newNap()
	var rousers sync.WaitGroup
	done := make(chan struct{})
	wake := make(chan struct{})
	for range 2 {
		rousers.Go(func() {
			for range wake {
				n.rouse()
			}
		})
	}
	go func() {
		defer close(done)
		for range 2000 {
			wake <- struct{}{}
			n.sleep(time.Hour)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.FailNow(t, "a rouse was lost")
	}
	close(wake)
	rousers.Wait()
}

func TestGoNapOnAnyClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		newGoNap().sleep(time.Hour)
		assert.Equal(t, time.Hour, time.Since(began))
	})
}

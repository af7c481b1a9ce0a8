package agent

import (
	"context"
	"maps"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// manyContexts is how many contexts are worth giving memory back for when they have gone.
	manyContexts = 256

	// dispersal is for how long hardly any must have gone before memory is given back: those that still
	// go would need it. There may always be stragglers, such as a script that asks every second. After patience
	// it is given back all the same.
	dispersal  = 2 * time.Second
	stragglers = 16
	patience   = time.Minute

	// respite is the least time between two times: where clients come and go all day there is no crowd.
	respite = time.Minute

	// settling is when what only the crowd has asked for is too old to be kept: then memory is given back once more.
	settling = oldEnough + 2*forgetGap
)

// crowd tells when many contexts have gone, which came together or one after the other. Without many requests there
// is hardly any garbage, so Go's collector and what returns its memory to the kernel have nothing to do for as long
// as nobody comes.
type crowd struct {
	gone  int // since the last time
	ended atomic.Uint64
	ready chan struct{} // when many have gone
}

func newCrowd() *crowd { return &crowd{ready: make(chan struct{}, 1)} }

// left is told that a context has ended, and how many there still are. It reports whether many have gone: three of four.
func (c *crowd) left(remain int) bool {
	c.ended.Add(1)
	if c.gone++; c.gone < manyContexts || remain > c.gone/3 {
		return false
	}
	c.gone = 0
	signal(c.ready)
	return true
}

// clear calls release after each crowd, until ctx ends.
func (c *crowd) clear(ctx context.Context, release func()) {
	pause := time.NewTimer(dispersal)
	pause.Stop()
	defer pause.Stop()
	var (
		waiting  bool
		since    time.Time // waiting
		ended    uint64    // when the timer was set
		released time.Time // zero: never
	)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.ready:
			if !waiting {
				waiting, since, ended = true, time.Now(), c.ended.Load()
				pause.Reset(max(dispersal, released.Add(respite).Sub(since)))
			}
		case now := <-pause.C:
			if n := c.ended.Load(); waiting && n-ended > stragglers && now.Sub(since) < patience {
				ended = n
				pause.Reset(dispersal)
				continue
			}
			if waiting {
				waiting, released = false, now
				pause.Reset(settling)
			}
			release()
		}
	}
}

// releaseMemory gives the kernel back what is not in use. It takes some milliseconds, during which requests go on.
func releaseMemory() { debug.FreeOSMemory() }

// shrunken returns a map with what is in m: one keeps the memory of all that was ever in it.
func shrunken[K comparable, V any](m map[K]V) map[K]V {
	fresh := make(map[K]V, len(m))
	maps.Copy(fresh, m)
	return fresh
}

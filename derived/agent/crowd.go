package agent

import (
	"context"
	"runtime/debug"
	"time"
)

const (
	// manyViews is how many contexts with a history are worth giving memory back for when they have gone.
	manyViews = 256

	// dispersal is how long after most contexts have gone memory is given back: those that still
	// go would need it.
	dispersal = 2 * time.Second
)

// crowd tells when most of many contexts have gone. Without many requests there is hardly any garbage, so Go's
// collector and what returns its memory to the kernel have nothing to do for as long as nobody comes.
type crowd struct {
	most int           // contexts since the last time
	gone chan struct{} // ready when three of four have gone
}

func newCrowd() crowd { return crowd{gone: make(chan struct{}, 1)} }

// count is told how many contexts there are, before and after one ends.
func (c *crowd) count(before, after int) {
	c.most = max(c.most, before)
	if c.most >= manyViews && after <= c.most/4 {
		c.most = after
		signal(c.gone)
	}
}

// clear calls release after each crowd, until ctx ends.
func (c *crowd) clear(ctx context.Context, release func()) {
	pause := time.NewTimer(dispersal)
	pause.Stop()
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.gone:
			pause.Reset(dispersal)
		case <-pause.C:
			release()
		}
	}
}

// releaseMemory gives the kernel back what is not in use. It takes some milliseconds, during which requests go on.
func releaseMemory() { debug.FreeOSMemory() }

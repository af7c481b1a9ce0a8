package agent

import (
	"sync"
	"time"
)

// lulls knows when pmcd last asked us for nothing for a long time. It does one thing at a time, so while it works
// on a fetch of operands no request of its clients comes to us, and what it takes for the fetch lies between two of them.
// Many clients that look up many names keep it from a fetch for as long as a slow agent does. Methods may be called by
// any number of goroutines.
type lulls struct {
	mu    sync.Mutex
	asked time.Time  // last; guarded by mu, as below
	long  standstill // the last lull that was burdensome
}

// end notes that pmcd has asked for something.
func (l *lulls) end(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.asked) >= burdensome {
		l.long = standstill{l.asked, now}
	}
	l.asked = now
}

// longest returns the longest time between two moments in which pmcd did not ask for anything, 0 if that is not burdensome.
// The second moment is now.
func (l *lulls) longest(from, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := max(l.long.within(from, now), standstill{l.asked, now}.within(from, now))
	if longest < burdensome {
		return 0
	}
	return longest
}

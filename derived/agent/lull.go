package agent

import (
	"sync"
	"time"
)

// lulls remembers when pmcd sent us no request for long. pmcd does one thing at a time: while it works on a fetch of
// operands no request of its clients comes to us, so what it takes for the fetch lies between two of them. Many clients that
// look up many names keep it from a fetch for as long as a slow agent does. Methods may be called by any number of goroutines.
type lulls struct {
	mu    sync.Mutex
	asked time.Time  // last; guarded by mu, as below
	long  standstill // the last lull that was burdensome, but for the present one
}

// end notes that a request has come.
func (l *lulls) end(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.asked) >= burdensome {
		l.long = standstill{l.asked, now}
	}
	l.asked = now
}

// most is what pmcd can have taken at most for a fetch that was sent at a time and is answered now: of the last two lulls that were
// burdensome what lies in between, 0 if that is not burdensome.
func (l *lulls) most(sent, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := max(l.long.within(sent, now), standstill{l.asked, now}.within(sent, now))
	if most < burdensome {
		return 0
	}
	return most
}

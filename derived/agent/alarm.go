package agent

import "sync/atomic"

// alarm tells one sleeper that something has happened. While nobody sleeps that costs one load.
type alarm struct {
	set  atomic.Bool
	rung chan struct{} // capacity 1
}

func newAlarm() *alarm { return &alarm{rung: make(chan struct{}, 1)} }

// arm returns a channel that becomes ready at the next ring.
func (a *alarm) arm() <-chan struct{} {
	select {
	case <-a.rung: // for a sleeper that has not waited for it
	default:
	}
	a.set.Store(true)
	return a.rung
}

// ring wakes the sleeper, if there is one.
func (a *alarm) ring() {
	if a.set.Load() && a.set.Swap(false) {
		signal(a.rung)
	}
}

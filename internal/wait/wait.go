// Package wait is for goroutines that wait: to be woken by others, or until they try something again.
package wait

import "time"

// Backoff is how long to wait until something is tried again that has failed: Least at first, then twice as long each
// time, Most in the end. Both may be changed at any time.
type Backoff struct {
	Least, Most time.Duration

	last time.Duration
}

// Next returns how long to wait now.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, b.Least), b.Most)
	return b.last
}

// Last is what Next returned last, 0 if it has not been called since Reset.
func (b *Backoff) Last() time.Duration { return b.last }

// Reset has Next begin with Least again.
func (b *Backoff) Reset() { b.last = 0 }

// Signal makes a channel of capacity one ready, if it is not. It does not wait.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Package wait has what goroutines wait for: the end of a pause before they try again, and a signal of another
// goroutine.
package wait

import "time"

// Backoff has the pauses before something that has failed is tried again: Least at first, then each twice as long as
// the one before, up to Most. Both may be changed at any time. All pauses of the agent that grow are Backoffs.
type Backoff struct {
	Least, Most time.Duration

	last time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, b.Least), b.Most)
	return b.last
}

// Last returns the last pause, 0 if there was none since Reset.
func (b *Backoff) Last() time.Duration { return b.last }

// Reset makes Least the next pause.
func (b *Backoff) Reset() { b.last = 0 }

// Signal sends to a channel of capacity one, unless it has an element already. It does not wait.
func Signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

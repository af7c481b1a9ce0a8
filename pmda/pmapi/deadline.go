package pmapi

import (
	"context"
	"time"
)

// arm gives the socket the deadline of the context until disarm is called. Whatever waits sets
// its own deadline, so the last one may stay.
func (c *Conn) arm(ctx context.Context) (disarm func()) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(c.timeout)
	}
	return interruptible(ctx, deadline, c.socket.SetDeadline)
}

// interruptible sets a deadline that the end of the context brings forward, until disarm is called.
// Errors of set are left to the read or write that follows.
func interruptible(ctx context.Context, deadline time.Time, set func(time.Time) error) (disarm func()) {
	_ = set(deadline)
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		_ = set(time.Unix(1, 0))
	})
	return func() {
		if !stop() {
			<-done // or it would hit the next wait
		}
	}
}

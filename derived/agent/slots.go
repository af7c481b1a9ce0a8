package agent

import (
	"context"
	"sync"
	"time"

	"pmdaderived/pmda/pmapi"
)

// pmcd serves its clients in the order of their slots in its table, so that a request of ours comes
// before that of a client who has asked us something just before, if our slot is the lower one. A new
// connection gets the lowest slot that is free. Over a unix socket pmcd tells its agents the
// process identifier of each client, ours too (docs/pmcd.md b.6).

const (
	// slotPatience is how long to wait for pmcd to tell the slot of a new connection: it has done so
	// before it answers there, but on the pipe.
	slotPatience = 200 * time.Millisecond

	// moveGap is the pause before a connection is made anew for a lower slot: clients come and go in
	// crowds. moveTimeout is how long that may take.
	moveGap     = 50 * time.Millisecond
	moveTimeout = 5 * time.Second
)

// place is told by the request loop the slot of a connection of ours.
func (b *binder) place(slot int) {
	select {
	case b.slots <- slot:
	default:
	}
}

// freed is told by the request loop that a client has gone from a slot.
func (b *binder) freed(slot int) {
	if slot < b.a.sampler.worst() {
		signal(b.better)
	}
}

// sampling is how the sampler's connections differ from that of the binder, which asks for what the agent cannot
// do without.
func (b *binder) sampling() []pmapi.Option {
	return []pmapi.Option{pmapi.WithLimit(int(b.a.options.Limits.Answer))}
}

// link connects to pmcd and finds out the slot, if pmcd tells it soon enough.
func (b *binder) link(ctx context.Context, patience time.Duration, opts ...pmapi.Option) (link, error) {
	for len(b.slots) > 0 {
		<-b.slots
	}
	c, err := b.a.options.Dial(ctx, opts...)
	if err != nil {
		return link{}, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case slot := <-b.slots:
		return link{c, slot}, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return link{c, unknownSlot}, nil
}

// refill makes sampler connections in place of those that were given up.
func (b *binder) refill(ctx context.Context, readers *sync.WaitGroup) error {
	dialling, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	patience := slotPatience
	for b.a.sampler.connections() < lanes {
		made, err := b.link(dialling, patience, b.sampling()...)
		if err != nil {
			return err
		}
		if made.slot == unknownSlot {
			patience = 0
		}
		b.a.sampler.attach(ctx, readers, made)
	}
	return nil
}

// moveDown makes the sampler connection with the highest slot anew, if there is a lower one for it.
func (b *binder) moveDown(ctx context.Context, readers *sync.WaitGroup) {
	worst := b.a.sampler.worst()
	if worst < lanes {
		return // ours and at most one other are below
	}
	dialling, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	made, err := b.link(dialling, slotPatience, b.sampling()...)
	switch {
	case err != nil:
		b.log.WithError(err).Debug("no connection in a lower slot")
	case made.slot >= worst:
		if err := made.conn.Close(); err != nil {
			b.log.WithError(err).Debug("connection does not close")
		}
	default:
		b.a.sampler.attach(ctx, readers, made)
		b.a.sampler.retire(worst)
		signal(b.better) // there may be another
	}
}

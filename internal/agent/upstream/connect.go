package upstream

import (
	"context"
	"slices"
	"sync"
	"time"

	"pmdaderived/internal/wait"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

const (
	// connections is how many there are for fetches. Several, because each has one request at a
	// time: a second one behind it would be answered a round of pmcd later (docs/pmcd.md b.2). The
	// last one is for slow agents.
	connections = 5

	// greetTimeout is how long a connection to pmcd may take: it greets nobody while it starts
	// its agents, us among them.
	greetTimeout = time.Minute

	// Attempts to connect start at firstRetry and slow down to lastRetry, to deniedRetry where
	// pmcd says that we may not.
	firstRetry  = 50 * time.Millisecond
	lastRetry   = 2 * time.Second
	deniedRetry = time.Minute

	// slotPatience is how long to wait for pmcd to tell the slot of a new connection: it has done so
	// before it answers there, but on the pipe.
	slotPatience = 200 * time.Millisecond

	// moveGap is the pause before a connection is made anew for a lower slot: clients come and go
	// together. moveTimeout is how long that may take.
	moveGap     = 50 * time.Millisecond
	moveTimeout = 5 * time.Second
)

// pmcd serves its clients in the order of their slots in its table, so that a request of ours comes
// before that of a client who has asked us something just before, if our slot is the lower one. A new
// connection gets the lowest slot that is free. Over a unix socket pmcd tells its agents the
// process identifier of each client, ours too (docs/pmcd.md b.6).

const unknownSlot = 1 << 30

// todo is what stayConnected has to do.
type todo struct {
	lost   error // the session has ended, because of that
	refill bool  // a connection was given up that the others do without
	better bool  // a lower slot has fallen free
}

// Place is told the slot of a connection of ours.
func (u *Upstream) Place(slot int) {
	select {
	case u.slots <- slot:
	default:
	}
}

// Freed is told that a client of pmcd has gone from a slot.
func (u *Upstream) Freed(slot int) {
	u.mu.Lock()
	defer u.unlock()
	if slot < u.worst() {
		u.todo.better = true
		wait.Signal(u.wake)
	}
}

// lose ends the session.
func (u *Upstream) lose(err error) {
	if u.todo.lost == nil {
		u.todo.lost = err
	}
	wait.Signal(u.wake)
}

// stayConnected makes connections, again and again, until ctx ends.
func (u *Upstream) stayConnected(ctx context.Context) {
	retry, trouble := wait.Backoff{Least: firstRetry}, ""
	for {
		err := u.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		u.mu.Lock()
		heard := u.heard
		u.unlock()
		if heard { // where nothing can be looked up it is tried again ever more slowly
			retry.Reset()
			trouble = ""
		}
		if text := err.Error(); text != trouble {
			trouble = text
			u.log.WithError(err).Warn("no connection to pmcd, trying again")
		}
		retry.Most = lastRetry
		if code := pdu.CodeOf(err); code == pdu.ErrPermission || code == pdu.ErrConnLimit {
			retry.Most = deniedRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry.Next()):
		}
	}
}

// connect is the life of one set of connections. It returns why that has ended, or could not begin.
func (u *Upstream) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readers sync.WaitGroup
	defer readers.Wait()
	defer u.detach()
	u.mu.Lock()
	u.todo, u.heard = todo{}, false // of the session before
	u.unlock()
	if err := u.refill(ctx, &readers); err != nil {
		return err
	}
	var move <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-move:
			u.moveDown(ctx, &readers)
			continue
		case <-u.wake:
		}
		u.mu.Lock()
		next := u.todo
		u.todo = todo{}
		u.unlock()
		if next.better {
			move = time.After(moveGap)
		}
		if next.lost == nil && next.refill {
			next.lost = u.refill(ctx, &readers)
		}
		if next.lost != nil {
			return next.lost
		}
	}
}

// begin begins a session, with the connection that is not for fetches.
func (u *Upstream) begin(lookups *pmapi.Conn) {
	u.mu.Lock()
	defer u.unlock()
	u.lookups = lookups
	if u.last++; u.last > 1 {
		u.figures.Reconnects.Add(1)
	}
	u.session = u.last
	wait.Signal(u.ready)
}

// attach adds a connection for fetches. One of the readers reads from it until ctx ends, it fails or
// detach is called.
func (u *Upstream) attach(ctx context.Context, readers *sync.WaitGroup, c *connection) {
	u.mu.Lock()
	defer u.unlock()
	c.made = u.now()
	u.conns = append(u.conns, c)
	readers.Go(func() { u.read(ctx, c) })
	slices.SortStableFunc(u.conns, func(x, y *connection) int { return x.slot - y.slot })
	u.queue.Hold = false
	u.send(u.now()) // what waits for one that was given up
}

// retire gives up the connection in a slot as soon as nothing is under way on it, if there is another one. There may be a
// lower slot for the next, too.
func (u *Upstream) retire(slot int) {
	u.mu.Lock()
	defer u.unlock()
	u.todo.better = true
	wait.Signal(u.wake)
	i := slices.IndexFunc(u.conns, func(c *connection) bool { return c.slot == slot && !c.leaving })
	if i < 0 || len(u.conns) == 1 { // others have failed meanwhile
		return
	}
	c := u.conns[i]
	c.leaving = true
	if !c.busy {
		u.end(c)
	}
}

// detach ends the session. What its connections had under way is forgotten.
func (u *Upstream) detach() {
	u.mu.Lock()
	defer u.unlock()
	for len(u.conns) > 0 {
		u.end(u.conns[0])
	}
	if u.lookups != nil {
		_ = u.lookups.Close()
	}
	u.lookups, u.session = nil, 0
	u.queue.Forget()
	u.slow.Disconnected()
	u.refusal = ""
	u.maker.Forget()
	for _, s := range u.series {
		s.Kept.Trim(0)
	}
	wait.Signal(u.ready)
}

// worst returns the highest slot of a connection, 0 if none is known.
func (u *Upstream) worst() int {
	if n := len(u.conns); n > 0 && u.conns[n-1].slot != unknownSlot {
		return u.conns[n-1].slot
	}
	return 0
}

// dial makes a connection and finds out its slot, if pmcd tells it soon enough.
func (u *Upstream) dial(ctx context.Context, patience time.Duration, opts ...pmapi.Option) (*connection, error) {
	for len(u.slots) > 0 {
		<-u.slots
	}
	c, err := u.options.Dial(ctx, opts...)
	if err != nil {
		return nil, err
	}
	select {
	case slot := <-u.slots:
		return &connection{conn: c, slot: slot}, nil
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return &connection{conn: c, slot: unknownSlot}, nil
}

// refill makes the connections that there are not: those for fetches first, for low slots in pmcd's table. One that fails
// meanwhile ends the session.
func (u *Upstream) refill(ctx context.Context, readers *sync.WaitGroup) error {
	dialling, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	u.mu.Lock()
	have, begun := len(u.conns), u.lookups != nil
	u.unlock()
	patience := slotPatience
	for ; have < connections; have++ {
		made, err := u.dial(dialling, patience, u.answerLimit)
		if err != nil {
			return err
		}
		if made.slot == unknownSlot {
			patience = 0 // it is not this pmcd that we serve, or it tells no slots
		}
		u.attach(ctx, readers, made)
	}
	if begun {
		return nil
	}
	made, err := u.dial(dialling, patience, pmapi.WithGate(gate{u})) // its slot must not be taken for that of the next one
	if err == nil {
		u.begin(made.conn)
	}
	return err
}

// moveDown makes the connection with the highest slot anew, if there is a lower one for it.
func (u *Upstream) moveDown(ctx context.Context, readers *sync.WaitGroup) {
	u.mu.Lock()
	worst := u.worst()
	u.unlock()
	if worst < connections {
		return // ours and at most one other are below
	}
	dialling, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	made, err := u.dial(dialling, slotPatience, u.answerLimit)
	switch {
	case err != nil:
		u.log.WithError(err).Debug("no connection in a lower slot")
	case made.slot >= worst:
		_ = made.conn.Close()
	default:
		u.attach(ctx, readers, made)
		u.retire(worst)
	}
}

package upstream

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

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

	// Attempts to connect start at firstRetry and slow down to lastRetry, to refusedRetry where
	// pmcd says that we may not.
	firstRetry   = 50 * time.Millisecond
	lastRetry    = 2 * time.Second
	refusedRetry = time.Minute

	// slotPatience is how long to wait for pmcd to tell the slot of a new connection: it has done so
	// before it answers there, but on the pipe.
	slotPatience = 200 * time.Millisecond

	// moveGap is the pause before a connection is made anew for a lower slot: clients come and go in
	// crowds. moveTimeout is how long that may take.
	moveGap     = 50 * time.Millisecond
	moveTimeout = 5 * time.Second
)

// pmcd serves its clients in the order of their slots in its table, so that a request of ours comes
// before that of a client who has asked us something just before, if our slot is the lower one. A new
// connection gets the lowest slot that is free. Over a unix socket pmcd tells its agents the
// process identifier of each client, ours too (docs/pmcd.md b.6).

// link is a connection to pmcd and its place in pmcd's table of clients: unknownSlot if that is not known.
type link struct {
	conn *pmapi.Conn
	slot int
}

const unknownSlot = 1 << 30

// errand is what who keeps us connected has to do.
type errand struct {
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
		u.errand.better = true
		signal(u.wake)
	}
}

// lose ends the session.
func (u *Upstream) lose(err error) {
	if u.errand.lost == nil {
		u.errand.lost = err
	}
	signal(u.wake)
}

// stayConnected makes connections, again and again, until ctx ends.
func (u *Upstream) stayConnected(ctx context.Context) {
	retry, trouble := firstRetry, ""
	for {
		connected, err := u.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if connected {
			trouble = ""
		}
		if u.heard { // what does not even answer is tried again ever more slowly
			retry = firstRetry
		}
		if text := err.Error(); text != trouble {
			trouble = text
			u.log.WithError(err).Warn("no connection to pmcd, trying again")
		}
		slowest := lastRetry
		if code := pdu.CodeOf(err); code == pdu.ErrPermission || code == pdu.ErrConnLimit {
			slowest = refusedRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
		retry = min(2*retry, slowest)
	}
}

// connect is the life of one set of connections. It returns why that has ended, or could not begin.
func (u *Upstream) connect(ctx context.Context) (connected bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readers sync.WaitGroup
	defer readers.Wait()
	defer u.detach()
	u.begin()
	if err := u.refill(ctx, &readers); err != nil { // first, for low slots in pmcd's table
		return false, err
	}
	if err := u.dialControl(ctx); err != nil {
		return false, err
	}
	move := time.NewTimer(time.Hour)
	move.Stop()
	defer move.Stop()
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case <-move.C:
			u.moveDown(ctx, &readers)
			continue
		case <-u.wake:
		}
		u.mu.Lock()
		todo := u.errand
		u.errand = errand{}
		u.unlock()
		if todo.better {
			move.Reset(moveGap)
		}
		if todo.lost == nil && todo.refill {
			todo.lost = u.refill(ctx, &readers)
		}
		if todo.lost != nil {
			return true, todo.lost
		}
	}
}

// begin forgets the session before.
func (u *Upstream) begin() {
	u.mu.Lock()
	defer u.unlock()
	u.errand, u.heard = errand{}, false
}

// dialControl makes the connection that is not for fetches, with which the session has begun.
func (u *Upstream) dialControl(ctx context.Context) error {
	dialling, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	conn, err := u.options.Dial(dialling)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.unlock()
	u.control = conn
	u.last++
	u.session = u.last
	u.remark(logrus.InfoLevel, logrus.Fields{"pmcd": conn.Addr()}, "connected to pmcd")
	u.tell()
	return nil
}

// attach adds connections for fetches. readers read from them until ctx ends, one fails or
// detach is called.
func (u *Upstream) attach(ctx context.Context, readers *sync.WaitGroup, links ...link) {
	u.mu.Lock()
	defer u.unlock()
	for _, l := range links {
		c := &connection{link: l, made: u.now()}
		u.conns = append(u.conns, c)
		readers.Go(func() { u.read(ctx, c) })
	}
	slices.SortStableFunc(u.conns, func(x, y *connection) int { return x.slot - y.slot })
	u.queue.hold = false
	u.send(u.now()) // what waits for one that was given up
}

// retire gives up the connection in a slot as soon as nothing is under way on it, if there is another one.
func (u *Upstream) retire(slot int) {
	u.mu.Lock()
	defer u.unlock()
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
	if u.control != nil {
		_ = u.control.Close()
	}
	u.control, u.session = nil, 0
	u.queue.forget()
	u.size.proven = 0
	u.maker.Forget()
	u.tell()
}

// worst returns the highest slot of a connection, 0 if none is known.
func (u *Upstream) worst() int {
	if n := len(u.conns); n > 0 && u.conns[n-1].slot != unknownSlot {
		return u.conns[n-1].slot
	}
	return 0
}

// link makes a connection for fetches and finds out its slot, if pmcd tells it soon enough.
func (u *Upstream) link(ctx context.Context, patience time.Duration) (link, error) {
	for len(u.slots) > 0 {
		<-u.slots
	}
	c, err := u.options.Dial(ctx, pmapi.WithLimit(u.options.Answer))
	if err != nil {
		return link{}, err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case slot := <-u.slots:
		return link{c, slot}, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return link{c, unknownSlot}, nil
}

// refill makes connections in place of those that were given up.
func (u *Upstream) refill(ctx context.Context, readers *sync.WaitGroup) error {
	dialling, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	patience := slotPatience
	for u.count() < connections {
		made, err := u.link(dialling, patience)
		if err != nil {
			return err
		}
		if made.slot == unknownSlot {
			patience = 0 // it is not this pmcd that we serve, or it tells no slots
		}
		u.attach(ctx, readers, made)
	}
	return nil
}

func (u *Upstream) count() int {
	u.mu.Lock()
	defer u.unlock()
	return len(u.conns)
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
	made, err := u.link(dialling, slotPatience)
	switch {
	case err != nil:
		u.log.WithError(err).Debug("no connection in a lower slot")
	case made.slot >= worst:
		if err := made.conn.Close(); err != nil {
			u.log.WithError(err).Debug("connection does not close")
		}
	default:
		u.attach(ctx, readers, made)
		u.retire(worst)
		u.mu.Lock()
		u.errand.better = true // there may be another
		u.unlock()
		signal(u.wake)
	}
}

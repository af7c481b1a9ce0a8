package pool

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

// todo is what Run has to do.
type todo struct {
	lost      error // the session has ended, because of that
	refill    bool  // a connection was given up that the others do without
	lowerSlot bool  // a lower slot has fallen free
}

// RecordSlot is told the slot of a connection of ours.
func (p *Pool) RecordSlot(slot int) {
	select {
	case p.newSlots <- slot:
	default:
	}
}

// RecordFreedSlot is told that a client of pmcd has gone from a slot.
func (p *Pool) RecordFreedSlot(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slot < p.highestSlot() {
		p.todo.lowerSlot = true
		wait.Signal(p.wake)
	}
}

// loseSession ends the session.
func (p *Pool) loseSession(err error) {
	if p.todo.lost == nil {
		p.todo.lost = err
	}
	wait.Signal(p.wake)
}

// Run makes connections, again and again, until ctx ends. It returns when all that it started has ended.
func (p *Pool) Run(ctx context.Context) {
	retry, trouble := wait.Backoff{Least: firstRetry}, ""
	for {
		err := p.runSession(ctx)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		usable := p.usable
		p.mu.Unlock()
		if usable { // where nothing can be looked up it is tried again ever more slowly
			retry.Reset()
			trouble = ""
		}
		if text := err.Error(); text != trouble {
			trouble = text
			p.log.WithError(err).Warn("no connection to pmcd, trying again")
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

// runSession is the life of one set of connections. It returns why that has ended, or could not begin.
func (p *Pool) runSession(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readers sync.WaitGroup
	defer readers.Wait()
	defer p.EndSession()
	p.mu.Lock()
	p.todo, p.usable = todo{}, false // of the session before
	p.mu.Unlock()
	if err := p.dialMissing(ctx, &readers); err != nil {
		return err
	}
	var move <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-move:
			p.moveToLowerSlot(ctx, &readers)
			continue
		case <-p.wake:
		}
		p.mu.Lock()
		next := p.todo
		p.todo = todo{}
		p.mu.Unlock()
		if next.lowerSlot {
			move = time.After(moveGap)
		}
		if next.lost == nil && next.refill {
			next.lost = p.dialMissing(ctx, &readers)
		}
		if next.lost != nil {
			return next.lost
		}
	}
}

// BeginSession begins a session, with the connection that is not for fetches.
func (p *Pool) BeginSession(lookups *pmapi.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookupConn = lookups
	if p.lastSession++; p.lastSession > 1 {
		p.figures.Reconnects.Add(1)
	}
	p.session = p.lastSession
	wait.Signal(p.options.Ready)
}

// Attach adds a connection for fetches that pmcd has in a slot. One of the readers reads from it until ctx ends, it fails or
// Detach is called.
func (p *Pool) Attach(ctx context.Context, readers *sync.WaitGroup, conn *pmapi.Conn, slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &connection{conn: conn, slot: slot}
	p.conns = append(p.conns, c)
	readers.Go(func() { p.readAnswers(ctx, c) })
	slices.SortStableFunc(p.conns, func(x, y *connection) int { return x.slot - y.slot })
	p.spareLast = false
	p.options.Free(p.now()) // what waits for one that was given up
}

// retireSlot gives up the connection in a slot as soon as nothing is under way on it, if there is another one. There may be a
// lower slot for the next, too.
func (p *Pool) retireSlot(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.todo.lowerSlot = true
	wait.Signal(p.wake)
	i := slices.IndexFunc(p.conns, func(c *connection) bool { return c.slot == slot && !c.draining })
	if i < 0 || len(p.conns) == 1 { // others have failed meanwhile
		return
	}
	c := p.conns[i]
	c.draining = true
	if c.request == nil {
		p.closeConnection(c, Answer{})
	}
}

// EndSession ends the session. What its connections had under way is forgotten.
func (p *Pool) EndSession() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.conns) > 0 {
		p.closeConnection(p.conns[0], Answer{})
	}
	if p.lookupConn != nil {
		_ = p.lookupConn.Close()
	}
	p.lookupConn, p.session = nil, 0
	p.spareLast, p.resend = false, false
	p.slow.ForgetLookup()
	p.lastRefusal = ""
	p.options.Disconnected()
	wait.Signal(p.options.Ready)
}

// highestSlot returns the highest slot of a connection, 0 if none is known.
func (p *Pool) highestSlot() int {
	if n := len(p.conns); n > 0 && p.conns[n-1].slot != unknownSlot {
		return p.conns[n-1].slot
	}
	return 0
}

// dial makes a connection and finds out its slot, if pmcd tells it soon enough.
func (p *Pool) dial(ctx context.Context, patience time.Duration, opts ...pmapi.Option) (conn *pmapi.Conn, slot int, err error) {
	for len(p.newSlots) > 0 {
		<-p.newSlots
	}
	conn, err = p.options.Dial(ctx, opts...)
	if err != nil {
		return nil, unknownSlot, err
	}
	select {
	case slot = <-p.newSlots:
		return conn, slot, nil
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return conn, unknownSlot, nil
}

// dialMissing makes the connections that there are not: those for fetches first, for low slots in pmcd's table. One that fails
// meanwhile ends the session.
func (p *Pool) dialMissing(ctx context.Context, readers *sync.WaitGroup) error {
	dialling, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	p.mu.Lock()
	have, begun := len(p.conns), p.lookupConn != nil
	p.mu.Unlock()
	patience := slotPatience
	for ; have < connections; have++ {
		made, slot, err := p.dial(dialling, patience, p.fetchLimit)
		if err != nil {
			return err
		}
		if slot == unknownSlot {
			patience = 0 // it is not this pmcd that we serve, or it tells no slots
		}
		p.Attach(ctx, readers, made, slot)
	}
	if begun {
		return nil
	}
	made, _, err := p.dial(dialling, patience, pmapi.WithGate(lookupGate{p})) // its slot must not be taken for that of the next one
	if err == nil {
		p.BeginSession(made)
	}
	return err
}

// moveToLowerSlot makes the connection with the highest slot anew, if there is a lower one for it.
func (p *Pool) moveToLowerSlot(ctx context.Context, readers *sync.WaitGroup) {
	p.mu.Lock()
	worst := p.highestSlot()
	p.mu.Unlock()
	if worst < connections {
		return // ours and at most one other are below
	}
	dialling, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	made, slot, err := p.dial(dialling, slotPatience, p.fetchLimit)
	switch {
	case err != nil:
		p.log.WithError(err).Debug("no connection in a lower slot")
	case slot >= worst:
		_ = made.Close()
	default:
		p.Attach(ctx, readers, made, slot)
		p.retireSlot(worst)
	}
}

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
	// connections is the number of connections for fetches. Each has one request at a time, because a second one behind
	// it would be answered a round of pmcd later (docs/pmcd.md b.2). The last one is for agents in quarantine.
	connections = 5

	// greetTimeout is the time that connecting to pmcd may take: pmcd greets nobody while it starts its agents, us
	// among them.
	greetTimeout = time.Minute

	// Attempts to connect are firstRetry apart at first and lastRetry at last, or deniedRetry if pmcd denies access.
	firstRetry  = 50 * time.Millisecond
	lastRetry   = 2 * time.Second
	deniedRetry = time.Minute

	// slotTimeout is the time to wait for the slot of a new connection. pmcd sends it on the pipe, before it answers on
	// the connection, but the request loop may read it later.
	slotTimeout = 200 * time.Millisecond

	// moveGap is the pause before a connection is replaced by one in a lower slot, since clients come and go together.
	// moveTimeout is the time that dialling it may take.
	moveGap     = 50 * time.Millisecond
	moveTimeout = 5 * time.Second
)

// unknownSlot is the slot of a connection whose slot pmcd has not sent.
//
// pmcd serves its clients in the order of their slots in its table. A client asks us for a name, we send a fetch, the
// client sends its own: if our slot is the lower one, ours is served first. A new connection gets the lowest slot that
// is free. pmcd tells its agents the slots of all clients, ours too (docs/pmcd.md b.6).
const unknownSlot = 1 << 30

// todo says what Run has to do.
type todo struct {
	lost      error // why the session has ended; nil: it has not
	refill    bool  // a connection was closed, and the session goes on
	lowerSlot bool  // a lower slot has become free
}

// RecordSlot records the slot of a new connection of ours.
func (p *Pool) RecordSlot(slot int) {
	select {
	case p.newSlots <- slot:
	default:
	}
}

// RecordFreedSlot records that a client of pmcd has left a slot.
func (p *Pool) RecordFreedSlot(slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slot < p.highestSlot() {
		p.todo.lowerSlot = true
		wait.Signal(p.wake)
	}
}

// loseSession has Run end the session.
func (p *Pool) loseSession(err error) {
	if p.todo.lost == nil {
		p.todo.lost = err
	}
	wait.Signal(p.wake)
}

// Run keeps the pool connected until ctx ends. It returns when all goroutines that it has started have ended.
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
		if usable { // or pmcd accepts connections and answers nothing: the pauses grow
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

// runSession dials all connections and looks after them. It returns why the session has ended, or could not begin.
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

// BeginSession begins a session with the connection for lookups.
func (p *Pool) BeginSession(lookups *pmapi.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lookupConn = lookups
	p.lastSession++
	p.session = p.lastSession
	wait.Signal(p.options.Ready)
}

// Attach adds a connection for fetches, whose slot it is told, and starts a reader for it. The reader ends when ctx
// ends or the connection is closed.
func (p *Pool) Attach(ctx context.Context, readers *sync.WaitGroup, conn *pmapi.Conn, slot int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &connection{conn: conn, slot: slot}
	p.conns = append(p.conns, c)
	readers.Go(func() { p.readAnswers(ctx, c) })
	slices.SortStableFunc(p.conns, func(x, y *connection) int { return x.slot - y.slot })
	p.spareLast = false
	p.options.Free(p.now()) // requests may have waited for a connection that was closed
}

// retireSlot closes the connection in a slot as soon as it is free, unless it is the only one. Run then looks for a
// lower slot for the next connection, too.
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

// EndSession closes all connections. Requests on their way get an empty Answer.
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

// highestSlot returns the highest slot of a connection, 0 if that is not known.
func (p *Pool) highestSlot() int {
	if n := len(p.conns); n > 0 && p.conns[n-1].slot != unknownSlot {
		return p.conns[n-1].slot
	}
	return 0
}

// dial makes a connection. It waits for its slot for a time, and returns unknownSlot if pmcd does not send it.
func (p *Pool) dial(
	ctx context.Context, slotWait time.Duration, opts ...pmapi.Option,
) (conn *pmapi.Conn, slot int, err error) {
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
	case <-time.After(slotWait):
	case <-ctx.Done():
	}
	return conn, unknownSlot, nil
}

// dialMissing dials the connections that are missing. Those for fetches come first, so that they get low slots. An
// error ends the session.
func (p *Pool) dialMissing(ctx context.Context, readers *sync.WaitGroup) error {
	dialling, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	p.mu.Lock()
	have, begun := len(p.conns), p.lookupConn != nil
	p.mu.Unlock()
	slotWait := slotTimeout
	for ; have < connections; have++ {
		made, slot, err := p.dial(dialling, slotWait, p.fetchLimit)
		if err != nil {
			return err
		}
		if slot == unknownSlot {
			slotWait = 0 // we do not serve this pmcd, or it sends no slots
		}
		p.Attach(ctx, readers, made, slot)
	}
	if begun {
		return nil
	}
	// dial waits for the slot here, too: it must not be taken for that of the next connection.
	made, _, err := p.dial(dialling, slotWait, pmapi.WithGate(lookupGate{p}))
	if err == nil {
		p.BeginSession(made)
	}
	return err
}

// moveToLowerSlot replaces the connection with the highest slot if pmcd gives a new one a lower slot.
func (p *Pool) moveToLowerSlot(ctx context.Context, readers *sync.WaitGroup) {
	p.mu.Lock()
	highest := p.highestSlot()
	p.mu.Unlock()
	if highest < connections {
		return // our connections and at most one of others are below
	}
	dialling, cancel := context.WithTimeout(ctx, moveTimeout)
	defer cancel()
	made, slot, err := p.dial(dialling, slotTimeout, p.fetchLimit)
	switch {
	case err != nil:
		p.log.WithError(err).Debug("no connection in a lower slot")
	case slot >= highest:
		_ = made.Close()
	default:
		p.Attach(ctx, readers, made, slot)
		p.retireSlot(highest)
	}
}

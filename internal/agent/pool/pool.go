package pool

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Options are what a Pool is made with.
type Options struct {
	// Dial connects to the pmcd whose metrics are the operands, with the options that it is given.
	Dial func(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error)

	Limit int           // the most bytes of an answer to a fetch
	Lock  *Lock         // of the pool, and of all that Answered, Free and Disconnected use
	Slow  slow.States   // the states of agents, which the pool changes
	Ready chan struct{} // gets an element when there are Events

	// Answered takes the outcome of a request. The pool calls it once for each request that it has sent, with the lock.
	Answered func(Request, Answer)

	// Free sends requests that wait for a connection (Send). The pool calls it with the lock when one may have become
	// free.
	Free func(now time.Time)

	// Settle returns a request without effect, for a connection that has yet to report changes. The pool calls it with
	// the lock.
	Settle func() Request

	// Disconnected drops everything that is valid in one session only. The pool calls it with the lock, after the last
	// Answered of the session.
	Disconnected func()

	Figures *control.Figures
	Log     logrus.FieldLogger
	Now     func() time.Time
}

// Pool has the connections to pmcd. Only the methods LookUp and Run wait for pmcd. A method whose comment says "with
// the lock" is called by somebody who has the lock; the other methods take it.
type Pool struct {
	options Options
	log     logrus.FieldLogger
	figures *control.Figures
	now     func() time.Time

	wake     chan struct{} // gets an element when Run has something to do: see todo
	newSlots chan int      // slots of new connections, from the request loop to dial

	fetchLimit pmapi.Option // of connections for fetches

	mu *Lock // guards all fields below

	session     int           // the number of the session; 0: there is none
	lastSession int           // the number of the last session
	lookupConn  *pmapi.Conn   // for lookups; nil: there is none
	conns       []*connection // for fetches, those in lower slots first
	todo        todo
	usable      bool    // names and instances have been looked up in this session
	spareLast   bool    // the only connection left sends nothing until there are others
	resend      bool    // a request may wait whose connection was closed because its answer was too long
	replies     []reply // scratch space
	lastRefusal string  // the last one that was logged in this session
	events      Events
	slow        slow.Tracker
}

// Events has what has happened since the last TakeEvents.
type Events struct {
	// Session is the number of the session, 0 if there is none.
	Session int

	Names  bool // pmcd has announced other names or agents
	Hidden bool // such a change may have been hidden behind one that we have announced
}

// New makes a Pool without connections.
func New(o Options) *Pool {
	return &Pool{
		options: o, log: o.Log, figures: o.Figures, now: o.Now, mu: o.Lock,
		wake: make(chan struct{}, 1), newSlots: make(chan int, connections+1),
		fetchLimit: pmapi.WithLimit(o.Limit), slow: slow.Tracker{States: o.Slow},
	}
}

// TakeEvents returns the events, and forgets them; with the lock.
func (p *Pool) TakeEvents() Events {
	e := p.events
	p.events = Events{}
	e.Session = p.session
	return e
}

// Connected reports whether there is a connection for fetches; with the lock.
func (p *Pool) Connected() bool { return len(p.conns) > 0 }

// Drain takes all answers that have arrived. When pmcd passes a FETCH on to us, the answers to all that it has served
// before are complete in our sockets, so a handler that drains gets them all. Drain returns the last time in which a
// request of ours has blocked pmcd for long, and the sum of these times.
func (p *Pool) Drain() (lastBlocked predict.TimeRange, blocked time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takeAnswers(nil)
	return p.slow.LastBlocked, p.slow.BlockedBy(p.now())
}

// RecordRequest records that a request of pmcd has come, so pmcd is not blocked by one of ours.
func (p *Pool) RecordRequest(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow.RecordRequest(now)
}

// ExpectChange records a change that we announce to all clients of pmcd: our connections get it, too, and it is no
// event.
func (p *Pool) ExpectChange(change pdu.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.seen.AddOwn(change)
	}
}

// Lock is the lock of a pool and of package upstream. Messages that are to be logged under it are logged after it.
type Lock struct {
	log     logrus.FieldLogger
	mu      sync.Mutex // guards remarks, too
	remarks []remark
}

// remark is a message to log.
type remark struct {
	entry *logrus.Entry
	level logrus.Level
	text  string
}

// NewLock makes a lock, which logs to log.
func NewLock(log logrus.FieldLogger) *Lock { return &Lock{log: log} }

// Lock implements [sync.Locker].
func (l *Lock) Lock() { l.mu.Lock() }

// Unlock releases the lock and then logs the remarks.
func (l *Lock) Unlock() {
	remarks := l.remarks
	l.remarks = nil
	l.mu.Unlock()
	for _, r := range remarks {
		r.entry.Log(r.level, r.text)
	}
}

// Remark has a message logged when the lock is released; with the lock.
func (l *Lock) Remark(level logrus.Level, fields logrus.Fields, text string) {
	l.remarks = append(l.remarks, remark{l.log.WithFields(fields), level, text})
}

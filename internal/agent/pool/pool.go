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

	Limit int           // bytes of an answer to a fetch, at most
	Lock  *Lock         // of the pool, and of all that Answered, Free and Disconnected use
	Slow  slow.States   // the pool writes it
	Ready chan struct{} // becomes ready when there are PoolEvents

	// Answered takes the answer to a request. The pool calls it once for each request that it has sent, with the lock.
	Answered func(Request, Answer)

	// Free sends requests that wait for a connection: one may have become free. The pool calls it with the lock.
	Free func(now time.Time)

	// Disconnected drops all that is true of one session only. The pool calls it with the lock, after the last answer.
	Disconnected func()

	Figures *control.Figures
	Log     logrus.FieldLogger
	Now     func() time.Time
}

// Pool is the connections to pmcd. The methods LookUp and Run wait for pmcd, no other does. Of a method whose comment says
// "with the lock" the caller has the lock; the others take it.
type Pool struct {
	options Options
	log     logrus.FieldLogger
	figures *control.Figures
	now     func() time.Time

	wake     chan struct{} // todo has something for Run
	newSlots chan int      // slots that pmcd has given to connections of ours

	fetchLimit pmapi.Option // of connections for fetches

	mu *Lock // guards all that follows

	session     int           // number of the present one; 0: none
	lastSession int           // number of the last one
	lookupConn  *pmapi.Conn   // for all but fetches; nil: none
	conns       []*connection // for fetches; those of lower slots in pmcd's table first
	todo        todo
	usable      bool    // names and instances have been looked up in this session
	spareLast   bool    // the only connection left sends nothing until there are others
	resend      bool    // a request of a connection that was given up is to be sent again
	replies     []reply // scratch space
	lastRefusal string  // the last that was logged in this session
	events      Events
	slow        slow.Tracker
}

// Events is what has happened since TakeEvents was called before.
type Events struct {
	// Session is the number of the set of connections that there is now, which is not zero; 0: there is none.
	Session int

	Names  bool // pmcd says that it has other names or agents
	Hidden bool // such a change may have hidden behind one that we have announced
}

// New makes a Pool without connections.
func New(o Options) *Pool {
	return &Pool{
		options: o, log: o.Log, figures: o.Figures, now: o.Now, mu: o.Lock,
		wake: make(chan struct{}, 1), newSlots: make(chan int, connections+1),
		fetchLimit: pmapi.WithLimit(o.Limit), slow: slow.Tracker{States: o.Slow},
	}
}

// TakeEvents returns what has happened, and forgets it; with the lock.
func (p *Pool) TakeEvents() Events {
	e := p.events
	p.events = Events{}
	e.Session = p.session
	return e
}

// Connected reports whether there is a connection for fetches; with the lock.
func (p *Pool) Connected() bool { return len(p.conns) > 0 }

// Drain takes all answers that are there. When pmcd has forwarded a FETCH to us, the answers to what
// it served before are complete in our sockets, so a handler that drains sees them all. It returns when pmcd was busy
// with something long of ours the last time, and for how long all times together.
func (p *Pool) Drain() (last predict.TimeRange, all time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takeAnswers(nil)
	return p.slow.LastBlocked, p.slow.BlockedBy(p.now())
}

// RecordRequest notes that a request has come from pmcd, which does one thing at a time.
func (p *Pool) RecordRequest(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow.RecordRequest(now)
}

// ExpectChange is told what is being announced to all clients of pmcd, of which we are one.
func (p *Pool) ExpectChange(change pdu.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.seen.AddOwn(change)
	}
}

// Lock is the lock of a pool and of who fetches through it. What there is to log is logged after it.
type Lock struct {
	log     logrus.FieldLogger
	mu      sync.Mutex // guards what follows, and what it is the lock of
	remarks []remark
}

// remark is something to log.
type remark struct {
	entry *logrus.Entry
	level logrus.Level
	text  string
}

// NewLock makes a lock that nobody has.
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

// Remark has something logged as soon as the lock is released, which the caller has.
func (l *Lock) Remark(level logrus.Level, fields logrus.Fields, text string) {
	l.remarks = append(l.remarks, remark{l.log.WithFields(fields), level, text})
}

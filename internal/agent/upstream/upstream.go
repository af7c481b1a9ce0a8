package upstream

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/agents"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/queue"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Options are what an Upstream is made with.
type Options struct {
	// Dial connects to the pmcd whose metrics are the operands, with the options that it is given.
	Dial func(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error)

	Names  *operand.InstanceCache // of instances: LookUpInstances writes it
	Answer int                    // bytes of an answer to a fetch, at most

	// Interval is the time that a first rate or delta is to cover at least: series with a history are sampled twice in
	// it, whoever asks. 0: they are not.
	Interval time.Duration

	Figures *control.Figures
	Log     logrus.FieldLogger
	Now     func() time.Time
}

// Upstream fetches operands through pmcd. But for those that say so, no method waits for pmcd.
type Upstream struct {
	options Options
	log     logrus.FieldLogger
	figures *control.Figures
	now     func() time.Time

	ready chan struct{} // there are Events
	wake  chan struct{} // there is something to do for who keeps us connected

	sampled chan struct{} // see Tick
	slots   chan int      // where pmcd has put a connection of ours

	answerLimit pmapi.Option // of connections for fetches

	timer *time.Timer // of the schedule

	mu sync.Mutex // guards all that follows, series, connections and what the schedule follows

	events  Events
	changed map[pdu.InDom]struct{} // of Events.Instances
	remarks []remark               // to be logged when the lock is released

	// Connections; see connect.go.
	session int           // number of the present one; 0: none
	last    int           // number of the last one
	lookups *pmapi.Conn   // for all but fetches; nil: none
	conns   []*connection // for fetches; those of lower slots in pmcd's table first
	todo    todo
	heard   bool      // names and instances have been looked up in this session
	answers []answer  // scratch space
	unsure  []*Series // likewise: to be asked for again

	queue queue.Queue[*Series]
	slow  slow.Ledger
	part  part

	series   []*Series // of the operands that are served
	maker    *operand.Maker
	agents   map[int]string        // names of pmcd's agents, by domain; see NameAgents
	asked    agents.Table          // what its agents were asked for
	cleared  time.Time             // when samples were last forgotten
	refusal  string                // the last that was logged in this session
	excess   map[pdu.PMID]struct{} // operands of which is logged that they have too many instances
	schedule schedule
}

// Events is what has happened since Upstream.Events was called before.
type Events struct {
	// Session is the number of the set of connections that there is now, which is not zero; 0: there is none.
	Session int

	Names     bool        // pmcd says that it has other names or agents
	Hidden    bool        // such a change may have hidden behind one that we have announced
	Instances []pdu.InDom // whose instances are not what they were
}

// remark is something to log.
type remark struct {
	entry *logrus.Entry
	level logrus.Level
	text  string
}

// New makes an Upstream that knows no series yet.
func New(o Options) *Upstream {
	known := make(slow.Agents)
	u := &Upstream{
		options: o, log: o.Log, figures: o.Figures, now: o.Now,
		ready: make(chan struct{}, 1), wake: make(chan struct{}, 1), sampled: make(chan struct{}, 1), slots: make(chan int, connections+1),
		timer: time.NewTimer(idleCheck),
		slow:  slow.Ledger{Agents: known}, queue: queue.New[*Series](known), part: part{now: MaxPart}, maker: operand.NewMaker(o.Names, o.Now()),
		asked:  make(agents.Table),
		excess: make(map[pdu.PMID]struct{}), changed: make(map[pdu.InDom]struct{}),
		answerLimit: pmapi.WithLimit(o.Answer),
	}
	u.schedule.warm = o.Interval / operand.PerInterval
	return u
}

// Run keeps us connected and follows the schedule until ctx ends. It returns when all that it started has ended.
func (u *Upstream) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { u.stayConnected(ctx) })
	tasks.Go(func() { u.follow(ctx) })
	tasks.Wait()
}

// Ready has something when there are Events.
func (u *Upstream) Ready() <-chan struct{} { return u.ready }

// Events returns what has happened, and forgets it.
func (u *Upstream) Events() Events {
	u.mu.Lock()
	defer u.unlock()
	e := u.events
	u.events = Events{}
	e.Session, e.Instances = u.session, slices.Sorted(maps.Keys(u.changed))
	clear(u.changed)
	return e
}

// remark has something logged as soon as the lock is released.
func (u *Upstream) remark(level logrus.Level, fields logrus.Fields, text string) {
	u.remarks = append(u.remarks, remark{u.log.WithFields(fields), level, text})
}

// unlock releases the lock and then logs what there is to say.
func (u *Upstream) unlock() {
	remarks := u.remarks
	u.remarks = nil
	u.mu.Unlock()
	for _, r := range remarks {
		r.entry.Log(r.level, r.text)
	}
}

// Drain takes all answers that are there. When pmcd has forwarded a FETCH to us, the answers to what
// it served before are complete in our sockets, so a handler that drains sees them all. It returns when pmcd was busy
// with something long of ours the last time, and for how long all times together.
func (u *Upstream) Drain() (last predict.TimeRange, all time.Duration) {
	u.mu.Lock()
	defer u.unlock()
	u.collect(nil)
	return u.slow.PMCD, u.slow.Stood(u.now())
}

// Requested notes that a request has come from pmcd, which does one thing at a time.
func (u *Upstream) Requested(now time.Time) {
	u.mu.Lock()
	defer u.unlock()
	u.slow.Requested(now)
}

// Announce fetches one of our own metrics, if a connection is free, so that its RESULT carries what has
// changed to every client of pmcd. It reports whether the request is out.
func (u *Upstream) Announce(own pdu.PMID) bool {
	u.mu.Lock()
	defer u.unlock()
	for _, c := range u.conns {
		if c.busy || c.leaving {
			continue
		}
		c.asked = fetch{Batch: &operand.Batch[*Series]{List: operand.NewList(pdu.Desc{PMID: own})}}
		u.start(c, u.now())
		return !c.dead
	}
	return false
}

// Expect is told what is being announced to all clients of pmcd, of which we are one.
func (u *Upstream) Expect(change pdu.Change) {
	u.mu.Lock()
	defer u.unlock()
	for _, c := range u.conns {
		c.told.AddOwn(change)
	}
}

// ForgetTooLong has everything asked for again whose answer was too long.
func (u *Upstream) ForgetTooLong() {
	u.mu.Lock()
	defer u.unlock()
	u.part.now = MaxPart
	for _, s := range u.series {
		s.excess = nil
	}
}

// Serve says which series are served from now on, and how many older samples each needs. Those that need any
// are kept warm. Those that never were are sampled now and again soon after: contexts that have fetched them from an
// agent before us, or another, find a value at once.
func (u *Upstream) Serve(series []*Series, older []int) {
	u.mu.Lock()
	defer u.unlock()
	u.queue.ForgetBatches()
	u.series = series
	used := make(map[slow.Account]bool)
	var deep []*Series
	for i, s := range series {
		s.Older = older[i]
		if s.Older > 0 {
			deep = append(deep, s)
		} else {
			s.Keep = false
			s.Kept.Trim(0)
		}
		for _, of := range s.agents {
			used[of] = true
		}
	}
	u.slow.Keep(used, u.now())
	u.figures.SlowAgents.Store(int64(u.slow.BackingOff()))
	u.keepWarm(deep)
}

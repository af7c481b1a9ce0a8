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
	"pmdaderived/internal/agent/pool"
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

// ErrUnconnected is that of the pool.
var ErrUnconnected = pool.ErrUnconnected

// Upstream fetches operands through pmcd. But for those that say so, no method waits for pmcd.
type Upstream struct {
	options Options
	log     logrus.FieldLogger
	figures *control.Figures
	now     func() time.Time

	pool   *pool.Pool
	sender sender // the pool

	ready       chan struct{} // there are Events
	tickSampled chan struct{} // see Tick

	timer *time.Timer                                                    // of the schedule
	next  func(now time.Time, forAll, forSlow bool) (pool.Request, bool) // nextFetch

	mu *pool.Lock // that of the pool; guards all that follows, series and what the schedule follows

	changed   map[pdu.InDom]struct{} // of Events.Instances
	ambiguous []*Series              // scratch space: to be asked for again

	queue     queue.Queue[*Series]
	slow      slow.States // which the pool writes
	fetchSize fetchSize

	series     []*Series // of the operands that are served
	maker      *operand.Maker
	agentNames map[int]string        // names of pmcd's agents, by domain; see NameAgents
	agentTable agents.Table          // what its agents were asked for
	lastForget time.Time             // when samples were last forgotten
	logged     map[pdu.PMID]struct{} // operands of which is logged that they have too many instances
	schedule   schedule
}

// sender is the part of a pool that is used with the lock.
type sender interface {
	Connected() bool
	Held() bool
	Send(now time.Time, next func(now time.Time, forAll, forSlow bool) (pool.Request, bool))
	CloseOverdue(now time.Time)
}

// Events is what has happened since Upstream.TakeEvents was called before.
type Events struct {
	pool.Events
	Instances []pdu.InDom // whose instances are not what they were
}

// New makes an Upstream that knows no series yet.
func New(o Options) *Upstream {
	known := make(slow.States)
	u := &Upstream{
		options: o, log: o.Log, figures: o.Figures, now: o.Now, mu: pool.NewLock(o.Log),
		ready: make(chan struct{}, 1), tickSampled: make(chan struct{}, 1), timer: time.NewTimer(idleCheck),
		slow: known, queue: queue.New[*Series](known), fetchSize: fetchSize{operands: MaxOperands}, maker: operand.NewMaker(o.Names, o.Now()),
		agentTable: make(agents.Table),
		logged:     make(map[pdu.PMID]struct{}), changed: make(map[pdu.InDom]struct{}),
	}
	u.next = u.nextFetch
	u.schedule.warmInterval = o.Interval / operand.PerInterval
	u.pool = pool.New(pool.Options{
		Dial: o.Dial, Limit: o.Answer, Lock: u.mu, Slow: known, Ready: u.ready,
		Answered: u.answered, Free: u.send, Disconnected: u.disconnected,
		Figures: o.Figures, Log: o.Log, Now: o.Now,
	})
	u.sender = u.pool
	return u
}

// Run keeps us connected and follows the schedule until ctx ends. It returns when all that it started has ended.
func (u *Upstream) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { u.pool.Run(ctx) })
	tasks.Go(func() { u.runSchedule(ctx) })
	tasks.Wait()
}

// Ready has something when there are Events.
func (u *Upstream) Ready() <-chan struct{} { return u.ready }

// TakeEvents returns what has happened, and forgets it.
func (u *Upstream) TakeEvents() Events {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := Events{u.pool.TakeEvents(), slices.Sorted(maps.Keys(u.changed))}
	clear(u.changed)
	return e
}

// Drain is that of the pool, Requested, Expect, Place, Freed and LookUp likewise.
func (u *Upstream) Drain() (last predict.TimeRange, all time.Duration) { return u.pool.Drain() }

// RecordRequest is that of the pool.
func (u *Upstream) RecordRequest(now time.Time) { u.pool.RecordRequest(now) }

// ExpectChange is that of the pool.
func (u *Upstream) ExpectChange(change pdu.Change) { u.pool.ExpectChange(change) }

// RecordSlot is that of the pool.
func (u *Upstream) RecordSlot(slot int) { u.pool.RecordSlot(slot) }

// RecordFreedSlot is that of the pool.
func (u *Upstream) RecordFreedSlot(slot int) { u.pool.RecordFreedSlot(slot) }

// LookUp is that of the pool.
func (u *Upstream) LookUp(ask func(*pmapi.Conn) error) error { return u.pool.LookUp(ask) }

// Announce fetches one of our own metrics, if a connection is free, so that its RESULT carries what has
// changed to every client of pmcd. It reports whether the request is out.
func (u *Upstream) Announce(own pdu.PMID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	f := &fetch{Batch: &operand.Batch[*Series]{List: operand.NewList(pdu.Desc{PMID: own})}}
	return u.pool.SendAnywhere(f, u.now())
}

// ForgetOversize has everything asked for again whose answer was too long.
func (u *Upstream) ForgetOversize() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fetchSize.operands = MaxOperands
	for _, s := range u.series {
		s.oversize = nil
	}
}

// SetSeries says which series are served from now on, and how many older samples each needs. Those that need any
// are kept warm. Those that never were are sampled now and again soon after: contexts that have fetched them from an
// agent before us, or another, find a value at once.
func (u *Upstream) SetSeries(series []*Series, older []int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queue.ForgetBatches()
	u.series = series
	used := make(map[slow.Budget]bool)
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
	u.slow.ForgetUnused(used, u.now())
	u.figures.SlowAgents.Store(int64(u.slow.CountSlowAgents()))
	u.keepWarm(deep)
}

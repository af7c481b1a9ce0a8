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
	"pmdaderived/internal/agent/pool"
	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/queue"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Options are what an Upstream is made with.
type Options struct {
	// Dial connects to the pmcd whose metrics are the operands, with the options that it is given.
	Dial func(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error)

	Names  *operand.InstanceCache // of instances: LookUpInstances writes it
	Answer int                    // the most bytes of an answer to a fetch

	// Interval is the least time that a first rate or delta covers: series with a history are sampled twice in it, even
	// if no client fetches them. 0: they are not.
	Interval time.Duration

	Figures *control.Figures
	Log     logrus.FieldLogger
	Now     func() time.Time
}

// ErrUnconnected is the error of lookups without a session.
var ErrUnconnected = pool.ErrUnconnected

// Upstream samples operands through a pool of connections. Only methods whose comment says so wait for pmcd.
type Upstream struct {
	options Options
	log     logrus.FieldLogger
	figures *control.Figures
	now     func() time.Time

	pool   *pool.Pool
	sender sender // the pool, but in tests

	ready       chan struct{} // gets an element when there are Events
	tickSampled chan struct{} // see Tick

	timer *time.Timer                                                    // of the schedule
	next  func(now time.Time, forAll, forSlow bool) (pool.Request, bool) // nextFetch

	mu *pool.Lock // of the pool, too; guards all fields below

	changed   map[pdu.InDom]struct{} // of Events.Instances
	misfits   map[pdu.PMID]struct{}  // of Events.Misfits
	ambiguous []*Series              // scratch space: series to be fetched again, see storeAnswer

	queue     queue.Queue[*Series]
	slow      slow.States // which the pool changes
	fetchSize fetchSize

	series         []*Series               // that are served
	sampledDomains map[pdu.InDom]time.Time // when values of each instance domain last came
	maker          *operand.Maker
	agentNames     map[int]string        // names of pmcd's agents, by domain; see NameAgents
	agentTable     agents.Table          // requests to agents, and their outcome
	lastForget     time.Time             // when forgetSamples last searched
	logged         map[pdu.PMID]struct{} // operands that were logged because of too many instances
	schedule       schedule
}

// sender has the methods of a pool that are called with the lock.
type sender interface {
	Connected() bool
	Held() bool
	Send(now time.Time, next func(now time.Time, forAll, forSlow bool) (pool.Request, bool))
	CloseOverdue(now time.Time)
}

// Events has what has happened since the last TakeEvents.
type Events struct {
	pool.Events
	Instances []pdu.InDom           // domains whose instances have changed
	Misfits   map[pdu.PMID]struct{} // operands with values that do not fit their descriptors; they signal nothing
}

// New makes an Upstream without series.
func New(o Options) *Upstream {
	known := make(slow.States)
	u := &Upstream{
		options: o, log: o.Log, figures: o.Figures, now: o.Now, mu: pool.NewLock(o.Log),
		ready: make(chan struct{}, 1), tickSampled: make(chan struct{}, 1), timer: time.NewTimer(idleCheck),
		slow: known, queue: queue.New[*Series](known), fetchSize: fetchSize{operands: MaxOperands},
		maker:      operand.NewMaker(o.Names, o.Now()),
		agentTable: make(agents.Table),
		logged:     make(map[pdu.PMID]struct{}), changed: make(map[pdu.InDom]struct{}),
		misfits: make(map[pdu.PMID]struct{}), sampledDomains: make(map[pdu.InDom]time.Time),
	}
	u.next = u.nextFetch
	u.schedule.warmInterval = o.Interval / freshness.PerInterval
	u.maker.Interval = u.schedule.warmInterval
	u.pool = pool.New(pool.Options{
		Dial: o.Dial, Limit: o.Answer, Lock: u.mu, Slow: known, Ready: u.ready,
		Answered: u.answered, Free: u.send, Settle: settle, Disconnected: u.disconnected,
		Figures: o.Figures, Log: o.Log, Now: o.Now,
	})
	u.sender = u.pool
	return u
}

// Run runs the pool and the schedule until ctx ends. It returns when all goroutines that it has started have ended.
func (u *Upstream) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { u.pool.Run(ctx) })
	tasks.Go(func() { u.runSchedule(ctx) })
	tasks.Wait()
}

// Ready gets an element when there are Events.
func (u *Upstream) Ready() <-chan struct{} { return u.ready }

// TakeEvents returns the events, and forgets them.
func (u *Upstream) TakeEvents() Events {
	u.mu.Lock()
	defer u.mu.Unlock()
	e := Events{u.pool.TakeEvents(), slices.Sorted(maps.Keys(u.changed)), maps.Clone(u.misfits)}
	clear(u.changed)
	clear(u.misfits)
	return e
}

// Drain calls Pool.Drain. The methods up to LookUp are those of the pool, too.
func (u *Upstream) Drain() (last predict.TimeRange, all time.Duration) { return u.pool.Drain() }

// RecordRequest calls Pool.RecordRequest.
func (u *Upstream) RecordRequest(now time.Time) { u.pool.RecordRequest(now) }

// ExpectChange calls Pool.ExpectChange.
func (u *Upstream) ExpectChange(change pdu.Change) { u.pool.ExpectChange(change) }

// RecordSlot calls Pool.RecordSlot.
func (u *Upstream) RecordSlot(slot int) { u.pool.RecordSlot(slot) }

// RecordFreedSlot calls Pool.RecordFreedSlot.
func (u *Upstream) RecordFreedSlot(slot int) { u.pool.RecordFreedSlot(slot) }

// LookUp calls Pool.LookUp.
func (u *Upstream) LookUp(ask func(*pmapi.Conn) error) error { return u.pool.LookUp(ask) }

// Announce fetches one of our own metrics, if a connection is free: the RESULT announces our changes to all clients of
// pmcd. It reports whether the request was sent.
func (u *Upstream) Announce(own pdu.PMID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pool.SendAnywhere(fetchFor(own), u.now())
}

// fetchFor returns a fetch of a metric for no series.
func fetchFor(id pdu.PMID) *fetch {
	return &fetch{Batch: &operand.Batch[*Series]{List: operand.NewList(pdu.Desc{PMID: id})}}
}

// settle returns a fetch of pmcd.control.debug, which pmcd answers itself.
func settle() pool.Request { return fetchFor(pdu.NewPMID(2, 0, 0)) }

// FindBirths calls Maker.FindBirths.
func (u *Upstream) FindBirths(metrics []pdu.PMID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.maker.FindBirths(metrics, u.now())
}

// ForgetOversize has oversize series fetched again, as after a reload.
func (u *Upstream) ForgetOversize() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fetchSize.operands = MaxOperands
	for _, s := range u.series {
		s.oversize = nil
	}
}

// SetSeries sets the series that are served, and the number of older samples that each needs. Those that need any are
// kept warm. New ones among them are sampled now and again after freshness.SecondSample: contexts that have fetched
// them from another agent, or this one before a restart, get a value at once.
func (u *Upstream) SetSeries(series []*Series, older []int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queue.ForgetBatches()
	u.series = series
	used := make(map[slow.Budget]bool)
	var deep []*Series
	for i, s := range series {
		s.OlderNeeded = older[i]
		if s.OlderNeeded > 0 {
			deep = append(deep, s)
		} else {
			s.RetainNext = false
			s.Retained.Truncate(0)
		}
		for _, of := range s.budgets {
			used[of] = true
		}
	}
	u.slow.ForgetUnused(used, u.now())
	u.figures.SlowAgents.Store(int64(u.slow.CountSlowAgents()))
	u.keepWarm(deep)
}

package agent

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/history"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
)

// Options configure an Agent.
type Options struct {
	Domain  int    // 1..510
	Version string // shown as derived.control.version

	// Load reads the configured definitions. New calls it once, and the reload goroutine at each reload.
	Load func() served.Config

	// Dial connects to the pmcd that has the operands.
	Dial func(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error)

	// StateFile is the path of the file with the PMIDs of names. "": PMIDs may change with each start.
	StateFile string

	// Interval is the shortest time that delta() and rate() cover in the first fetch of a context; the longest is half
	// as much more. For that, metrics with delta() or rate() are sampled twice in Interval even without clients. 0:
	// they are not, and delta() and rate() have no value before the second fetch of a context, as with libpcp.
	Interval time.Duration

	// NonFinite serves values that are infinite or not a number, as libpcp does. Otherwise they are left out.
	NonFinite bool

	// Protected has names of operands, of definitions and of subtrees. Only clients with a user identifier see the values
	// of these and of metrics that are computed from them. pmcd gives the agent their values because it is a known user.
	Protected []string

	// StoreUser is the user who may store, besides root. It must not be that of pmproxy, which passes on what everyone
	// stores through it.
	StoreUser int

	// Debug sets whether the log has debug messages. It is called when a client stores derived.control.debug.
	Debug func(on bool)

	Log logrus.FieldLogger
	Now func() time.Time // nil: time.Now

	// Tests set these lower than the constants that 0 stands for.
	retryInterval   time.Duration // operandRetryInterval
	maxAnswer       int           // pdu.ClientLimit: bytes of an answer of pmcd to a fetch of operands
	maxWindowValues int           // window.MaxValues: values in the windows of functions over time
}

// MaxOperands is the largest number of operands of a definition: they are fetched at once.
const MaxOperands = upstream.MaxOperands

// operandRetryInterval is the time between two look-ups of missing operands, if nothing has announced them.
const operandRetryInterval = 5 * time.Minute

// Agent serves derived metrics. It implements pmda.Agent and all optional interfaces of it. Its handlers run on one
// goroutine, that of pmda.Server.Serve. Run runs beside it.
type Agent struct {
	options  Options
	figures  control.Figures
	control  *control.Metrics
	snapshot atomic.Pointer[reload.Snapshot]
	changes  atomic.Uint32 // a pdu.Change that the next reply announces to pmcd
	names    operand.InstanceCache
	upstream *upstream.Upstream
	sampler  *sampler.Sampler
	reloader *reload.Reloader

	// These fields belong to the request loop, which alone knows clients, their contexts and evaluations.
	contexts        *contexts
	clients         map[pmda.Client]*client
	lookedUp        int // number of metrics in the lookups of all clients
	evaluations     history.Evaluations
	windows         *window.Reader                // results of per-client windows
	groups          *derived.Groups               // names and numbers of groups
	groupListings   map[pmda.Client]*groupListing // of clients that have listed groups and not fetched yet
	constantSamples []*operand.Sample             // samples without values: the history of metrics made of constants
	clockSamples    []*operand.Sample             // likewise with now(): the newest has the time of the request
	fetch           fetch                         // reused by each fetch
	retained        []*operand.Sample             // scratch space of backfill
}

// New returns an agent with the definitions of Load and the PMIDs of the state file. No operands are looked up yet.
// Problems with the definitions or the file are logged.
func New(o Options) *Agent {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.retryInterval = cmp.Or(o.retryInterval, operandRetryInterval)
	o.maxAnswer = cmp.Or(o.maxAnswer, pdu.ClientLimit)
	o.maxWindowValues = cmp.Or(o.maxWindowValues, window.MaxValues)
	a := &Agent{
		options: o, clients: make(map[pmda.Client]*client),
		groups: derived.NewGroups(), groupListings: make(map[pmda.Client]*groupListing),
		windows: window.NewReader(window.MaxPerClientValues),
	}
	a.evaluations.Groups = a.groups
	a.constantSamples = slices.Repeat([]*operand.Sample{operand.Empty(o.Now(), &a.names)}, 1+derived.MaxHistory)
	a.clockSamples = slices.Clone(a.constantSamples)
	a.upstream = upstream.New(upstream.Options{
		Dial: o.Dial, Names: &a.names, Answer: o.maxAnswer,
		Interval: o.Interval, Figures: &a.figures, Log: o.Log, Now: o.Now,
	})
	a.sampler = sampler.New(sampler.Options{
		Upstream: a.upstream, Names: &a.names, Values: o.maxWindowValues, Interval: o.Interval,
		Figures: &a.figures, Log: o.Log, Now: o.Now,
	})
	a.contexts = newContexts(a.upstream, &a.figures)
	a.control = control.New(o.Domain, a.controlSource())
	a.reloader = reload.New(reload.Options{
		Domain: o.Domain, StateFile: o.StateFile, Load: o.Load, Poll: o.retryInterval, ProtectedNodes: o.Protected,
		Upstream: a.upstream, Sampler: a.sampler, Instances: &a.names, Figures: &a.figures, Log: o.Log, Now: o.Now,
		Snapshot: &a.snapshot, Changes: &a.changes,
	})
	return a
}

// Run connects to pmcd, takes samples and updates the snapshot until ctx ends. It returns when its goroutines have
// ended.
func (a *Agent) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { a.upstream.Run(ctx) })
	tasks.Go(func() { a.sampler.Run(ctx) })
	tasks.Go(func() { a.reloader.Run(ctx) })
	tasks.Wait()
}

// Reload has the configuration read again, because it has changed. It does not wait. Known operands are not looked up
// again.
func (a *Agent) Reload() { a.reloader.Reload() }

// ReloadAll has the configuration read and all operands looked up again, because a user wants that. It does not wait.
func (a *Agent) ReloadAll() { a.reloader.ReloadAll() }

// Changes implements pmda.Notifier.
func (a *Agent) Changes() pdu.Change {
	change := pdu.Change(a.changes.Swap(0))
	if change != 0 {
		a.upstream.ExpectChange(change)
	}
	return change
}

// Before implements pmda.Observer.
func (a *Agent) Before(_ pmda.Client, _ pdu.Kind, arrived time.Time) {
	a.finishFetch() // if pmcd did not wait for the last reply
	a.upstream.RecordRequest(arrived)
	a.dropOldListings(arrived)
	a.evaluations.DropOld(arrived, freshness.NeverServed, a.constantSamples[0])
}

// Replied implements pmda.Observer.
func (a *Agent) Replied(_ pmda.Client, _ pdu.Kind, took time.Duration) {
	a.finishFetch()
	a.figures.Requests.Add(1)
	a.figures.RequestTime.Record(took, 1)
}

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
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
	"pmdaderived/pmda/pmapi"
)

// Options are what an Agent is made with.
type Options struct {
	Domain  int    // 1..510
	Version string // shown as derived.control.version

	// Load reads the definitions as they are configured at the moment. It is called once by New and
	// again at each reload, never twice at a time.
	Load func() served.Config

	// Dial connects to the pmcd whose metrics are the operands, with the options that it is given.
	Dial func(ctx context.Context, opts ...pmapi.Option) (*pmapi.Conn, error)

	// StateFile remembers the identities of the metrics. "": they are not remembered.
	StateFile string

	// Interval is the time that delta() and rate() cover at least in the first fetch of a context: metrics with a
	// history are sampled twice in it, whoever asks, so that they cover half as much more at most. 0: they are not
	// sampled, and a context has no value of delta() and rate() before its second fetch, as with libpcp.
	Interval time.Duration

	// NonFinite serves values that are infinite or not a number, as libpcp does. Without it they are left out.
	NonFinite bool

	// Protected names the subtrees of the PMNS whose agents show values only to known users. Metrics
	// computed from them are served to contexts with a user identifier only.
	Protected []string

	// Debug makes the log more or less detailed, because somebody has stored that.
	Debug func(on bool)

	Log logrus.FieldLogger
	Now func() time.Time // nil: time.Now

	// For tests, which set them lower than the constants that 0 stands for.
	retryInterval   time.Duration // operandRetryInterval
	maxAnswer       int           // pdu.ClientLimit, bytes of an answer of pmcd to a fetch of operands
	maxWindowValues int           // window.MaxValues, values that functions over time keep
}

// MaxOperands is how many operands a definition may have: they are fetched at once.
const MaxOperands = upstream.MaxPart

// operandRetryInterval is how often operands that are missing are looked for although nothing announced them.
const operandRetryInterval = 5 * time.Minute

// Agent serves derived metrics: it implements pmda.Agent and all of its optional interfaces. Its
// handlers run on one goroutine, that of pmda.Server.Serve; Run has to run beside it.
type Agent struct {
	options  Options
	figures  control.Figures
	control  *control.Metrics
	snapshot atomic.Pointer[reload.Snapshot]
	changes  atomic.Uint32 // to be told to pmcd with the next reply
	names    operand.Names
	upstream *upstream.Upstream
	sampler  *sampler.Sampler
	reloader *reload.Reloader

	// These fields belong to the request loop, which alone knows clients, their contexts and evaluations.
	contexts        *contexts
	clients         map[pmda.Client]*client
	evaluations     history.Evaluations
	groups          *derived.Groups         // names and numbers of groups
	groupsRefreshed map[pdu.InDom]time.Time // when refreshGroups last computed the groups of a domain
	constantSamples []*operand.Sample       // samples without values: the history of metrics made of constants
	fetch           fetch                   // reused by each fetch
	retained        []*operand.Sample       // scratch space of advanceHistory
}

// New makes an agent that knows what the configuration and the state file say, and no operands yet.
// Problems with either are logged.
func New(o Options) *Agent {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.retryInterval, o.maxAnswer, o.maxWindowValues = cmp.Or(o.retryInterval, operandRetryInterval), cmp.Or(o.maxAnswer, pdu.ClientLimit), cmp.Or(o.maxWindowValues, window.MaxValues)
	a := &Agent{
		options: o, clients: make(map[pmda.Client]*client), groups: derived.NewGroups(), groupsRefreshed: make(map[pdu.InDom]time.Time),
	}
	a.evaluations.Groups = a.groups
	a.constantSamples = slices.Repeat([]*operand.Sample{operand.Empty(o.Now(), &a.names)}, 1+derived.MaxHistory)
	a.upstream = upstream.New(upstream.Options{
		Dial: o.Dial, Names: &a.names, Answer: o.maxAnswer,
		Interval: o.Interval, Figures: &a.figures, Log: o.Log, Now: o.Now,
	})
	a.sampler = sampler.New(sampler.Options{
		Upstream: a.upstream, Names: &a.names, Values: o.maxWindowValues, Interval: o.Interval, Figures: &a.figures, Log: o.Log, Now: o.Now,
	})
	a.contexts = newContexts(a.upstream, a.sampler, &a.figures)
	a.control = control.New(o.Domain, a.controlSource())
	a.reloader = reload.New(reload.Options{
		Domain: o.Domain, StateFile: o.StateFile, Load: o.Load, Poll: o.retryInterval, Protected: o.Protected,
		Upstream: a.upstream, Sampler: a.sampler, Names: &a.names, Figures: &a.figures, Log: o.Log, Now: o.Now,
		Snapshot: &a.snapshot, Changes: &a.changes,
	})
	return a
}

// Run connects to pmcd, samples and keeps the snapshot up to date until ctx ends. It returns when all
// that it started has ended.
func (a *Agent) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { a.upstream.Run(ctx) })
	tasks.Go(func() { a.sampler.Run(ctx) })
	tasks.Go(func() { a.reloader.Run(ctx) })
	tasks.Wait()
}

// Reload asks for the configuration to be read again, because it has changed; it does not wait. What is
// known of operands is not looked up again.
func (a *Agent) Reload() { a.reloader.Reload() }

// ReloadAll asks for the configuration to be read and for all operands to be looked up again, because
// somebody wants that; it does not wait.
func (a *Agent) ReloadAll() { a.reloader.ReloadAll() }

// Changes implements pmda.Notifier.
func (a *Agent) Changes() pdu.Change {
	change := pdu.Change(a.changes.Swap(0))
	if change != 0 {
		a.upstream.Expect(change)
	}
	return change
}

// Before implements pmda.Observer.
func (a *Agent) Before(_ pmda.Client, _ pdu.Kind, arrived time.Time) {
	a.finishFetch() // if pmcd did not wait for the last reply
	a.upstream.Requested(arrived)
	a.evaluations.DropOld(arrived, operand.OldEnough, a.constantSamples[0])
}

// Replied implements pmda.Observer.
func (a *Agent) Replied(_ pmda.Client, _ pdu.Kind, took time.Duration) {
	a.finishFetch()
	a.figures.Requests.Add(1)
	a.figures.RequestTime.Record(took, 1)
}

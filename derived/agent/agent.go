package agent

import (
	"context"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/served"
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

	// Poll is how often operands that are missing are looked for although nothing announced them.
	// 0: never.
	Poll time.Duration

	// Protected names the subtrees of the PMNS whose agents show values only to known users. Metrics
	// computed from them are served to contexts with a user identifier only.
	Protected []string

	// Debug makes the log more or less detailed, because somebody has stored that. Nil: nothing does.
	Debug func(on bool)

	// LeftOut is how many messages the log has left out to stay within its limit. It may be called at any
	// time. Nil: none.
	LeftOut func() uint64

	// LogUsed is how many bytes of the log count towards its limit now. It may be called at any time and does
	// not wait. Nil: not known.
	LogUsed func() int64

	Limits Limits

	Log logrus.FieldLogger
	Now func() time.Time // nil: time.Now
}

// Agent serves derived metrics: it implements pmda.Agent and all of its optional interfaces. Its
// handlers run on one goroutine, that of pmda.Server.Serve; Run has to run beside it.
type Agent struct {
	options      Options
	log          logrus.FieldLogger
	figures      control.Figures
	control      *control.Metrics
	snapshot     atomic.Pointer[snapshot]
	changes      atomic.Uint32
	names        operand.Names
	sampler      *sampler
	schedule     *schedule
	binder       *binder
	domainLabels []pdu.LabelSet
	self         string // our process identifier, as pmcd tells it of its clients

	// What follows belongs to the request loop, which alone knows clients, their contexts and evaluations.
	views    *views
	clients  map[pmda.Client]client
	moments  []*moment
	tidied   time.Time         // when moments were last forgotten
	fetches  uint64            // counts requests
	constant []*operand.Sample // without values, for metrics made of constants
	history  []derived.Sample
	ages     ages
	values   uint64 // served in this fetch
	selected []int
	wanted   []*feed
	insts    []pdu.Inst
	bits     []uint64
	blobs    [][]byte
}

// client is what pmcd has told about one of its clients.
type client struct {
	known   bool // it has a user identifier
	uid     int
	since   time.Time // when it was heard of first
	fetched time.Time // when its last FETCH came
	ahead   *plan     // for metrics that it has looked up since; nil: none
}

// New makes an agent that knows what the configuration and the state file say, and no operands yet.
// Problems with either are logged; there is always an agent.
func New(o Options) *Agent {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Debug == nil {
		o.Debug = func(bool) {}
	}
	if o.LeftOut == nil {
		o.LeftOut = func() uint64 { return 0 }
	}
	if o.LogUsed == nil {
		o.LogUsed = func() int64 { return -1 }
	}
	o.Limits = o.Limits.complete()
	a := &Agent{
		options: o, log: o.Log, domainLabels: served.DomainLabels(), self: strconv.Itoa(os.Getpid()),
		clients: make(map[pmda.Client]client),
	}
	a.views = newViews(&a.figures, o.Limits)
	a.constant = slices.Repeat([]*operand.Sample{operand.Empty(o.Now(), &a.names)}, 1+derived.MaxHistory)
	a.sampler = newSampler(o.Log, o.Now, &a.figures, &a.names)
	a.sampler.maker.Most, a.sampler.window = int(o.Limits.Instances), o.Interval
	a.schedule = newSchedule(a.sampler, a.sampler.check, o.Now, o.Interval/perWindow)
	a.sampler.stood = a.schedule.interrupted
	a.control = control.New(o.Domain, a.source())
	a.binder = newBinder(a)
	return a
}

// Run connects to pmcd, samples and keeps the snapshot up to date until ctx ends. It returns when all
// that it started has ended.
func (a *Agent) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { a.schedule.run(ctx) })
	tasks.Go(func() { a.binder.run(ctx) })
	tasks.Wait()
}

// Reload asks for the configuration to be read again, because it has changed; it does not wait. What is
// known of operands is not looked up again.
func (a *Agent) Reload() { signal(a.binder.reload) }

// Refresh asks for the configuration to be read and for all operands to be looked up again, because
// somebody wants that; it does not wait.
func (a *Agent) Refresh() {
	a.binder.whole.Store(true)
	signal(a.binder.reload)
}

// signal makes a channel of capacity one ready, if it is not.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Desc implements pmda.Agent.
func (a *Agent) Desc(_ pmda.Client, id pdu.PMID) (pdu.Desc, error) {
	if desc, ok := a.control.Desc(id); ok {
		return desc, nil
	}
	snap := a.snapshot.Load()
	m := snap.metric(id)
	if m == nil {
		if desc, ok := snap.Retired[id]; ok {
			return desc, nil
		}
		return pdu.Desc{}, pdu.ErrPMID
	}
	a.interest(m, metadata)
	if !m.Described {
		return pdu.Desc{}, m.Code()
	}
	return m.Desc, nil
}

// Instances implements pmda.Agent. The domains of operands are their own agents' business.
func (a *Agent) Instances(_ pmda.Client, d pdu.InDom) ([]pdu.Instance, error) {
	if own, ok := a.control.Instances(d); ok {
		return own, nil
	}
	return nil, pdu.ErrInDom
}

// Text implements pmda.Texter.
func (a *Agent) Text(_ pmda.Client, ident uint32, t pdu.TextType) (string, error) {
	if text, ok := a.control.Text(ident, t); ok {
		return text, nil
	}
	if t&pdu.TextInDom != 0 {
		return "", pdu.ErrText
	}
	m := a.snapshot.Load().metric(pdu.PMID(ident))
	if m == nil {
		return "", pdu.ErrPMID
	}
	a.interest(m, metadata)
	return m.Text(t&pdu.TextOneLine != 0), nil
}

// Labels implements pmda.Labeler. Labels of instances come from the agents that own them.
func (a *Agent) Labels(_ pmda.Client, ident uint32, t pdu.LabelType, _ *pdu.Profile) ([]pdu.LabelSet, error) {
	switch t {
	case pdu.LabelDomain:
		return a.domainLabels, nil
	case pdu.LabelItem:
		if m := a.snapshot.Load().metric(pdu.PMID(ident)); m != nil {
			a.interest(m, metadata)
			return m.Labels(), nil
		}
	}
	return nil, nil
}

// Lookup implements pmda.Namer.
func (a *Agent) Lookup(c pmda.Client, name string) (pdu.PMID, error) {
	snap := a.snapshot.Load()
	id, err := snap.Names.Lookup(c, name)
	if err == nil {
		if m := snap.metric(id); m != nil {
			a.interest(m, a.lookup(c), a.lookAhead(c, m)...)
		}
	}
	return id, err
}

// lookAhead prepares for a client that does not fetch what it looks up at once. If the client has looked up the
// same before and not fetched since, it returns the feeds of all that the client looked up just before.
func (a *Agent) lookAhead(c pmda.Client, m *metric) (again []*feed) {
	if m.feed == nil {
		return nil
	}
	who := a.client(c, a.options.Now())
	if who.ahead == nil {
		who.ahead = &plan{index: -1, once: true}
		a.clients[c] = who
	}
	return a.schedule.ahead(who.ahead, a.options.Now(), m.feed)
}

// Names implements pmda.Namer.
func (a *Agent) Names(c pmda.Client, id pdu.PMID) ([]string, error) {
	snap := a.snapshot.Load()
	if m := snap.metric(id); m != nil {
		a.interest(m, metadata)
	}
	return snap.Names.Names(c, id)
}

// Children implements pmda.Namer.
func (a *Agent) Children(c pmda.Client, name string, dst []pmda.Child) ([]pmda.Child, error) {
	return a.snapshot.Load().Names.Children(c, name, dst)
}

// Traverse implements pmda.Namer.
func (a *Agent) Traverse(c pmda.Client, name string) ([]string, error) {
	snap := a.snapshot.Load()
	var feeds []*feed
	for m := range snap.Under(name) {
		if f := snap.metrics[m.Index].feed; f != nil {
			feeds = append(feeds, f)
		}
	}
	a.sampler.drain()
	a.sampler.want(a.options.Now(), a.lookup(c), feeds...)
	return snap.Names.Traverse(c, name)
}

// interest is shown by a request for metadata: most clients fetch the metric next. The request for
// its operands is written before our reply is, and pmcd gets to it before the client's own fetch.
// A client that looks the same feeds up again is content with an older sample, and has those of all with one request.
func (a *Agent) interest(m *metric, n need, again ...*feed) {
	if m.Derived == nil {
		signal(a.binder.missed)
		return
	}
	now := a.options.Now()
	a.sampler.drain()
	if len(again) == 0 {
		a.sampler.want(now, n, m.feed)
		return
	}
	if n.gap = againGap; a.sampler.stale(now, n, m.feed) {
		n.gap = againGap / 2
		a.sampler.want(now, n, again...)
	}
}

// metadata is what a client needs that asks about a metric it knows.
//
//nolint:gochecknoglobals // a constant
var metadata = need{gap: minGap, burst: true}

// lookup is what a client needs that looks names up: what was sampled before it connected, or before
// its last fetch, is not new to it, since it may have changed something meanwhile.
func (a *Agent) lookup(c pmda.Client) need {
	who := a.client(c, a.options.Now())
	n := need{gap: minGap, after: who.since, burst: true}
	if who.fetched.After(n.after) {
		n.after = who.fetched
	}
	return n
}

// maxClients bounds how many clients are remembered. pmcd has fewer, by far: one for each descriptor.
const maxClients = 1 << 16

// client returns what is known of a client, who may be new.
func (a *Agent) client(c pmda.Client, now time.Time) client {
	who, ok := a.clients[c]
	if !ok {
		for other := range a.clients {
			if len(a.clients) < maxClients {
				break
			}
			a.EndContext(other) // any: nobody has that many
		}
		who.since = now
		a.clients[c] = who
	}
	return who
}

// Store implements pmda.Storer: a value for derived.control.reload makes us read the configuration, one
// for derived.control.debug says whether the log has everything in it.
func (a *Agent) Store(c pmda.Client, sets []pdu.ValueSet) error {
	for i := range sets {
		if err := a.checkStore(&sets[i]); err != nil {
			return err
		}
	}
	if who := a.clients[c]; !who.known || who.uid != 0 && who.uid != os.Getuid() {
		return pdu.ErrPermission
	}
	for i := range sets {
		switch sets[i].PMID.Item() {
		case control.Reload:
			a.Refresh()
		case control.Debug:
			on := sets[i].Values[0].Bits != 0
			a.figures.Debug.Store(on)
			a.options.Debug(on)
		}
	}
	return nil
}

// checkStore says why a value cannot be stored, whoever wants that.
func (a *Agent) checkStore(set *pdu.ValueSet) error {
	if a.snapshot.Load().metric(set.PMID) != nil {
		return pdu.ErrPermission
	}
	return a.control.CheckStore(set)
}

// Attribute implements pmda.AttributeWatcher.
func (a *Agent) Attribute(c pmda.Client, attr pdu.Attribute, value string) {
	who := a.client(c, a.options.Now())
	switch attr {
	case pdu.AttrUserID:
		uid, err := strconv.ParseUint(value, 10, 32)
		who.known, who.uid = err == nil, int(uid)
	case pdu.AttrProcessID:
		if value == a.self {
			a.binder.place(int(c))
		}
	}
	a.clients[c] = who
}

// EndContext implements pmda.ContextEnder.
func (a *Agent) EndContext(c pmda.Client) {
	if who := a.clients[c]; who.ahead != nil {
		a.schedule.end(who.ahead)
	}
	delete(a.clients, c)
	a.views.end(c, a.endView)
	a.binder.freed(int(c))
}

func (a *Agent) endView(v *view) { a.schedule.end(&v.plan) }

// Changes implements pmda.Notifier.
func (a *Agent) Changes() pdu.Change {
	change := pdu.Change(a.changes.Swap(0))
	if change != 0 {
		a.sampler.expect(change)
	}
	return change
}

// Before implements pmda.Observer.
func (a *Agent) Before(_ pmda.Client, _ pdu.Kind, arrived time.Time) {
	a.sampler.lulls.end(arrived)
	if arrived.Sub(a.tidied) >= forgetGap {
		a.tidied = arrived
		a.forgetMoments(arrived.Add(-oldEnough))
	}
}

// Replied implements pmda.Observer.
func (a *Agent) Replied(_ pmda.Client, _ pdu.Kind, took time.Duration) {
	a.figures.Requests.Add(1)
	a.figures.RequestTime.Record(took, 1)
}

package reload

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/identity"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/internal/wait"
	"pmdaderived/pdu"
)

const (
	// lookUpMissingGap is the shortest time between two lookups that requests for unbound metrics cause.
	lookUpMissingGap = 2 * time.Second

	// A failed lookup is repeated after firstRetry, then after longer and longer gaps, up to lastRetry.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second

	// refreshGap is the time between two look-ups of metadata that was looked up long ago.
	refreshGap = 5 * time.Second

	// dueGap is the shortest time before the lookups that are due are done: there may be no connection for them.
	dueGap = 5 * time.Millisecond

	// An announcement is repeated after announceRetry, then after longer and longer gaps. The repetition ends when the gap
	// has reached announceLast: then pmcd does not send us requests, or it is another pmcd than the one that we sample.
	// The next fetch of any client carries the announcement all the same.
	announceRetry = 20 * time.Millisecond
	announceLast  = 10 * time.Second

	// repeatNamesAfter is the time after which names that have changed are announced once more: a pmlogger that starts
	// meanwhile ignores the first announcement, which comes while it asks for names.
	repeatNamesAfter = 10 * time.Second

	// saveRetry is the time until the state file is written again after an error, such as a full disk.
	saveRetry = time.Second

	// never is the duration of a timer that is not set.
	never = time.Duration(math.MaxInt64)
)

// Reloader reads the configuration, looks up operands and instances, and builds snapshots, in the goroutine of Run. Run
// may wait for pmcd and for the disk. No other goroutine waits for Run.
type Reloader struct {
	options Options
	log     logrus.FieldLogger

	// Any goroutine may use these.
	reloadRequests chan struct{} // capacity 1: the configuration may have changed
	lookupRequests chan struct{} // capacity 1: a client has asked for an unbound metric
	reloadAll      atomic.Bool   // the next reload looks up everything

	// The fields below belong to Run, and to New before it.
	config            served.Config
	ids               *identity.Registry
	metadata          operand.MetadataCache
	neededInDoms      operand.InDomNeeds // of the snapshot that is served
	session           int                // of Upstream; 0: not connected
	lastLookUpAll     time.Time
	lastLookUpMissing time.Time
	requests          uint64        // Figures.Requests at the last refresh
	limiter           lookupLimiter // of lookups because of announcements
	lookUpBackoff     wait.Backoff  // of lookups that failed
	announceBackoff   wait.Backoff
	changeHidden      bool // a change of names may have been missed, behind our own announcement
	newChange         bool // Options.Changes has a new change

	loggedRefused     int      // the last number in the log
	loggedLookupError string   // the last error in the log; "": success since then
	loggedSaveError   string   // likewise
	loggedUnused      []string // the names of ProtectedNodes that protected nothing at the last look-up

	lookUpTimer   *time.Timer // lookUpAll
	dueTimer      *time.Timer // lookUpDue
	announceTimer *time.Timer // announce
	repeatTimer   *time.Timer // addChange
	saveTimer     *time.Timer // saveIdentities
}

// Options are the parameters of New.
type Options struct {
	Domain         int
	StateFile      string               // of identities; "": they are not saved
	Load           func() served.Config // reads all definitions
	Poll           time.Duration        // between lookups of missing operands
	ProtectedNodes []string             // see agent.Options

	Upstream  *upstream.Upstream
	Sampler   *sampler.Sampler
	Instances *operand.InstanceCache // Upstream writes it
	Figures   *control.Figures
	Log       logrus.FieldLogger
	Now       func() time.Time

	// The request loop reads these: the snapshot that is served, and a pdu.Change that its next reply announces to pmcd.
	Snapshot *atomic.Pointer[Snapshot]
	Changes  *atomic.Uint32
}

// New reads the configuration and the state file, and publishes a first snapshot, without operands.
func New(o Options) *Reloader {
	r := &Reloader{
		options: o, log: o.Log, reloadRequests: make(chan struct{}, 1), lookupRequests: make(chan struct{}, 1),
		metadata: operand.MetadataCache{Queue: make(operand.LookupQueue)}, limiter: newLookupLimiter(),
		lookUpBackoff:   wait.Backoff{Least: firstRetry, Most: lastRetry},
		announceBackoff: wait.Backoff{Least: announceRetry, Most: announceLast},
		lookUpTimer:     time.NewTimer(never), dueTimer: time.NewTimer(never),
		announceTimer: time.NewTimer(never), repeatTimer: time.NewTimer(never), saveTimer: time.NewTimer(never),
	}
	var err error
	if r.ids, err = identity.Load(o.StateFile, o.Domain); err != nil {
		r.log.WithError(err).Error("cannot read the metric identifiers of earlier runs")
	}
	r.config = r.options.Load()
	snap := r.buildSnapshot(nil)
	r.saveIdentities()
	snap.Published = r.options.Sampler.ApplySet(snap.Set, snap.WindowSeries, snap.WindowTimes)
	r.publish(snap)
	snap.Report(r.log, &served.Snapshot{}, len(r.config.Failures))
	return r
}

// Reload requests a reload because the configuration has changed. It does not wait. Known operands are not looked up
// again.
func (r *Reloader) Reload() { wait.Signal(r.reloadRequests) }

// ReloadAll requests a reload that also looks up all operands again, for an administrator. It does not wait.
func (r *Reloader) ReloadAll() {
	r.reloadAll.Store(true)
	wait.Signal(r.reloadRequests)
}

// RequestLookup requests a lookup of missing operands, because a client has asked for an unbound metric. It does not
// wait.
func (r *Reloader) RequestLookup() { wait.Signal(r.lookupRequests) }

// Run serves all requests, events and timers until ctx ends.
func (r *Reloader) Run(ctx context.Context) {
	poll, refresh := time.Tick(r.options.Poll), time.Tick(refreshGap)
	for {
		select {
		case <-ctx.Done():
			r.saveIdentities()
			return
		case <-r.reloadRequests:
			r.reloadConfig(ctx)
		case <-r.options.Upstream.Ready():
			r.handleEvents(ctx, r.options.Upstream.TakeEvents())
		case <-r.lookUpTimer.C:
			r.lookUpAll(ctx)
		case <-r.dueTimer.C:
			r.lookUpDue(ctx)
		case <-refresh:
			r.refresh(ctx)
		case <-r.lookupRequests:
			if time.Since(r.lastLookUpMissing) > lookUpMissingGap {
				r.lookUpMissing(ctx)
			}
		case <-poll:
			if r.changeHidden {
				r.lookUpAll(ctx)
			} else {
				r.lookUpMissing(ctx)
			}
		case <-r.saveTimer.C:
			r.saveIdentities()
		case <-r.announceTimer.C:
			r.announce()
		case <-r.repeatTimer.C:
			r.addChange(pdu.ChangeNames)
		}
		r.resetTimers()
	}
}

// resetTimers sets the timers for lookups and announcements that have become due.
func (r *Reloader) resetTimers() {
	if next := r.metadata.NextDue(); r.session != 0 && !next.IsZero() {
		r.dueTimer.Reset(max(dueGap, time.Until(next)))
	}
	if r.newChange {
		r.newChange = false
		r.announceBackoff.Reset()
		r.announceTimer.Reset(0)
	}
}

// announce makes pmcd ask us for a metric, since only a reply can announce a change. The request loop clears Changes
// when it has sent the announcement.
func (r *Reloader) announce() {
	if r.session == 0 || r.options.Changes.Load() == 0 || r.announceBackoff.Last() >= announceLast {
		return
	}
	if r.options.Upstream.Announce(pdu.NewPMID(r.options.Domain, control.Cluster, control.Reload)) {
		r.announceBackoff.Next()
	}
	r.announceTimer.Reset(max(r.announceBackoff.Last(), announceRetry))
}

// handleEvents does the lookups that events of Upstream call for.
func (r *Reloader) handleEvents(ctx context.Context, e upstream.Events) {
	r.changeHidden = r.changeHidden || e.Hidden
	if e.Session != r.session {
		r.startSession(ctx, e.Session)
		return
	}
	if e.Names && r.loggedLookupError == "" { // after an error lookUpTimer is set already
		r.lookUpTimer.Reset(r.limiter.delay(r.lastLookUpAll, time.Now()))
	}
	r.metadata.Doubt(e.Misfits, time.Now())
	if len(e.Instances) > 0 {
		r.metadata.Queue.Add(e.Instances...)
		r.lookUpDue(ctx)
	}
}

// startSession looks up everything on new connections; session 0: the connections are lost.
func (r *Reloader) startSession(ctx context.Context, session int) {
	r.session, r.loggedLookupError = session, ""
	r.lookUpBackoff.Reset()
	if session == 0 {
		r.options.Figures.Connected.Store(false)
		return
	}
	r.options.Upstream.NameAgents(ctx) // lookUpAll notices a lost connection
	clear(r.metadata.Queue)
	r.lookUpAll(ctx)
	r.newChange = r.newChange || r.options.Changes.Load() != 0
}

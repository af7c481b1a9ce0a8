package reload

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/identity"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/sampler"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/wait"
	"pmdaderived/pdu"
)

const (
	// lookUpMissingGap is how far apart two lookups of all operands are at least when somebody asks for a metric that is not bound.
	lookUpMissingGap = 2 * time.Second

	// A lookup that fails is tried again after firstRetry, then slower and slower, down to lastRetry.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 2 * time.Second

	// dueGap is how soon is looked at what is due to be looked up again, at least: nobody may be there to ask.
	dueGap = 5 * time.Millisecond

	// Announcements are tried again after announceRetry, then slower and slower, and not any more
	// when that has become announceLast: then pmcd is not asking us, or the pmcd that we
	// sample is another one. The next fetch of any client carries them all the same.
	announceRetry = 20 * time.Millisecond
	announceLast  = 10 * time.Second

	// saveRetry is how soon identities are written again that could not be, because the disk is full
	// or nobody may write there.
	saveRetry = time.Second
)

// Reloader is the goroutine that reads the configuration, looks up the operands of the definitions and the names of
// instances, and makes the snapshots. It may wait; nobody waits for it.
type Reloader struct {
	options Options
	log     logrus.FieldLogger

	reloadRequests chan struct{} // read the configuration again
	lookupRequests chan struct{} // somebody asked for a metric that is not bound
	reloadAll      atomic.Bool   // the next reload is for operands, too

	// What follows belongs to the goroutine.
	config            served.Config
	ids               *identity.Registry
	metadata          operand.MetadataCache
	neededInDoms      operand.InDomNeeds // domains whose names matter, with their selectors
	lastLookUpAll     time.Time
	lastLookUpMissing time.Time     // look-up of what is not bound
	limiter           lookupLimiter // of what pmcd has announced
	session           int           // that operands are looked up in; 0: none
	lookUpBackoff     wait.Backoff  // of a lookup that was refused
	changeHidden      bool          // a change of names may have been missed
	newChange         bool          // there is something new to announce
	loggedRefused     int           // names, as logged last
	loggedLookupError string        // what was logged last why a lookup failed
	loggedSaveError   string        // likewise of the disk

	lookUpTimer   *time.Timer // to look everything up
	dueTimer      *time.Timer // to look up what the directory says
	announceTimer *time.Timer
	saveTimer     *time.Timer
}

// Options are what a Reloader is made with.
type Options struct {
	Domain         int
	StateFile      string               // of identities; "": they are not kept
	Load           func() served.Config // reads all definitions
	Poll           time.Duration        // how often what is not there is looked up again
	ProtectedNodes []string             // subtrees of the PMNS, see agent.Options

	Upstream  *upstream.Upstream
	Sampler   *sampler.Sampler
	Instances *operand.InstanceCache // written by Upstream
	Figures   *control.Figures
	Log       logrus.FieldLogger
	Now       func() time.Time

	// What the request loop reads: what is served, and what is to be told to pmcd with the next reply.
	Snapshot *atomic.Pointer[Snapshot]
	Changes  *atomic.Uint32
}

// New reads configuration and state, and publishes a first snapshot.
func New(o Options) *Reloader {
	r := &Reloader{
		options: o, log: o.Log, reloadRequests: make(chan struct{}, 1), lookupRequests: make(chan struct{}, 1),
		metadata: operand.MetadataCache{Queue: make(operand.LookupQueue)}, lookUpBackoff: wait.Backoff{Least: firstRetry, Most: lastRetry},
		limiter: newLookupLimiter(), lookUpTimer: time.NewTimer(never), dueTimer: time.NewTimer(never),
		announceTimer: time.NewTimer(never), saveTimer: time.NewTimer(never),
	}
	var err error
	if r.ids, err = identity.Load(o.StateFile, o.Domain); err != nil {
		r.log.WithError(err).Error("cannot read the metric identifiers of earlier runs")
	}
	r.loadConfig()
	snap := r.buildSnapshot(nil)
	r.saveIdentities()
	snap.Results = r.options.Sampler.ApplySet(snap.Set, snap.Windows)
	r.publish(snap)
	snap.Report(r.log, &served.Snapshot{}, len(r.config.Failures))
	return r
}

// never is what a timer is set to that has yet to be set.
const never = time.Duration(math.MaxInt64)

// Run does what becomes necessary until ctx ends.
func (r *Reloader) Run(ctx context.Context) {
	poll := time.Tick(r.options.Poll)
	again := wait.Backoff{Least: announceRetry, Most: announceLast} // of announcements
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
			if r.session != 0 && r.options.Changes.Load() != 0 && again.Last() < announceLast {
				if r.options.Upstream.Announce(pdu.NewPMID(r.options.Domain, control.Cluster, control.Reload)) {
					again.Next()
				}
				r.announceTimer.Reset(max(again.Last(), announceRetry))
			}
		}
		if next := r.metadata.NextDue(); r.session != 0 && !next.IsZero() {
			r.dueTimer.Reset(max(dueGap, time.Until(next)))
		}
		if r.newChange {
			r.newChange = false
			again.Reset()
			r.announceTimer.Reset(0)
		}
	}
}

// handleEvents does what events call for.
func (r *Reloader) handleEvents(ctx context.Context, e upstream.Events) {
	r.changeHidden = r.changeHidden || e.Hidden
	if e.Session != r.session {
		r.session, r.loggedLookupError = e.Session, ""
		r.lookUpBackoff.Reset()
		if r.session == 0 {
			r.options.Figures.Connected.Store(false)
		} else {
			r.options.Upstream.NameAgents(ctx) // a lost connection shows below
			clear(r.metadata.Queue)
			r.lookUpAll(ctx)
			r.newChange = r.newChange || r.options.Changes.Load() != 0
		}
		return
	}
	if e.Names && r.loggedLookupError == "" { // else it is tried again soon
		r.lookUpTimer.Reset(r.limiter.delay(r.lastLookUpAll, time.Now()))
	}
	if len(e.Instances) > 0 {
		r.metadata.Queue.Add(e.Instances...)
		r.lookUpDue(ctx)
	}
}

// lookUpAll binds all definitions anew.
func (r *Reloader) lookUpAll(ctx context.Context) {
	if r.session == 0 {
		return // the next one begins with this
	}
	before := r.metadata.Catalog
	r.changeHidden, r.lastLookUpAll = false, time.Now()
	r.recordLookup(r.rebind(ctx, lookUpEverything))
	r.limiter.recordLookup(!r.metadata.Catalog.Equal(before))
}

// lookUpMissing looks up what is not there, if there may be such a thing.
func (r *Reloader) lookUpMissing(ctx context.Context) {
	if r.session != 0 && r.hasUnbound() {
		r.lastLookUpMissing = time.Now()
		r.recordLookup(r.rebind(ctx, lookUpMissingOnly))
	}
}

// recordLookup looks after a lookup that has failed as a whole: it is tried again. If the connection has failed, there will
// be another session.
func (r *Reloader) recordLookup(err error) {
	switch {
	case err == nil:
		r.loggedLookupError = ""
		r.lookUpBackoff.Reset()
	case !errors.Is(err, upstream.ErrUnconnected) && r.session != 0:
		if text := err.Error(); text != r.loggedLookupError {
			r.loggedLookupError = text
			r.log.WithError(err).Warn("cannot look up operands, trying again")
		}
		r.lookUpTimer.Reset(r.lookUpBackoff.Next())
	}
}

// hasUnbound reports whether metrics that are not there now may change what is served when they appear.
func (r *Reloader) hasUnbound() bool {
	snap := r.options.Snapshot.Load()
	return snap.Bound < len(snap.Entries) || r.config.Language.NoValue
}

// Reload asks for the configuration to be read again, because it has changed; it does not wait. What is
// known of operands is not looked up again.
func (r *Reloader) Reload() { wait.Signal(r.reloadRequests) }

// ReloadAll asks for the configuration to be read and for all operands to be looked up again, because
// somebody wants that; it does not wait.
func (r *Reloader) ReloadAll() {
	r.reloadAll.Store(true)
	wait.Signal(r.reloadRequests)
}

// RequestLookup tells that somebody has asked for a metric that is not bound; it does not wait.
func (r *Reloader) RequestLookup() { wait.Signal(r.lookupRequests) }

func (r *Reloader) loadConfig() {
	r.config = r.options.Load()
	r.config.Read = r.options.Now()
}

// reloadConfig reads the configuration and serves it.
func (r *Reloader) reloadConfig(ctx context.Context) {
	start := time.Now()
	r.loadConfig()
	r.options.Upstream.ForgetTooLong()
	err := r.rebind(ctx, lookUpMissingOnly)
	if err != nil { // what is new is served as far as it can be
		_ = r.rebind(ctx, lookUpNothing)
	}
	r.options.Figures.ReloadTook.Store(int64(time.Since(start)))
	if r.reloadAll.Swap(false) && err == nil { // what the files say is served by now: this takes longer
		err = r.rebind(ctx, lookUpEverything)
	}
	r.recordLookup(err)
	r.options.Figures.Reloads.Add(1)
	snap := r.options.Snapshot.Load()
	r.log.WithFields(logrus.Fields{
		"definitions": len(snap.Entries), "bound": snap.Bound, "failed": r.options.Figures.Failed.Load(),
		"duration": time.Since(start),
	}).Info("configuration read again")
}

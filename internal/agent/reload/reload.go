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
	// missedGap is how far apart two lookups of all operands are at least when somebody asks for a metric that is not bound.
	missedGap = 2 * time.Second

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

	asked  chan struct{} // read the configuration again
	missed chan struct{} // somebody asked for a metric that is not bound
	whole  atomic.Bool   // the next reload is for operands, too

	// What follows belongs to the goroutine.
	config     served.Config
	ids        *identity.Registry
	directory  operand.MetadataCache
	needed     operand.InDomNeeds // domains whose names matter, with their selectors
	lastBind   time.Time
	lastMissed time.Time    // look-up of what is not bound
	pace       pace         // of what pmcd has announced
	session    int          // that operands are looked up in; 0: none
	retry      wait.Backoff // of a lookup that was refused
	hidden     bool         // a change of names may have been missed
	untold     bool         // there is something new to announce
	refused    int          // names, as logged last
	bindErr    string       // what was logged last why a lookup failed
	saveErr    string       // likewise of the disk

	bind     *time.Timer // to look everything up
	due      *time.Timer // to look up what the directory says
	announce *time.Timer
	unsaved  *time.Timer
}

// Options are what a Reloader is made with.
type Options struct {
	Domain    int
	StateFile string               // of identities; "": they are not kept
	Load      func() served.Config // reads all definitions
	Poll      time.Duration        // how often what is not there is looked up again
	Protected []string             // subtrees of the PMNS, see agent.Options

	Upstream *upstream.Upstream
	Sampler  *sampler.Sampler
	Names    *operand.InstanceCache // written by Upstream
	Figures  *control.Figures
	Log      logrus.FieldLogger
	Now      func() time.Time

	// What the request loop reads: what is served, and what is to be told to pmcd with the next reply.
	Snapshot *atomic.Pointer[Snapshot]
	Changes  *atomic.Uint32
}

// New reads configuration and state, and publishes a first snapshot.
func New(o Options) *Reloader {
	r := &Reloader{
		options: o, log: o.Log, asked: make(chan struct{}, 1), missed: make(chan struct{}, 1),
		directory: operand.MetadataCache{Queue: make(operand.LookupQueue)}, retry: wait.Backoff{Least: firstRetry, Most: lastRetry},
		pace: newPace(), bind: time.NewTimer(never), due: time.NewTimer(never),
		announce: time.NewTimer(never), unsaved: time.NewTimer(never),
	}
	var err error
	if r.ids, err = identity.Load(o.StateFile, o.Domain); err != nil {
		r.log.WithError(err).Error("cannot read the metric identifiers of earlier runs")
	}
	r.load()
	snap := r.build(nil)
	r.save()
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
			r.save()
			return
		case <-r.asked:
			r.reread(ctx)
		case <-r.options.Upstream.Ready():
			r.handle(ctx, r.options.Upstream.Events())
		case <-r.bind.C:
			r.lookUpAll(ctx)
		case <-r.due.C:
			r.lookUpDue(ctx)
		case <-r.missed:
			if time.Since(r.lastMissed) > missedGap {
				r.lookUpMissing(ctx)
			}
		case <-poll:
			if r.hidden {
				r.lookUpAll(ctx)
			} else {
				r.lookUpMissing(ctx)
			}
		case <-r.unsaved.C:
			r.save()
		case <-r.announce.C:
			if r.session != 0 && r.options.Changes.Load() != 0 && again.Last() < announceLast {
				if r.options.Upstream.Announce(pdu.NewPMID(r.options.Domain, control.Cluster, control.Reload)) {
					again.Next()
				}
				r.announce.Reset(max(again.Last(), announceRetry))
			}
		}
		if next := r.directory.NextDue(); r.session != 0 && !next.IsZero() {
			r.due.Reset(max(dueGap, time.Until(next)))
		}
		if r.untold {
			r.untold = false
			again.Reset()
			r.announce.Reset(0)
		}
	}
}

// handle does what events call for.
func (r *Reloader) handle(ctx context.Context, e upstream.Events) {
	r.hidden = r.hidden || e.Hidden
	if e.Session != r.session {
		r.session, r.bindErr = e.Session, ""
		r.retry.Reset()
		if r.session == 0 {
			r.options.Figures.Connected.Store(false)
		} else {
			r.options.Upstream.NameAgents(ctx) // a lost connection shows below
			clear(r.directory.Queue)
			r.lookUpAll(ctx)
			r.untold = r.untold || r.options.Changes.Load() != 0
		}
		return
	}
	if e.Names && r.bindErr == "" { // else it is tried again soon
		r.bind.Reset(r.pace.announced(r.lastBind, time.Now()))
	}
	if len(e.Instances) > 0 {
		r.directory.Queue.Add(e.Instances...)
		r.lookUpDue(ctx)
	}
}

// lookUpAll binds all definitions anew.
func (r *Reloader) lookUpAll(ctx context.Context) {
	if r.session == 0 {
		return // the next one begins with this
	}
	before := r.directory.Catalog
	r.hidden, r.lastBind = false, time.Now()
	r.failed(r.rebind(ctx, afresh))
	r.pace.lookedUp(!r.directory.Catalog.Equal(before))
}

// lookUpMissing looks up what is not there, if there may be such a thing.
func (r *Reloader) lookUpMissing(ctx context.Context) {
	if r.session != 0 && r.unbound() {
		r.lastMissed = time.Now()
		r.failed(r.rebind(ctx, missing))
	}
}

// failed looks after a lookup that has failed as a whole: it is tried again. If the connection has failed, there will
// be another session.
func (r *Reloader) failed(err error) {
	switch {
	case err == nil:
		r.bindErr = ""
		r.retry.Reset()
	case !errors.Is(err, upstream.ErrUnconnected) && r.session != 0:
		if text := err.Error(); text != r.bindErr {
			r.bindErr = text
			r.log.WithError(err).Warn("cannot look up operands, trying again")
		}
		r.bind.Reset(r.retry.Next())
	}
}

// unbound reports whether metrics that are not there now may change what is served when they appear.
func (r *Reloader) unbound() bool {
	snap := r.options.Snapshot.Load()
	return snap.Bound < len(snap.Metrics) || r.config.Language.NoValue
}

// Reload asks for the configuration to be read again, because it has changed; it does not wait. What is
// known of operands is not looked up again.
func (r *Reloader) Reload() { wait.Signal(r.asked) }

// ReloadAll asks for the configuration to be read and for all operands to be looked up again, because
// somebody wants that; it does not wait.
func (r *Reloader) ReloadAll() {
	r.whole.Store(true)
	wait.Signal(r.asked)
}

// Missed tells that somebody has asked for a metric that is not bound; it does not wait.
func (r *Reloader) Missed() { wait.Signal(r.missed) }

func (r *Reloader) load() {
	r.config = r.options.Load()
	r.config.Read = r.options.Now()
}

// reread reads the configuration and serves it.
func (r *Reloader) reread(ctx context.Context) {
	start := time.Now()
	r.load()
	r.options.Upstream.ForgetTooLong()
	err := r.rebind(ctx, missing)
	if err != nil { // what is new is served as far as it can be
		_ = r.rebind(ctx, nothing)
	}
	r.options.Figures.ReloadTook.Store(int64(time.Since(start)))
	if r.whole.Swap(false) && err == nil { // what the files say is served by now: this takes longer
		err = r.rebind(ctx, afresh)
	}
	r.failed(err)
	r.options.Figures.Reloads.Add(1)
	snap := r.options.Snapshot.Load()
	r.log.WithFields(logrus.Fields{
		"definitions": len(snap.Metrics), "bound": snap.Bound, "failed": r.options.Figures.Failed.Load(),
		"duration": time.Since(start),
	}).Info("configuration read again")
}

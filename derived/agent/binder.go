package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/identity"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

const (
	// greetTimeout is how long a connection to pmcd may take: it greets nobody while it starts
	// its agents, us among them.
	greetTimeout = time.Minute

	// Attempts to connect start at firstRetry and slow down to lastRetry, to refusedRetry where
	// pmcd says that we may not.
	firstRetry   = 50 * time.Millisecond
	lastRetry    = 2 * time.Second
	refusedRetry = time.Minute

	// rebindGap is how far apart two lookups of all operands are at least.
	rebindGap = time.Second

	// missedGap is likewise, when somebody asks for a metric that is not bound.
	missedGap = 2 * time.Second

	// primeTime is how long a definition that is served waits for the first sample of its new operands
	// before it changes over to them.
	primeTime = 50 * time.Millisecond
	primePace = time.Millisecond // of looking whether it has come

	// Announcements are tried again after announceRetry, then slower and slower, and not any more
	// when that has become longer than announceLast: then pmcd is not asking us, or the pmcd that we
	// sample is another one. The next fetch of any client carries them all the same.
	announceRetry = 20 * time.Millisecond
	announceLast  = 10 * time.Second

	// saveRetry is how soon identities are written again that could not be, because the disk is full
	// or nobody may write there.
	saveRetry = time.Second
)

// binder is the goroutine that talks to pmcd about anything but values: it connects, looks up the
// operands of the definitions and the names of instances, and makes the snapshots. It may wait; nobody
// waits for it.
type binder struct {
	a   *Agent
	log logrus.FieldLogger

	reload  chan struct{} // read the configuration again
	missed  chan struct{} // somebody asked for a metric that is not bound
	changed chan struct{} // pmcd announced other agents or names
	lost    chan error    // a sampler connection failed
	stale   chan struct{} // instances changed in domains of dirty
	slots   chan int      // where pmcd has put a connection of ours
	better  chan struct{} // a lower slot has fallen free
	worn    chan struct{} // a sampler connection was given up that the others do without
	narrow  chan struct{} // pmcd takes fewer operands in a fetch than a definition has

	whole atomic.Bool // the next reload is for operands, too
	doubt atomic.Bool // a change of names may have been missed

	mu    sync.Mutex
	dirty map[pdu.InDom]bool // guarded by mu

	// What follows belongs to the goroutine.
	config   served.Config
	ids      *identity.Registry
	catalog  *operand.Catalog // nil: nothing looked up yet
	needed   operand.Domains  // domains whose names matter, with their selectors
	lastBind time.Time
	untold   bool   // there is something new to announce
	trouble  string // the last failure to connect that was logged
	saveErr  string // likewise to save
}

// newBinder reads configuration and state, and gives the agent its first snapshot.
func newBinder(a *Agent) *binder {
	b := &binder{
		a: a, log: a.log,
		reload: make(chan struct{}, 1), missed: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		lost: make(chan error, lanes), stale: make(chan struct{}, 1),
		slots: make(chan int, lanes+1), better: make(chan struct{}, 1), worn: make(chan struct{}, 1), narrow: make(chan struct{}, 1),
		dirty: make(map[pdu.InDom]bool),
	}
	a.sampler.lost = b.onLost
	a.sampler.news = b.onNews
	a.sampler.echoed = func() { b.doubt.Store(true) }
	a.sampler.renamed = b.onRenamed
	a.sampler.worn = func() { signal(b.worn) }
	a.sampler.narrowed = func() { signal(b.narrow) }
	var err error
	if b.ids, err = identity.Load(a.options.StateFile, a.options.Domain); err != nil {
		b.log.WithError(err).Error("metric identifiers of former runs are not known")
	}
	b.load()
	snap := b.build(nil)
	b.save()
	b.publish(snap)
	b.report(&served.Snapshot{}, snap.Snapshot)
	return b
}

func (b *binder) load() {
	b.config = b.a.options.Load()
	if b.config.Read.IsZero() {
		b.config.Read = b.a.options.Now()
	}
	b.a.noteDefinitions(b.config.Definitions)
}

// publish serves what was built.
func (b *binder) publish(snap *snapshot) {
	b.a.snapshot.Store(snap)
	b.a.figures.Definitions.Store(int64(len(snap.Metrics)))
	b.a.figures.Bound.Store(int64(snap.Bound))
	b.a.figures.Failed.Store(int64(snap.Failures() + len(b.config.Failures)))
}

// onLost, onNews and onRenamed are called under the sampler's lock and must not wait.

func (b *binder) onLost(err error) {
	select {
	case b.lost <- err:
	default:
	}
}

func (b *binder) onNews(change pdu.Change) {
	const operands = pdu.ChangeAddAgent | pdu.ChangeRestartAgent | pdu.ChangeDropAgent | pdu.ChangeNames
	if change&operands != 0 {
		signal(b.changed)
	}
}

func (b *binder) onRenamed(d pdu.InDom) {
	b.soil(d)
	signal(b.stale)
}

func (b *binder) soil(d pdu.InDom) {
	b.mu.Lock()
	b.dirty[d] = true
	b.mu.Unlock()
}

// run keeps the agent connected until ctx ends.
func (b *binder) run(ctx context.Context) {
	retry := firstRetry
	for {
		err := b.session(ctx, func() { retry = firstRetry })
		if ctx.Err() != nil {
			return
		}
		b.a.figures.Connected.Store(false)
		if text := err.Error(); text != b.trouble {
			b.trouble = text
			b.log.WithError(err).Warn("no connection to pmcd, trying again")
		}
		slowest := lastRetry
		if code := pdu.CodeOf(err); code == pdu.ErrPermission || code == pdu.ErrConnLimit {
			slowest = refusedRetry
		}
		b.pause(ctx, retry)
		retry = min(2*retry, slowest)
	}
}

// pause waits before the next attempt to connect; the configuration can be read again meanwhile.
func (b *binder) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-b.reload:
			_ = b.reread(ctx, nil) // there is no connection that could fail
		}
	}
}

// session is the life of one set of connections. It returns why that has ended.
func (b *binder) session(ctx context.Context, connected func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	links, err := b.connect(ctx)
	if err != nil {
		return err
	}
	conn := links[lanes].conn
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	var readers sync.WaitGroup
	defer readers.Wait()
	defer b.a.sampler.detach()
	for len(b.lost) > 0 {
		<-b.lost
	}
	b.a.sampler.attach(ctx, &readers, links[:lanes]...)

	if err := b.rebind(ctx, conn, afresh); err != nil {
		return err
	}
	connected() // what cannot even be looked up is tried again ever more slowly
	b.trouble = ""
	b.a.figures.Connected.Store(true)
	b.log.WithField("pmcd", conn.Addr()).Info("connected to pmcd")
	return b.follow(ctx, conn, &readers)
}

// connect dials; the configuration can be read again meanwhile.
func (b *binder) connect(ctx context.Context) (links []link, err error) {
	dialled := make(chan struct{})
	go func() {
		defer close(dialled)
		links, err = b.dial(ctx)
	}()
	for {
		select {
		case <-dialled:
			return links, err
		case <-b.reload:
			_ = b.reread(ctx, nil) // there is no connection that could fail
		}
	}
}

// dial makes the sampler's connections first, for low slots in pmcd's table, then the binder's.
func (b *binder) dial(ctx context.Context) ([]link, error) {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	links := make([]link, 0, lanes+1)
	patience := slotPatience
	for i := range lanes + 1 {
		var opts []pmapi.Option
		if i < lanes {
			opts = b.sampling()
		}
		c, err := b.link(ctx, patience, opts...)
		if err != nil {
			for _, made := range links {
				err = errors.Join(err, made.conn.Close())
			}
			return nil, err
		}
		if c.slot == unknownSlot {
			patience = 0 // it is not this pmcd that we serve, or it tells no slots
		}
		links = append(links, c)
	}
	return links, nil
}

// follow does what becomes necessary while the connections last.
func (b *binder) follow(ctx context.Context, conn *pmapi.Conn, readers *sync.WaitGroup) error {
	var poll <-chan time.Time
	if b.a.options.Poll > 0 {
		ticker := time.NewTicker(b.a.options.Poll)
		defer ticker.Stop()
		poll = ticker.C
	}
	announce := time.NewTimer(0)
	defer announce.Stop()
	retry := announceRetry
	soon, move := stopped(), stopped()
	defer soon.Stop()
	defer move.Stop()
	var unsaved <-chan time.Time
	for {
		if b.saveErr != "" && unsaved == nil {
			unsaved = time.After(saveRetry)
		}
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-unsaved:
			unsaved = nil
			b.save()
		case err = <-b.lost:
		case <-b.reload:
			err = b.reread(ctx, conn)
		case <-b.changed:
			soon.Reset(max(0, rebindGap-time.Since(b.lastBind))) // agents come in crowds
		case <-soon.C:
			err = b.rebind(ctx, conn, afresh)
		case <-b.missed:
			if b.unbound() && time.Since(b.lastBind) > missedGap {
				err = b.rebind(ctx, conn, afresh)
			}
		case <-poll:
			if b.doubt.Swap(false) || b.unbound() {
				err = b.rebind(ctx, conn, afresh)
			} else {
				err = b.refreshNames(ctx, conn, b.takeDirty()) // those that could not be had
			}
		case <-b.stale:
			err = b.refreshNames(ctx, conn, b.takeDirty())
		case <-b.worn:
			err = b.refill(ctx, readers)
		case <-b.narrow:
			err = b.rebind(ctx, conn, missing)
		case <-b.better:
			move.Reset(moveGap)
		case <-move.C:
			b.moveDown(ctx, readers)
		case <-announce.C:
			if b.a.changes.Load() != 0 && retry <= announceLast {
				if b.announce() {
					retry *= 2
				}
				announce.Reset(retry)
			}
		}
		if err != nil {
			return err
		}
		if b.untold {
			b.untold, retry = false, announceRetry
			announce.Reset(0)
		}
	}
}

// announce sends a fetch for one of our own metrics, if a lane is free: its RESULT tells every client
// of pmcd what has changed.
func (b *binder) announce() bool {
	return b.a.sampler.announce(control.PMID(b.a.options.Domain, control.Reload))
}

// unbound reports whether metrics that are not there now may change what is served when they appear.
func (b *binder) unbound() bool {
	snap := b.a.snapshot.Load()
	return snap.Bound < len(snap.Metrics) || b.config.Language.NoValue
}

// stopped makes a timer that has yet to be set.
func stopped() *time.Timer {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return timer
}

// reread reads the configuration and serves it; conn is nil while there is no connection.
func (b *binder) reread(ctx context.Context, conn *pmapi.Conn) error {
	start := time.Now()
	b.load()
	b.a.sampler.forgive(b.a.snapshot.Load().feeds)
	err := b.rebind(ctx, conn, missing)
	if err != nil { // what is new is served as far as it can be
		_ = b.rebind(ctx, nil, missing)
	}
	b.a.figures.ReloadTook.Store(int64(time.Since(start)))
	if b.whole.Swap(false) && err == nil { // what the files say is served by now: this takes longer
		err = b.rebind(ctx, conn, afresh)
	}
	b.a.figures.Reloads.Add(1)
	snap := b.a.snapshot.Load()
	b.log.WithFields(logrus.Fields{
		"definitions": len(snap.Metrics), "bound": snap.Bound, "failed": snap.Failures() + len(b.config.Failures),
		"duration": time.Since(start),
	}).Info("configuration read again")
	return err
}

// scope is what to ask pmcd for.
type scope int

const (
	afresh  scope = iota // everything: pmcd or its agents may be others
	missing              // what is not known yet: only the definitions are others
)

// rebind looks up the operands of all definitions and serves what comes of it. Without a connection
// it makes do with what was looked up last.
func (b *binder) rebind(ctx context.Context, conn *pmapi.Conn, what scope) error {
	if conn != nil {
		if err := b.lookUp(ctx, conn, what); err != nil {
			return fmt.Errorf("operands: %w", err)
		}
	}
	before := b.a.snapshot.Load()
	snap := b.build(before)
	needed := needsOf(snap)
	if conn != nil {
		b.needed = needsOf(snap, before) // what is served now goes on until the swap
		if err := b.refreshNames(ctx, conn, b.domains(what)); err != nil {
			return err
		}
		b.prime(ctx, snap, before)
	}
	b.needed = needed
	if b.ids.MustSave() {
		b.save()
	}
	snap.spare.Store(snap.Set.NewEvaluation()) // so that no request waits for it
	b.publish(snap)
	b.a.names.Forget(needsOf(snap, before)) // a fetch from the snapshot before may still need its names
	b.a.schedule.keepWarm(b.a.sampler.deepen(snap))
	if !snap.SameNames(before.Snapshot) {
		b.tell(pdu.ChangeNames)
	}
	if !snap.SameLabels(before.Snapshot) {
		b.tell(pdu.ChangeLabels)
	}
	b.report(before.Snapshot, snap.Snapshot)
	b.save()
	return nil
}

// tell has a change announced.
func (b *binder) tell(change pdu.Change) {
	b.a.changes.Or(uint32(change))
	b.untold = true
}

// lookUp brings the catalog up to date.
func (b *binder) lookUp(ctx context.Context, conn *pmapi.Conn, what scope) error {
	candidates := served.Texts(b.a.snapshot.Load().Candidates(&b.config))
	known := what == missing && b.catalog != nil
	unknown, all := operand.NamesIn(candidates, served.Root, func(name string) bool {
		if !known {
			return true
		}
		_, err := b.catalog.Desc(name)
		return err != nil
	})
	found, err := operand.LookUp(ctx, conn, unknown)
	switch {
	case err != nil:
		return err
	case !known:
		b.catalog, b.lastBind = found, time.Now()
		return nil
	}
	b.catalog = b.catalog.With(found)
	if b.catalog.Len() > 2*all { // most of it is for definitions that are gone
		used, _ := operand.NamesIn(candidates, served.Root, func(string) bool { return true })
		b.catalog = b.catalog.Only(used)
	}
	return nil
}

// domains are the needed ones whose names are to be asked for.
func (b *binder) domains(what scope) []pdu.InDom {
	if what == afresh {
		b.takeDirty()
		return slices.Collect(maps.Keys(b.needed))
	}
	return b.a.names.Lacking(b.needed)
}

// prime waits, not for long, for first samples of metrics that are served and have other operands now, so
// that their clients do not find them without a value.
func (b *binder) prime(ctx context.Context, snap, before *snapshot) {
	var feeds []*feed
	for m, old := range snap.Pairs(before.Snapshot) {
		if old != nil && old.Operands != nil && m.Operands != nil && old.Operands != m.Operands && len(m.Operands.Descs) > 0 {
			feeds = append(feeds, snap.metrics[m.Index].feed)
		}
	}
	if len(feeds) == 0 {
		return
	}
	b.a.sampler.want(b.a.options.Now(), need{gap: minGap}, feeds...)
	ctx, cancel := context.WithTimeout(ctx, primeTime)
	defer cancel()
	tick := time.NewTicker(primePace)
	defer tick.Stop()
	for b.a.sampler.awaiting(feeds) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *binder) build(before *snapshot) *snapshot {
	in := served.Input{
		Config: b.config, IDs: b.ids, Own: control.Entries(b.a.options.Domain), Protect: b.a.options.Protected,
		Operands: served.OperandLimits{Most: int(b.a.options.Limits.Operands), Taken: b.a.sampler.takes()},
	}
	if b.catalog != nil {
		in.Catalog = b.catalog
	}
	if before != nil {
		in.Before = before.Snapshot
	}
	snap := newSnapshot(served.Build(in), before)
	b.a.figures.Operands.Raise(int64(snap.Widest))
	return snap
}

// report logs definitions whose fate has changed.
func (b *binder) report(before, now *served.Snapshot) {
	for _, name := range now.Nameless {
		b.log.WithField("metric", name).Error("definition has no identity")
	}
	for m, now := range before.Pairs(now) {
		if m.Described && (now == nil || now.ID != m.ID) {
			b.log.WithFields(logrus.Fields{"metric": m.Def.Name, "pmid": m.ID}).
				Warn("metric is gone or has become another one: a pmlogger that records it goes on without its values, and exits when pmcd starts an agent next; systemd or pmlogger_check starts it again")
		}
	}
	for m, old := range now.Pairs(before) {
		if old != nil && old.State == m.State && old.Problem == m.Problem {
			continue
		}
		entry := b.log.WithFields(logrus.Fields{"metric": m.Def.Name, "state": m.State})
		switch { // whoever has read the configuration has logged what is wrong with it
		case m.State == served.Kept && m.Reported:
			entry.Warn("definition is served as it was before")
		case m.State == served.Failed && m.Reported:
		case m.State == served.Failed, m.State == served.Kept:
			entry.Error(m.Problem)
		case m.State == served.Unbound:
			entry.Debug(m.Problem)
		}
	}
	if now.LookedUp && (before.Bound != now.Bound || len(before.Metrics) != len(now.Metrics) || !before.LookedUp) {
		b.log.WithFields(logrus.Fields{
			"definitions": len(now.Metrics), "bound": now.Bound, "failed": now.Failures() + len(b.config.Failures),
		}).Info("definitions bound")
	}
}

func (b *binder) save() {
	text := ""
	if err := b.ids.Save(); err != nil {
		text = err.Error()
		if cause, ok := errors.AsType[syscall.Errno](err); ok {
			text = cause.Error() // a temporary file has another name each time
		}
		if text != b.saveErr {
			b.log.WithError(err).Error("metric identifiers cannot be saved and may change at the next start")
		}
	}
	if text == "" && b.saveErr != "" {
		b.log.Info("metric identifiers are saved again")
	}
	b.saveErr = text
}

// needsOf gathers the domains whose instance names or members snapshots need.
func needsOf(snapshots ...*snapshot) operand.Domains {
	return operand.DomainsOf(func(yield func(*derived.Metric) bool) {
		for _, snap := range snapshots {
			for _, m := range snap.metrics {
				if m.Derived != nil && !yield(m.Derived) {
					return
				}
			}
		}
	})
}

func (b *binder) takeDirty() []pdu.InDom {
	b.mu.Lock()
	defer b.mu.Unlock()
	dirty := slices.Collect(maps.Keys(b.dirty))
	clear(b.dirty)
	return dirty
}

// refreshNames asks the owners of instance domains for their instances, and what the selectors of our
// expressions mean to them.
func (b *binder) refreshNames(ctx context.Context, conn *pmapi.Conn, domains []pdu.InDom) error {
	refused, err := b.a.names.Refresh(ctx, conn, b.needed, domains)
	for d, err := range refused {
		b.log.WithError(err).WithField("indom", d).Debug("instances cannot be had")
		b.soil(d) // for the next poll
	}
	return err
}

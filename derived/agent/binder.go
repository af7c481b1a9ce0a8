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
// operands of the definitions and the names of instances, and makes the services. It may wait; nobody
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
	config   Config
	ids      *identities
	catalog  catalog // nil: nothing looked up yet
	operands map[pdu.PMID]pdu.Desc
	needed   map[pdu.InDom]map[string]bool // domains whose names matter, with their selectors
	lastBind time.Time
	untold   bool   // there is something new to announce
	trouble  string // the last failure to connect that was logged
	saveErr  string // likewise to save
}

// newBinder reads configuration and state, and gives the agent its first service.
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
	if b.ids, err = loadIdentities(a.options.StateFile, a.options.Domain); err != nil {
		b.log.WithError(err).Error("metric identifiers of former runs are not known")
	}
	b.load()
	svc := b.build(nil)
	b.save()
	a.service.Store(svc)
	b.report(&service{}, svc)
	return b
}

func (b *binder) load() {
	b.config = b.a.options.Load()
	if b.config.Read.IsZero() {
		b.config.Read = b.a.options.Now()
	}
	b.a.failures.Store(int64(len(b.config.Failures)))
	b.a.stats.noteDefinitions(b.config.Definitions)
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
		b.a.stats.connected.Store(false)
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
	b.a.stats.connected.Store(true)
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
	return b.a.sampler.announce(pdu.NewPMID(b.a.options.Domain, controlCluster, controlReload))
}

// unbound reports whether metrics that are not there now may change what is served when they appear.
func (b *binder) unbound() bool {
	svc := b.a.service.Load()
	return svc.good < len(svc.metrics) || b.config.Language.NoValue
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
	b.a.sampler.forgive(b.a.service.Load().feeds)
	err := b.rebind(ctx, conn, missing)
	if err != nil { // what is new is served as far as it can be
		_ = b.rebind(ctx, nil, missing)
	}
	b.a.stats.reloadTook.Store(int64(time.Since(start)))
	if b.whole.Swap(false) && err == nil { // what the files say is served by now: this takes longer
		err = b.rebind(ctx, conn, afresh)
	}
	b.a.stats.reloads.Add(1)
	svc := b.a.service.Load()
	b.log.WithFields(logrus.Fields{
		"definitions": len(svc.metrics), "bound": svc.good, "failed": svc.failed() + len(b.config.Failures),
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
	before := b.a.service.Load()
	svc := b.build(before)
	needed := needsOf(svc)
	if conn != nil {
		b.needed = needsOf(svc, before) // what is served now goes on until the swap
		if err := b.refreshNames(ctx, conn, b.domains(what)); err != nil {
			return err
		}
		b.prime(ctx, svc, before)
	}
	b.needed = needed
	if b.ids.promised { // something that has to be saved before anybody is told
		b.save()
	}
	svc.spare.Store(svc.set.NewEvaluation()) // so that no request waits for it
	b.a.service.Store(svc)
	b.a.ahead.settle() // a fetch from the service before still needs its names
	b.forgetNames()
	b.a.schedule.keepWarm(b.a.sampler.deepen(svc))
	if !svc.sameNames(before) {
		b.tell(pdu.ChangeNames)
	}
	if !svc.sameLabels(before) {
		b.tell(pdu.ChangeLabels)
	}
	b.report(before, svc)
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
	candidates := b.candidates()
	known := what == missing && b.catalog != nil
	unknown, all := operandNames(candidates, func(name string) bool {
		o, ok := b.catalog[name]
		return !known || !ok || o.code < 0
	})
	found, err := lookUp(ctx, conn, unknown)
	if err != nil {
		return err
	}
	if !known {
		b.catalog, b.operands = found.names, found.operands
		b.lastBind = time.Now()
		return nil
	}
	b.learn(found)
	if len(b.catalog) > 2*all { // most of it is for definitions that are gone
		b.forget(candidates)
	}
	return nil
}

// learn adds to what is known of operands. What is known is shared, so it is replaced.
func (b *binder) learn(found *Catalog) {
	if len(found.names) == 0 {
		return
	}
	c := &Catalog{maps.Clone(b.catalog), maps.Clone(b.operands)}
	for name, o := range found.names {
		c.add(name, o)
	}
	b.catalog, b.operands = c.names, c.operands
}

// forget drops operands that no definition uses.
func (b *binder) forget(defs []*Definition) {
	used, _ := operandNames(defs, func(name string) bool {
		_, ok := b.catalog[name]
		return ok
	})
	c := &Catalog{make(catalog, len(used)), make(map[pdu.PMID]pdu.Desc, len(used))}
	for _, name := range used {
		c.add(name, b.catalog[name])
	}
	b.catalog, b.operands = c.names, c.operands
}

// domains are the needed ones whose names are to be asked for.
func (b *binder) domains(what scope) []pdu.InDom {
	if what == afresh {
		b.takeDirty()
		return slices.Collect(maps.Keys(b.needed))
	}
	var unknown []pdu.InDom
	for d, selectors := range b.needed {
		table := b.a.names.table(d)
		ok := b.a.names.domain(d) != nil
		for name := range selectors {
			_, selected := table.Select(name)
			ok = ok && selected
		}
		if !ok {
			unknown = append(unknown, d)
		}
	}
	return unknown
}

// prime waits, not for long, for first samples of metrics that are served and have other operands now, so
// that their clients do not find them without a value.
func (b *binder) prime(ctx context.Context, svc, before *service) {
	var feeds []*feed
	for m, old := range func(yield func(m, old *metric) bool) { svc.pairs(before, yield) } {
		if m.feed == nil || len(m.feed.descs) == 0 {
			continue
		}
		if old != nil && old.feed != nil && old.feed != m.feed {
			feeds = append(feeds, m.feed)
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

// candidates are the definitions that may come to be served: the configured ones, and those served now,
// which stay where their successors turn out to be wrong.
func (b *binder) candidates() []*Definition {
	all := pointers(b.config.Definitions)
	configured := make(map[*derived.Definition]bool, len(all))
	for _, d := range all {
		configured[d.Definition] = true
	}
	for _, m := range b.a.service.Load().metrics {
		if m.source && !configured[m.def.Definition] {
			all = append(all, m.def)
		}
	}
	return all
}

func (b *binder) build(before *service) *service {
	p := blueprint{
		config: b.config, operands: b.operands, before: before, ids: b.ids,
		protected: b.a.options.Protected, log: b.log, limits: b.a.options.Limits,
	}
	p.limits.taken = int64(b.a.sampler.takes())
	if b.catalog != nil {
		p.catalog = b.catalog
	}
	svc := p.build()
	raise(&b.a.stats.operands, int64(p.met))
	return svc
}

// report logs definitions whose fate has changed.
func (b *binder) report(before, now *service) {
	for m, now := range func(yield func(m, now *metric) bool) { before.pairs(now, yield) } {
		if m.described && (now == nil || now.id != m.id) {
			b.log.WithFields(logrus.Fields{"metric": m.def.Name, "pmid": m.id}).
				Warn("metric is gone or has become another one: a pmlogger that records it goes on without its values, and exits when pmcd starts an agent next; systemd or pmlogger_check starts it again")
		}
	}
	for m, old := range func(yield func(m, old *metric) bool) { now.pairs(before, yield) } {
		if old != nil && old.state == m.state && old.problem == m.problem {
			continue
		}
		entry := b.log.WithFields(logrus.Fields{"metric": m.def.Name, "state": m.state})
		switch { // whoever has read the configuration has logged what is wrong with it
		case m.state == stateKept && m.reported:
			entry.Warn("definition is served as it was before")
		case m.state == stateFailed && m.reported:
		case m.state == stateFailed, m.state == stateKept:
			entry.Error(m.problem)
		case m.state == stateUnbound:
			entry.Debug(m.problem)
		}
	}
	if now.bound && (before.good != now.good || len(before.metrics) != len(now.metrics) || !before.bound) {
		b.log.WithFields(logrus.Fields{
			"definitions": len(now.metrics), "bound": now.good, "failed": now.failed() + len(b.config.Failures),
		}).Info("definitions bound")
	}
}

func (b *binder) save() {
	text := ""
	if err := b.ids.save(); err != nil {
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

// needsOf gathers the domains whose instance names or members services need.
func needsOf(services ...*service) map[pdu.InDom]map[string]bool {
	return domainsOf(func(yield func(*derived.Metric) bool) {
		for _, svc := range services {
			for _, m := range svc.metrics {
				if m.derived != nil && !yield(m.derived) {
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
// expressions mean to them. Domains that no expression needs the names of are passed over; one whose
// owner cannot answer keeps the names it had.
func (b *binder) refreshNames(ctx context.Context, conn *pmapi.Conn, domains []pdu.InDom) error {
	now := make(map[pdu.InDom]*domainNames, len(b.needed))
	if old := b.a.names.domains.Load(); old != nil {
		maps.Copy(now, *old)
	}
	for _, d := range domains {
		selectors := b.needed[d]
		if selectors == nil {
			continue
		}
		known, err := names(ctx, conn, d, selectors)
		if err != nil {
			if conn.Err() != nil {
				return fmt.Errorf("instances of %s: %w", d, err)
			}
			b.log.WithError(err).WithField("indom", d).Debug("instances cannot be had")
			b.soil(d) // for the next poll
			continue
		}
		now[d] = known
	}
	b.a.names.replace(now)
	return nil
}

// forgetNames drops the domains that no expression needs the names of any more.
func (b *binder) forgetNames() {
	now := make(map[pdu.InDom]*domainNames, len(b.needed))
	if old := b.a.names.domains.Load(); old != nil {
		for d, known := range *old {
			if b.needed[d] != nil {
				now[d] = known
			}
		}
		if len(now) < len(*old) {
			b.a.names.replace(now)
		}
	}
}

func names(ctx context.Context, conn *pmapi.Conn, d pdu.InDom, selectors map[string]bool) (*domainNames, error) {
	instances, err := conn.Instances(ctx, d)
	if err != nil {
		return nil, err
	}
	table := make(map[pdu.Inst]string, len(instances))
	members := make([]pdu.Inst, len(instances))
	for i, inst := range instances {
		table[inst.ID] = inst.Name
		members[i] = inst.ID
	}
	selected := make(map[string]pdu.Inst, len(selectors))
	for name := range selectors {
		id, err := conn.InstanceID(ctx, d, name)
		switch {
		case err == nil:
			selected[name] = id
		case conn.Err() != nil:
			return nil, err
		}
	}
	return &domainNames{derived.NewNameTable(table, selected), derived.NewInstSet(members)}, nil
}

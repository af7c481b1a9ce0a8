package reload

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

const (
	// firstSampleWait is the longest time for which the former definition of a metric is served after a reload, until the
	// first sample of its new operands has arrived.
	firstSampleWait = 50 * time.Millisecond
	firstSamplePoll = time.Millisecond
)

// lookupScope says which operands to ask pmcd for.
type lookupScope int

const (
	lookUpNothing     lookupScope = iota // none: there is no connection, or the lookup has failed
	lookUpMissingOnly                    // those without a descriptor: only definitions have changed
	lookUpEverything                     // all: pmcd or its agents may have changed
)

// reloadConfig reads the configuration and serves it. If operands cannot be looked up, it serves the definitions with
// the operands that are known.
func (r *Reloader) reloadConfig(ctx context.Context) {
	start := time.Now()
	r.config = r.options.Load()
	r.options.Upstream.ForgetOversize()
	err := r.rebind(ctx, lookUpMissingOnly)
	if err != nil {
		_ = r.rebind(ctx, lookUpNothing)
	}
	if r.reloadAll.Swap(false) && err == nil { // the new definitions are served already: this takes longer
		err = r.rebind(ctx, lookUpEverything)
	}
	r.handleLookupResult(err)
	r.options.Figures.Reloads.Add(1)
	snap := r.options.Snapshot.Load()
	r.log.WithFields(logrus.Fields{
		"definitions": len(snap.Served), "bound": snap.Bound, "failed": r.options.Figures.Failed.Load(),
		"duration": time.Since(start),
	}).Info("configuration read again")
}

// rebind looks up operands, builds a snapshot of all definitions, serves it and announces its changes. It fails if a
// lookup fails as a whole, or if ctx ends; then the former snapshot is still served.
func (r *Reloader) rebind(ctx context.Context, scope lookupScope) error {
	if scope != lookUpNothing {
		if err := r.lookUpOperands(ctx, scope); err != nil {
			return err
		}
	}
	before := r.options.Snapshot.Load()
	snap := r.buildSnapshot(before)
	needed := inDomNeedsOf(snap, before) // of both: before is served until switchTo
	if scope != lookUpNothing {
		if err := r.lookUpInstances(ctx, scope, needed); err != nil {
			return err
		}
		r.awaitFirstSamples(ctx, snap, before)
	}
	r.neededInDoms = inDomNeedsOf(snap)
	r.saveIdentities() // a PMID that a client has seen must be the same after a restart
	if err := r.switchTo(ctx, snap); err != nil {
		return err
	}
	if scope != lookUpNothing { // now, since a client that sees it expects the new operands
		r.options.Figures.Connected.Store(r.session != 0)
	}
	r.options.Instances.DropUnneeded(needed) // not those of before: a fetch may still use that snapshot
	r.options.Upstream.SetSeries(snap.Series, snap.OlderSamples)
	r.options.Upstream.FindBirths(snap.Set.Increases())
	r.announceChanges(snap, before)
	snap.Report(r.log, before.Snapshot, len(r.config.Failures))
	if scope != lookUpNothing {
		r.logUnusedNodes(ctx, snap)
	}
	if scope == lookUpEverything {
		// With thousands of definitions the garbage of a lookup is a quarter of the memory of the process.
		debug.FreeOSMemory()
	}
	return nil
}

// lookUpOperands brings the names and descriptors of operands up to date.
func (r *Reloader) lookUpOperands(ctx context.Context, scope lookupScope) error {
	err := r.options.Upstream.LookUp(func(conn *pmapi.Conn) error {
		return r.metadata.LookUp(ctx, conn, r.usedNames(), scope == lookUpEverything)
	})
	r.logRefused()
	if err != nil {
		return fmt.Errorf("operands: %w", err)
	}
	return nil
}

// usedNames yields the operands of the definitions that may be served next: those of the configuration, and those
// served now.
func (r *Reloader) usedNames() iter.Seq[string] {
	return operand.NamesIn(r.options.Snapshot.Load().Candidates(&r.config), derived.Root)
}

// buildSnapshot returns a snapshot of the configuration and the known operands. before is nil for the first one.
func (r *Reloader) buildSnapshot(before *Snapshot) *Snapshot {
	in := served.Input{
		Config: r.config, IDs: r.ids, OwnEntries: control.Entries(r.options.Domain), ProtectedNodes: r.options.ProtectedNodes,
		MaxOperands: upstream.MaxOperands,
	}
	if c := r.metadata.Catalog; c != nil {
		in.Catalog = c
	}
	if before != nil {
		in.Before = before.Snapshot
	}
	return NewSnapshot(served.Build(in), before)
}

// lookUpInstances brings the instances of the needed instance domains up to date: of all, or with lookUpMissingOnly of
// those that are not known.
func (r *Reloader) lookUpInstances(ctx context.Context, scope lookupScope, needed operand.InDomNeeds) error {
	domains := slices.Collect(maps.Keys(needed))
	if scope == lookUpMissingOnly {
		domains = r.options.Instances.Missing(needed)
	}
	queue := r.metadata.Queue
	return r.options.Upstream.LookUpInstances(ctx, needed, queue.TakeReady(time.Now(), domains), queue)
}

// awaitFirstSamples waits, up to firstSampleWait, for first samples of metrics that are served and have new operands.
// Otherwise their clients would get no value at the next fetch.
func (r *Reloader) awaitFirstSamples(ctx context.Context, snap, before *Snapshot) {
	var series []*upstream.Series
	for m, old := range snap.Pairs(before.Snapshot) {
		if old != nil && old.Operands != nil && m.Operands != nil && old.Operands != m.Operands && len(m.Operands.Descs) > 0 {
			series = append(series, snap.ServedStates[m.Index].Series)
		}
	}
	if len(series) == 0 {
		return
	}
	r.options.Upstream.Want(r.options.Now(), freshness.Need{Gap: freshness.MinAge}, series...)
	ctx, cancel := context.WithTimeout(ctx, firstSampleWait)
	defer cancel()
	tick := time.Tick(firstSamplePoll)
	for r.options.Upstream.Awaiting(series) {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// switchTo replaces the snapshot that is served. The functions over time switch at the same time, in Sampler.SwitchSet.
func (r *Reloader) switchTo(ctx context.Context, snap *Snapshot) error {
	snap.PreparedEvaluation.Store(snap.Set.NewEvaluation()) // here, so that no request has to make it
	published, err := r.options.Sampler.SwitchSet(ctx, snap.Set, snap.WindowSeries, snap.WindowTimes)
	if err != nil {
		return err
	}
	snap.Published = published
	r.publish(snap)
	return nil
}

// publish stores the snapshot that requests read, and counts its definitions.
func (r *Reloader) publish(snap *Snapshot) {
	r.options.Snapshot.Store(snap)
	r.options.Figures.Definitions.Store(int64(len(snap.Served)))
	r.options.Figures.Bound.Store(int64(snap.Bound))
	r.options.Figures.Failed.Store(int64(snap.Failures() + len(r.config.Failures)))
}

// announceChanges makes the next reply tell pmcd of changed names and labels. Names are announced again after
// repeatNamesAfter.
func (r *Reloader) announceChanges(snap, before *Snapshot) {
	var change pdu.Change
	if !snap.SameNames(before.Snapshot) {
		change |= pdu.ChangeNames
		r.repeatTimer.Reset(repeatNamesAfter)
	}
	if !snap.SameLabels(before.Snapshot) {
		change |= pdu.ChangeLabels
	}
	if change != 0 {
		r.addChange(change)
	}
}

// addChange adds a change to those that the next reply announces. Run causes a reply.
func (r *Reloader) addChange(change pdu.Change) {
	r.options.Changes.Or(uint32(change))
	r.newChange = true
}

// saveIdentities saves the state file if it has changed. After an error it is called again in saveRetry.
func (r *Reloader) saveIdentities() {
	text := ""
	if err := r.ids.Save(); err != nil {
		text = err.Error()
		if cause, ok := errors.AsType[syscall.Errno](err); ok {
			text = cause.Error() // without the name of the temporary file, which differs each time
		}
		if text != r.loggedSaveError {
			r.log.WithError(err).Error("cannot save metric identifiers, they may change at the next start")
		}
		r.saveTimer.Reset(saveRetry)
	}
	if text == "" && r.loggedSaveError != "" {
		r.log.Info("metric identifiers are saved again")
	}
	r.loggedSaveError = text
}

// inDomNeedsOf collects the instance domains whose names or members the snapshots need.
func inDomNeedsOf(snapshots ...*Snapshot) operand.InDomNeeds {
	return operand.InDomNeedsOf(func(yield func(*derived.Metric) bool) {
		for _, snap := range snapshots {
			for _, m := range snap.ServedStates {
				if m.Served.Derived != nil && !yield(m.Served.Derived) {
					return
				}
			}
		}
	})
}

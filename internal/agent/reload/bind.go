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
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

const (
	// firstSampleWait is how long a definition that is served waits for the first sample of its new operands
	// before it changes over to them.
	firstSampleWait = 50 * time.Millisecond
	firstSamplePoll = time.Millisecond // of looking whether it has come
)

// lookupScope is what to ask pmcd for.
type lookupScope int

const (
	lookUpNothing     lookupScope = iota // there is no connection, or it has failed: what was looked up last must do
	lookUpMissingOnly                    // what is not known yet: only the definitions are others
	lookUpEverything                     // everything: pmcd or its agents may be others
)

// rebind looks up the operands of all definitions and serves what comes of it.
func (r *Reloader) rebind(ctx context.Context, what lookupScope) error {
	if what != lookUpNothing {
		if err := r.lookUp(ctx, what); err != nil {
			return fmt.Errorf("operands: %w", err)
		}
	}
	before := r.options.Snapshot.Load()
	snap := r.buildSnapshot(before)
	both := inDomNeedsOf(snap, before) // what is served now goes on until the swap
	if what != lookUpNothing {
		domains := slices.Collect(maps.Keys(both))
		if what == lookUpMissingOnly {
			domains = r.options.Instances.Missing(both)
		}
		if err := r.options.Upstream.LookUpInstances(ctx, both, r.metadata.Queue.TakeReady(time.Now(), domains), r.metadata.Queue); err != nil {
			return err
		}
		r.awaitFirstSamples(ctx, snap, before)
	}
	r.neededInDoms = inDomNeedsOf(snap)
	if r.ids.MustSave() {
		r.saveIdentities()
	}
	snap.PreparedEvaluation.Store(snap.Set.NewEvaluation()) // so that no request waits for it
	results, err := r.options.Sampler.SwitchSet(ctx, snap.Set, snap.Windows)
	if err != nil {
		return err
	}
	snap.Results = results
	r.publish(snap)
	if what != lookUpNothing { // whoever sees that finds what was looked up
		r.options.Figures.Connected.Store(r.session != 0)
	}
	r.options.Instances.DropUnneeded(both) // a fetch from the snapshot before may still need its names
	r.options.Upstream.Serve(snap.Series, snap.OlderSamples)
	if !snap.SameNames(before.Snapshot) {
		r.addChange(pdu.ChangeNames)
	}
	if !snap.SameLabels(before.Snapshot) {
		r.addChange(pdu.ChangeLabels)
	}
	snap.Report(r.log, before.Snapshot, len(r.config.Failures))
	r.saveIdentities()
	if what == lookUpEverything {
		debug.FreeOSMemory() // what was needed for this alone is a quarter of the memory of a host with thousands of definitions
	}
	return nil
}

// addChange has a change announced.
func (r *Reloader) addChange(change pdu.Change) {
	r.options.Changes.Or(uint32(change))
	r.newChange = true
}

// publish serves what was built.
func (r *Reloader) publish(snap *Snapshot) {
	r.options.Snapshot.Store(snap)
	r.options.Figures.Definitions.Store(int64(len(snap.Entries)))
	r.options.Figures.Bound.Store(int64(snap.Bound))
	r.options.Figures.Failed.Store(int64(snap.Failures() + len(r.config.Failures)))
}

// usedNames are the names that definitions use.
func (r *Reloader) usedNames() iter.Seq[string] {
	return operand.NamesIn(r.options.Snapshot.Load().Candidates(&r.config), derived.Root)
}

// lookUp brings the directory up to date.
func (r *Reloader) lookUp(ctx context.Context, what lookupScope) error {
	err := r.options.Upstream.LookUp(func(conn *pmapi.Conn) error {
		return r.metadata.LookUp(ctx, conn, r.usedNames(), what == lookUpEverything)
	})
	r.logRefused()
	return err
}

// lookUpDue asks again for what was refused, and for the domains that are due. All others go on as they are.
func (r *Reloader) lookUpDue(ctx context.Context) {
	var changed bool
	var err error
	if r.metadata.RefusedDue(time.Now()) {
		err = r.options.Upstream.LookUp(func(conn *pmapi.Conn) (err error) {
			changed, err = r.metadata.LookUpRefused(ctx, conn, r.usedNames())
			return err
		})
	}
	if err == nil && changed {
		err = r.rebind(ctx, lookUpMissingOnly)
	}
	if domains := r.metadata.Queue.TakeDue(time.Now(), r.neededInDoms); err == nil && len(domains) > 0 {
		err = r.options.Upstream.LookUpInstances(ctx, r.neededInDoms, domains, r.metadata.Queue)
	}
	if err != nil { // else it may have asked for nothing
		r.recordLookup(err)
	}
}

// logRefused logs names that agents refuse to tell anything of.
func (r *Reloader) logRefused() {
	n, name, why := r.metadata.Refused()
	switch {
	case n == r.loggedRefused:
	case n == 0:
		r.log.Info("no operands are refused any more")
	default:
		r.log.WithError(why).WithFields(logrus.Fields{"operands": n, "operand": name}).Warn("operands are refused, trying again")
	}
	r.loggedRefused = n
}

// awaitFirstSamples waits, not for long, for first samples of metrics that are served and have other operands now, so
// that their clients do not find them without a value.
func (r *Reloader) awaitFirstSamples(ctx context.Context, snap, before *Snapshot) {
	var series []*upstream.Series
	for m, old := range snap.Pairs(before.Snapshot) {
		if old != nil && old.Operands != nil && m.Operands != nil && old.Operands != m.Operands && len(m.Operands.Descs) > 0 {
			series = append(series, snap.EntryStates[m.Index].Series)
		}
	}
	if len(series) == 0 {
		return
	}
	r.options.Upstream.Want(r.options.Now(), operand.Need{Gap: upstream.MinGap}, series...)
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

// buildSnapshot makes a snapshot of what is known; before is nil for the first one.
func (r *Reloader) buildSnapshot(before *Snapshot) *Snapshot {
	in := served.Input{
		Config: r.config, IDs: r.ids, OwnEntries: control.Entries(r.options.Domain), ProtectedNodes: r.options.ProtectedNodes,
		MaxOperands: upstream.MaxPart,
	}
	if c := r.metadata.Catalog; c != nil {
		in.Catalog = c
	}
	if before != nil {
		in.Before = before.Snapshot
	}
	return NewSnapshot(served.Build(in), before)
}

// saveIdentities writes identities down, or tries again soon.
func (r *Reloader) saveIdentities() {
	text := ""
	if err := r.ids.Save(); err != nil {
		text = err.Error()
		if cause, ok := errors.AsType[syscall.Errno](err); ok {
			text = cause.Error() // a temporary file has another name each time
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

// inDomNeedsOf gathers the domains whose instance names or members snapshots need.
func inDomNeedsOf(snapshots ...*Snapshot) operand.InDomNeeds {
	return operand.InDomNeedsOf(func(yield func(*derived.Metric) bool) {
		for _, snap := range snapshots {
			for _, m := range snap.EntryStates {
				if m.Derived != nil && !yield(m.Derived) {
					return
				}
			}
		}
	})
}

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
	// primeTime is how long a definition that is served waits for the first sample of its new operands
	// before it changes over to them.
	primeTime = 50 * time.Millisecond
	primePace = time.Millisecond // of looking whether it has come
)

// scope is what to ask pmcd for.
type scope int

const (
	nothing scope = iota // there is no connection, or it has failed: what was looked up last must do
	missing              // what is not known yet: only the definitions are others
	afresh               // everything: pmcd or its agents may be others
)

// rebind looks up the operands of all definitions and serves what comes of it.
func (r *Reloader) rebind(ctx context.Context, what scope) error {
	if what != nothing {
		if err := r.lookUp(ctx, what); err != nil {
			return fmt.Errorf("operands: %w", err)
		}
	}
	before := r.options.Snapshot.Load()
	snap := r.build(before)
	both := needsOf(snap, before) // what is served now goes on until the swap
	if what != nothing {
		domains := slices.Collect(maps.Keys(both))
		if what == missing {
			domains = r.options.Names.Missing(both)
		}
		if err := r.options.Upstream.LookUpInstances(ctx, both, r.directory.Queue.TakeReady(time.Now(), domains), r.directory.Queue); err != nil {
			return err
		}
		r.prime(ctx, snap, before)
	}
	r.needed = needsOf(snap)
	if r.ids.MustSave() {
		r.save()
	}
	snap.Spare.Store(snap.Set.NewEvaluation()) // so that no request waits for it
	results, err := r.options.Sampler.SwitchSet(ctx, snap.Set, snap.Windows)
	if err != nil {
		return err
	}
	snap.Results = results
	r.publish(snap)
	if what != nothing { // whoever sees that finds what was looked up
		r.options.Figures.Connected.Store(r.session != 0)
	}
	r.options.Names.DropUnneeded(both) // a fetch from the snapshot before may still need its names
	r.options.Upstream.Serve(snap.Series, snap.Older)
	if !snap.SameNames(before.Snapshot) {
		r.tell(pdu.ChangeNames)
	}
	if !snap.SameLabels(before.Snapshot) {
		r.tell(pdu.ChangeLabels)
	}
	snap.Report(r.log, before.Snapshot, len(r.config.Failures))
	r.save()
	if what == afresh {
		debug.FreeOSMemory() // what was needed for this alone is a quarter of the memory of a host with thousands of definitions
	}
	return nil
}

// tell has a change announced.
func (r *Reloader) tell(change pdu.Change) {
	r.options.Changes.Or(uint32(change))
	r.untold = true
}

// publish serves what was built.
func (r *Reloader) publish(snap *Snapshot) {
	r.options.Snapshot.Store(snap)
	r.options.Figures.Definitions.Store(int64(len(snap.Metrics)))
	r.options.Figures.Bound.Store(int64(snap.Bound))
	r.options.Figures.Failed.Store(int64(snap.Failures() + len(r.config.Failures)))
}

// used are the names that definitions use.
func (r *Reloader) used() iter.Seq[string] {
	return operand.NamesIn(r.options.Snapshot.Load().Candidates(&r.config), derived.Root)
}

// lookUp brings the directory up to date.
func (r *Reloader) lookUp(ctx context.Context, what scope) error {
	err := r.options.Upstream.LookUp(func(conn *pmapi.Conn) error { return r.directory.LookUp(ctx, conn, r.used(), what == afresh) })
	r.tellRefused()
	return err
}

// lookUpDue asks again for what was refused, and for the domains that are due. All others go on as they are.
func (r *Reloader) lookUpDue(ctx context.Context) {
	var changed bool
	var err error
	if r.directory.RefusedDue(time.Now()) {
		err = r.options.Upstream.LookUp(func(conn *pmapi.Conn) (err error) {
			changed, err = r.directory.LookUpRefused(ctx, conn, r.used())
			return err
		})
	}
	if err == nil && changed {
		err = r.rebind(ctx, missing)
	}
	if domains := r.directory.Queue.TakeDue(time.Now(), r.needed); err == nil && len(domains) > 0 {
		err = r.options.Upstream.LookUpInstances(ctx, r.needed, domains, r.directory.Queue)
	}
	if err != nil { // else it may have asked for nothing
		r.failed(err)
	}
}

// tellRefused logs names that agents refuse to tell anything of.
func (r *Reloader) tellRefused() {
	n, name, why := r.directory.Refused()
	switch {
	case n == r.refused:
	case n == 0:
		r.log.Info("no operands are refused any more")
	default:
		r.log.WithError(why).WithFields(logrus.Fields{"operands": n, "operand": name}).Warn("operands are refused, trying again")
	}
	r.refused = n
}

// prime waits, not for long, for first samples of metrics that are served and have other operands now, so
// that their clients do not find them without a value.
func (r *Reloader) prime(ctx context.Context, snap, before *Snapshot) {
	var series []*upstream.Series
	for m, old := range snap.Pairs(before.Snapshot) {
		if old != nil && old.Operands != nil && m.Operands != nil && old.Operands != m.Operands && len(m.Operands.Descs) > 0 {
			series = append(series, snap.Beside[m.Index].Series)
		}
	}
	if len(series) == 0 {
		return
	}
	r.options.Upstream.Want(r.options.Now(), operand.Need{Gap: upstream.MinGap}, series...)
	ctx, cancel := context.WithTimeout(ctx, primeTime)
	defer cancel()
	tick := time.Tick(primePace)
	for r.options.Upstream.Awaiting(series) {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// build makes a snapshot of what is known; before is nil for the first one.
func (r *Reloader) build(before *Snapshot) *Snapshot {
	in := served.Input{
		Config: r.config, IDs: r.ids, Own: control.Entries(r.options.Domain), Protect: r.options.Protected,
		Operands: upstream.MaxPart,
	}
	if c := r.directory.Catalog; c != nil {
		in.Catalog = c
	}
	if before != nil {
		in.Before = before.Snapshot
	}
	return NewSnapshot(served.Build(in), before)
}

// save writes identities down, or tries again soon.
func (r *Reloader) save() {
	text := ""
	if err := r.ids.Save(); err != nil {
		text = err.Error()
		if cause, ok := errors.AsType[syscall.Errno](err); ok {
			text = cause.Error() // a temporary file has another name each time
		}
		if text != r.saveErr {
			r.log.WithError(err).Error("cannot save metric identifiers, they may change at the next start")
		}
		r.unsaved.Reset(saveRetry)
	}
	if text == "" && r.saveErr != "" {
		r.log.Info("metric identifiers are saved again")
	}
	r.saveErr = text
}

// needsOf gathers the domains whose instance names or members snapshots need.
func needsOf(snapshots ...*Snapshot) operand.InDomNeeds {
	return operand.InDomNeedsOf(func(yield func(*derived.Metric) bool) {
		for _, snap := range snapshots {
			for _, m := range snap.Beside {
				if m.Derived != nil && !yield(m.Derived) {
					return
				}
			}
		}
	})
}

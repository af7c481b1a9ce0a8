package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/served"
	"pmdaderived/derived/agent/upstream"
	"pmdaderived/pdu"
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
func (r *reloader) rebind(ctx context.Context, what scope) error {
	if what != nothing {
		if err := r.lookUp(ctx, what); err != nil {
			return fmt.Errorf("operands: %w", err)
		}
	}
	before := r.a.snapshot.Load()
	snap := r.build(before)
	both := needsOf(snap, before) // what is served now goes on until the swap
	if what != nothing {
		domains := slices.Collect(maps.Keys(both))
		if what == missing {
			domains = r.a.names.Lacking(both)
		}
		if err := r.a.upstream.LookUpInstances(ctx, both, domains); err != nil {
			return err
		}
		r.prime(ctx, snap, before)
	}
	r.needed = needsOf(snap)
	if r.ids.MustSave() {
		r.save()
	}
	snap.spare.Store(snap.Set.NewEvaluation()) // so that no request waits for it
	r.publish(snap)
	if what != nothing { // whoever sees that finds what was looked up
		r.a.figures.Connected.Store(r.session != 0)
	}
	r.a.names.Forget(both) // a fetch from the snapshot before may still need its names
	r.a.upstream.Serve(snap.series, snap.older)
	if !snap.SameNames(before.Snapshot) {
		r.tell(pdu.ChangeNames)
	}
	if !snap.SameLabels(before.Snapshot) {
		r.tell(pdu.ChangeLabels)
	}
	r.report(before.Snapshot, snap.Snapshot)
	r.save()
	return nil
}

// tell has a change announced.
func (r *reloader) tell(change pdu.Change) {
	r.a.changes.Or(uint32(change))
	r.untold = true
}

// publish serves what was built.
func (r *reloader) publish(snap *snapshot) {
	r.a.snapshot.Store(snap)
	r.a.figures.Definitions.Store(int64(len(snap.Metrics)))
	r.a.figures.Bound.Store(int64(snap.Bound))
	r.a.figures.Failed.Store(int64(snap.Failures() + len(r.config.Failures)))
}

// lookUp brings the catalog up to date.
func (r *reloader) lookUp(ctx context.Context, what scope) error {
	candidates := served.Texts(r.a.snapshot.Load().Candidates(&r.config))
	known := what == missing && r.catalog != nil
	unknown, all := operand.NamesIn(candidates, served.Root, func(name string) bool {
		if !known {
			return true
		}
		_, err := r.catalog.Desc(name)
		return err != nil
	})
	found, err := r.a.upstream.LookUp(ctx, unknown)
	switch {
	case err != nil:
		return err
	case !known:
		r.catalog, r.lastBind = found, time.Now()
		return nil
	}
	r.catalog = r.catalog.With(found)
	if r.catalog.Len() > 2*all { // most of it is for definitions that are gone
		used, _ := operand.NamesIn(candidates, served.Root, func(string) bool { return true })
		r.catalog = r.catalog.Only(used)
	}
	return nil
}

// prime waits, not for long, for first samples of metrics that are served and have other operands now, so
// that their clients do not find them without a value.
func (r *reloader) prime(ctx context.Context, snap, before *snapshot) {
	var series []*upstream.Series
	for m, old := range snap.Pairs(before.Snapshot) {
		if old != nil && old.Operands != nil && m.Operands != nil && old.Operands != m.Operands && len(m.Operands.Descs) > 0 {
			series = append(series, snap.metrics[m.Index].series)
		}
	}
	if len(series) == 0 {
		return
	}
	r.a.upstream.Want(r.a.options.Now(), upstream.Need{Gap: upstream.MinGap}, series...)
	ctx, cancel := context.WithTimeout(ctx, primeTime)
	defer cancel()
	tick := time.Tick(primePace)
	for r.a.upstream.Awaiting(series) {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// build makes a snapshot of what is known; before is nil for the first one.
func (r *reloader) build(before *snapshot) *snapshot {
	in := served.Input{
		Config: r.config, IDs: r.ids, Own: control.Entries(r.a.options.Domain), Protect: r.a.options.Protected,
		Operands: served.OperandLimits{Most: int(r.a.options.Limits.Operands), Taken: r.a.upstream.Most()},
	}
	if r.catalog != nil {
		in.Catalog = r.catalog
	}
	if before != nil {
		in.Before = before.Snapshot
	}
	snap := newSnapshot(served.Build(in), before)
	r.a.figures.Operands.Raise(int64(snap.Widest))
	return snap
}

// report logs definitions whose fate has changed.
func (r *reloader) report(before, now *served.Snapshot) {
	for _, name := range now.Nameless {
		r.log.WithField("metric", name).Error("definition has no identity")
	}
	for m, now := range before.Pairs(now) {
		if m.Described && (now == nil || now.ID != m.ID) {
			r.log.WithFields(logrus.Fields{"metric": m.Def.Name, "pmid": m.ID}).
				Warn("metric is gone or has become another one: a pmlogger that records it goes on without its values, and exits when pmcd starts an agent next; systemd or pmlogger_check starts it again")
		}
	}
	for m, old := range now.Pairs(before) {
		if old != nil && old.State == m.State && old.Problem == m.Problem {
			continue
		}
		entry := r.log.WithFields(logrus.Fields{"metric": m.Def.Name, "state": m.State})
		switch { // whoever has read the configuration has logged what is wrong with it
		case m.State == served.Kept && m.Reported:
			entry.Warn("definition is served as it was before")
		case m.State == served.Failed && m.Reported:
		case m.State == served.Failed:
			entry.WithField("problem", m.Problem).Error("definition is wrong")
		case m.State == served.Kept:
			entry.WithField("problem", m.Problem).Error("definition is wrong, served as it was before")
		case m.State == served.Unbound:
			entry.WithField("problem", m.Problem).Debug("definition lacks an operand")
		}
	}
	if now.LookedUp && (before.Bound != now.Bound || len(before.Metrics) != len(now.Metrics) || !before.LookedUp) {
		r.log.WithFields(logrus.Fields{
			"definitions": len(now.Metrics), "bound": now.Bound, "failed": now.Failures() + len(r.config.Failures),
		}).Info("definitions bound")
	}
}

// save writes identities down, or tries again soon.
func (r *reloader) save() {
	text := ""
	if err := r.ids.Save(); err != nil {
		text = err.Error()
		if cause, ok := errors.AsType[syscall.Errno](err); ok {
			text = cause.Error() // a temporary file has another name each time
		}
		if text != r.saveErr {
			r.log.WithError(err).Error("metric identifiers cannot be saved and may change at the next start")
		}
		r.unsaved.Reset(saveRetry)
	}
	if text == "" && r.saveErr != "" {
		r.log.Info("metric identifiers are saved again")
	}
	r.saveErr = text
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

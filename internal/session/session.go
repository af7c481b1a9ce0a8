// Package session evaluates definitions over one connection to a pmcd, or over an archive, for the sub-commands. Each
// sample is one fetch of all operands, and the caller waits for it. It has no goroutine.
//
//	Source ──FetchColumns──► sample ──► history ──────────► evaluation ──► Value
//	  conn or archive          └──► windows.Add ──Results──────┘
//	                              (at ticks)
//
//	s, err := session.New(ctx, conn, defs, derived.Language{})
//	m, _ := s.Set().Lookup("x")           // m.Err: why it cannot be computed
//	s.Watch(m)
//	err = s.Wait(ctx, time.Now().Add(s.Span()), nil)
//	for range s.History() + 1 {           // an interval apart
//		err = s.Sample(ctx, time.Now())
//	}
//	v := s.Value(m)
//
// Over an archive the caller decides when a sample is taken, and calls Tick for functions over time instead of Wait.
package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// FirstTicks is the number of ticks that the first read of a per-client window covers.
const FirstTicks = window.FirstTicks

// Session has bound definitions, and their samples so far. Not for concurrent use.
type Session struct {
	source  Source
	catalog *operand.Catalog
	set     *derived.Set
	eval    *derived.Evaluation
	groups  *derived.Groups

	names         operand.InstanceCache
	neededDomains operand.InDomNeeds  // domains whose instance names are needed, with their selectors
	versions      map[pdu.InDom]int   // versions of these domains, if the source has versions
	lookups       operand.LookupQueue // when they are looked up again, if it has none
	maker         *operand.Maker

	windows     *window.SingleClient
	byInterval  map[time.Duration][]int // windows of the watched metrics, by the time between their ticks
	span        time.Duration           // length of the longest window
	sampleTicks bool                    // each sample is a tick
	firstSample time.Time               // time of the first sample, with sampleTicks

	operands   *operand.List    // operands of the watched metrics
	increases  []pdu.PMID       // those of which an increase is computed
	history    []derived.Sample // newest first
	maxHistory int              // longest history that a metric needs
}

// Source is where samples come from: a [pmapi.Conn], or an archive.
type Source interface {
	operand.MetadataSource

	// FetchColumns returns the values of one time: of now, or of the time that the archive is at.
	FetchColumns(ctx context.Context, ids []pdu.PMID) (*pmapi.Columns, error)
}

// versioned is a source that numbers the versions of an instance domain. A new version means that instances or their
// labels have changed.
type versioned interface {
	Version(d pdu.InDom) int
}

// New looks up the operands of definitions and binds the definitions. The caller still owns the source. A definition
// that cannot be bound is no error: its metric in the Set has one.
func New(ctx context.Context, source Source, defs []served.Definition, language derived.Language) (*Session, error) {
	c, err := LookUp(ctx, source, defs)
	if err != nil {
		return nil, fmt.Errorf("operands: %w", err)
	}
	return NewWithSet(source, c, served.Bind(served.Pointers(defs), c, language), derived.NewGroups()), nil
}

// NewWithSet makes a session of operands that have been looked up, and definitions that have been bound. groups has the
// numbers that groups already have.
func NewWithSet(source Source, c *operand.Catalog, set *derived.Set, groups *derived.Groups) *Session {
	s := &Session{source: source, catalog: c, set: set, groups: groups}
	s.eval = set.NewEvaluation()
	s.windows = window.NewSingleClient(s.set, s.groups, FirstTicks)
	s.eval.SetGroups(s.groups)
	s.operands, s.versions = operand.NewList(), make(map[pdu.InDom]int)
	s.lookups = make(operand.LookupQueue)
	return s
}

// LookUp looks up the names that definitions use, and more, and their descriptors. It skips names below [derived.Root].
// A metric that does not exist is no error.
func LookUp(
	ctx context.Context, source operand.MetadataSource, defs []served.Definition, more ...string,
) (*operand.Catalog, error) {
	names := slices.Collect(operand.NamesIn(served.DerivedDefinitions(served.Pointers(defs)), derived.Root))
	names = append(names, more...)
	slices.Sort(names)
	return operand.LookUp(ctx, source, slices.Compact(names))
}

// Set returns the metrics of the session's definitions.
func (s *Session) Set() *derived.Set { return s.set }

// Catalog returns the metadata of the operands.
func (s *Session) Catalog() *operand.Catalog { return s.catalog }

// TickAtSamples makes each sample a tick of the windows, counted from the first sample, as in a unit test. Call it
// before Watch.
func (s *Session) TickAtSamples() { s.sampleTicks = true }

// Watch selects the metrics that samples are taken for, except those with an error. It forgets earlier samples.
func (s *Session) Watch(metrics ...*derived.Metric) {
	metrics = slices.DeleteFunc(slices.Clone(metrics), func(m *derived.Metric) bool { return m.Err != nil })
	s.neededDomains = operand.InDomNeedsOf(slices.Values(metrics))
	s.history, s.maxHistory = nil, 1
	s.maker = operand.NewMaker(&s.names, time.Now())
	s.maker.Named = true                // see fetchSample
	_, recorded := s.source.(versioned) // an archive
	s.maker.Recorded = recorded && !s.sampleTicks
	s.groups.Release(s.windows.Windows)
	s.windows = window.NewSingleClient(s.set, s.groups, FirstTicks)
	s.byInterval, s.span = make(map[time.Duration][]int), 0
	ids := make(map[pdu.PMID]bool)
	for _, m := range metrics {
		for needs := range m.Fetches {
			for _, id := range needs.Operands {
				ids[id] = true
			}
		}
		s.maxHistory = max(s.maxHistory, m.Needs().History+1)
		for _, i := range m.Needs().Windows {
			w := s.windows.Window(int(i))
			if !s.sampleTicks && !slices.Contains(s.byInterval[w.Every], int(i)) {
				s.byInterval[w.Every] = append(s.byInterval[w.Every], int(i))
				s.span = max(s.span, time.Duration(cmp.Or(w.Span, FirstTicks))*w.Every)
			}
		}
		if d := m.Desc.InDom; d != pdu.NoInDom && !s.isGroupDomain(d) {
			s.neededDomains.Add(d) // for InstanceName
		}
	}
	var descs []pdu.Desc
	known := s.catalog.Descs()
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		descs = append(descs, known[id])
	}
	s.operands = operand.NewList(descs...)
	s.increases = slices.DeleteFunc(s.set.Increases(), func(id pdu.PMID) bool { return !ids[id] })
	s.maker.FindBirths(s.increases, time.Now())
}

// Operands returns the operands of the watched metrics, in order.
func (s *Session) Operands() []pdu.PMID { return s.operands.IDs }

// History returns the number of samples that must precede the first one with values of all metrics.
func (s *Session) History() int { return s.maxHistory - 1 }

// Sample fetches the operands, and the names of new instances. If nothing is fetched, because the metrics are
// constants, now is the time of the sample. After an error of the connection the session cannot be used. After any
// other error the previous sample is still the newest.
func (s *Session) Sample(ctx context.Context, now time.Time) error {
	sample, err := s.fetchSample(ctx, now)
	if err != nil {
		return err
	}
	if s.sampleTicks {
		if len(s.history) == 0 {
			s.firstSample = sample.Time()
		}
		s.windows.Sample(sample.Time().Sub(s.firstSample), sample)
	}
	s.history = slices.Insert(s.history, 0, derived.Sample(sample))
	s.history = s.history[:min(len(s.history), s.maxHistory)]
	s.eval.Reset(s.history...)
	s.eval.SetResults(s.windows.Read())
	return nil
}

// Span returns the length of the longest window of the watched metrics, 0 if there is none.
func (s *Session) Span() time.Duration { return s.span }

// Wait waits until a time, and meanwhile takes the samples of the windows. It calls waiting, if that is not nil, before
// each.
func (s *Session) Wait(ctx context.Context, until time.Time, waiting func(left time.Duration)) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, now := until, time.Now()
		var due []time.Duration
		for every := range s.byInterval {
			at := now.Add(every - time.Duration(now.UnixNano()%int64(every)))
			if at.Before(next) {
				next, due = at, nil
			}
			if at.Equal(next) {
				due = append(due, every)
			}
		}
		if waiting != nil {
			waiting(until.Sub(now))
		}
		timer.Reset(next.Sub(now))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		if len(due) == 0 {
			return nil
		}
		if err := s.sampleWindows(ctx, next, due); err != nil {
			return err
		}
	}
}

// sampleWindows takes the sample of the windows with these intervals.
func (s *Session) sampleWindows(ctx context.Context, at time.Time, due []time.Duration) error {
	var windows []int
	for _, every := range due {
		windows = append(windows, s.byInterval[every]...)
	}
	slices.Sort(windows) // those within latches first
	return s.Tick(ctx, at, nil, windows...)
}

// Windows returns the indexes of the watched metrics' windows in [derived.Set.Windows], in order.
func (s *Session) Windows() []int {
	all := slices.Concat(slices.Collect(maps.Values(s.byInterval))...)
	slices.Sort(all)
	return all
}

// Tick takes a sample for some windows, in the order of their indexes. For those in begin it does not continue the
// previous one, and their delta() and rate() have no value once.
func (s *Session) Tick(ctx context.Context, at time.Time, begin []int, windows ...int) error {
	sample, err := s.fetchSample(ctx, at)
	if err != nil {
		return err
	}
	begun := false
	for _, i := range windows {
		number := TickNumber(at, s.windows.Window(i).Every)
		if s.windows.Window(i).Every == window.PerClientInterval && !begun {
			begun = true
			s.windows.BeginTick(number)
		}
		s.windows.Add(i, number, sample, !slices.Contains(begin, i))
	}
	return nil
}

// RecordedBirths returns the metrics whose births are those of records, see AddRecord. In a unit test, and in one that is
// recorded, they are those of samples.
func (s *Session) RecordedBirths() []pdu.PMID {
	if !s.maker.Recorded {
		return nil
	}
	return s.increases
}

// DoubtBirths notes that records are missing: no instance is born in the next one.
func (s *Session) DoubtBirths() { s.maker.DoubtBirths(slices.Values(s.RecordedBirths())) }

// AddRecord adds what a record of an archive has of a metric of type t: instances come into being in records.
func (s *Session) AddRecord(set *pdu.Column, t pdu.Type, at time.Time) { s.maker.AddRecord(set, t, at) }

// TickNumber returns the number of the tick that a time belongs to.
func TickNumber(at time.Time, every time.Duration) int64 { return at.UnixNano() / int64(every) }

// Expire removes the results of windows without a tick in the window that ends now.
func (s *Session) Expire(at time.Time) {
	for _, i := range s.Windows() {
		s.windows.Expire(i, TickNumber(at, s.windows.Window(i).Every))
	}
}

// fetchSample fetches the operands, and looks up instances that are new or have changed, and those of a pmcd also when
// the last lookup is some time ago, as the agent does: names and labels change without a word.
func (s *Session) fetchSample(ctx context.Context, now time.Time) (*operand.Sample, error) {
	var stale []pdu.InDom
	versions, _ := s.source.(versioned)
	for d := range s.neededDomains {
		version := 0
		if versions != nil {
			version = versions.Version(d)
		}
		if !s.names.Has(d) || version != s.versions[d] {
			stale = append(stale, d)
			s.versions[d] = version
		}
	}
	s.groups.SetTime(now)
	sample := operand.Empty(now, &s.names)
	if len(s.operands.IDs) > 0 {
		res, err := s.source.FetchColumns(ctx, s.operands.IDs)
		if err != nil {
			return nil, err
		}
		s.maker.NoteChanges(res.Changes)
		made, noticed := s.maker.Make(res, now, now, s.operands)
		sample, stale = made, append(stale, noticed.Changed...)
	}
	if versions == nil {
		sampled := make(map[pdu.InDom]time.Time, len(s.neededDomains))
		for d := range s.neededDomains {
			sampled[d] = now
		}
		s.lookups.AddOld(now, sampled)
		stale = append(stale, s.lookups.TakeDue(now, s.neededDomains)...)
	}
	slices.Sort(stale)
	record := func(d pdu.InDom, took time.Duration, err error) { s.lookups.RecordLookup(d, now.Add(took), took, err) }
	if err := s.names.LookUp(ctx, s.source, s.neededDomains, slices.Compact(stale), record); err != nil {
		return nil, err
	}
	s.windows.SetNames(s.names.Table)
	return sample, nil
}

// Time returns when pmcd took the newest sample, zero before the first.
func (s *Session) Time() time.Time {
	if len(s.history) == 0 {
		return time.Time{}
	}
	return s.history[0].Time()
}

// Value computes a watched metric from the samples so far. The result is valid until the next Sample.
func (s *Session) Value(m *derived.Metric) *derived.Vector { return s.eval.Value(m) }

// Missed counts for each key of a watched metric the instances for which a look-up finds none, see
// [derived.Evaluation.Missed].
func (s *Session) Missed(m *derived.Metric) []derived.Missed { return s.eval.Missed(m) }

// InstanceName returns the name of an instance of a watched metric; ok is false if it is not known. An instance that has
// gone, and of which a function over time still has a value, has the name that it had.
func (s *Session) InstanceName(d pdu.InDom, id pdu.Inst) (name string, ok bool) {
	if s.isGroupDomain(d) {
		return s.groups.Table(d).Name(id)
	}
	if name, ok = s.names.Table(d).Name(id); !ok {
		name, ok = s.windows.InstanceName(d, id)
	}
	return name, ok
}

// Instances returns the instances of a domain that watched metrics need, with their names and labels.
func (s *Session) Instances(d pdu.InDom) (*derived.InstSet, *derived.NameTable) {
	return s.names.Members(d), s.names.Table(d)
}

// Labels returns the labels that watched metrics need, of a domain's instances, by name. Read-only.
func (s *Session) Labels(d pdu.InDom) map[string]map[pdu.Inst]string {
	return s.names.Table(d).Labels()
}

// isGroupDomain reports whether the instances of a domain are groups, which only this session knows.
func (s *Session) isGroupDomain(d pdu.InDom) bool {
	_, is := s.set.GroupDomains()[d]
	return is
}

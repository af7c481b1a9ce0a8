// Package session evaluates definitions over one connection to a pmcd, or over an archive, for programs that are not the agent: every
// sample is one fetch of all operands, and waits for it. It has no goroutine.
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
// Over an archive the caller says when a sample is taken, and gives the samples of functions over time to Tick instead of calling Wait.
package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/served"
	"pmdaderived/internal/window"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// Session is the definitions and the samples so far. Not for concurrent use.
type Session struct {
	source  Source
	catalog *operand.Catalog
	set     *derived.Set
	eval    *derived.Evaluation
	groups  *derived.Groups

	names         operand.InstanceCache
	neededDomains operand.InDomNeeds // domains whose names matter, with their selectors
	versions      map[pdu.InDom]int  // their versions, of a source that has them
	maker         *operand.Maker

	windows     *window.SingleClient
	byInterval  map[time.Duration][]int // the windows of the metrics that are watched, by the time between their samples
	span        time.Duration           // of the longest window
	sampleTicks bool                    // the samples are the ticks
	firstSample time.Time               // of the samples, if so

	operands   *operand.List    // for the metrics that are watched
	history    []derived.Sample // newest first
	maxHistory int              // of history at most
}

// Source is where samples come from: a [pmapi.Conn], or an archive.
type Source interface {
	operand.MetadataSource

	// FetchColumns gives the values of one time: now, or that which the archive is at.
	FetchColumns(ctx context.Context, ids []pdu.PMID) (*pmapi.Columns, error)
}

// versioned is a source that tells by itself that instances, or their labels, have changed: their domain has another version then.
type versioned interface {
	Version(d pdu.InDom) int
}

// New looks up the operands of definitions and binds them. The source stays the caller's.
// A definition that cannot be bound is no error: its metric in the Set has one.
func New(ctx context.Context, source Source, defs []served.Definition, language derived.Language) (*Session, error) {
	c, err := LookUp(ctx, source, defs)
	if err != nil {
		return nil, fmt.Errorf("operands: %w", err)
	}
	return NewWithSet(source, c, served.Bind(served.Pointers(defs), c, language), derived.NewGroups()), nil
}

// NewWithSet is a session with what has been looked up and bound. Groups have the numbers that are known already.
func NewWithSet(source Source, c *operand.Catalog, set *derived.Set, groups *derived.Groups) *Session {
	s := &Session{source: source, catalog: c, set: set, groups: groups}
	s.eval = set.NewEvaluation()
	s.windows = window.NewSingleClient(s.set, s.groups, window.FirstTicks)
	s.eval.SetGroups(s.groups)
	s.maker, s.operands, s.versions = operand.NewMaker(&s.names, time.Now()), operand.NewList(), make(map[pdu.InDom]int)
	return s
}

// LookUp asks for the names that definitions use, and for more, and for the descriptors of those it knows. Names
// below [derived.Root] are not asked for. An error means that the catalog is not known at all; a metric that does not exist
// is none.
func LookUp(ctx context.Context, source operand.MetadataSource, defs []served.Definition, more ...string) (*operand.Catalog, error) {
	names := slices.Collect(operand.NamesIn(served.DerivedDefinitions(served.Pointers(defs)), derived.Root))
	names = append(names, more...)
	slices.Sort(names)
	return operand.LookUp(ctx, source, slices.Compact(names))
}

// Set holds the metrics of the session's definitions.
func (s *Session) Set() *derived.Set { return s.set }

// Catalog is what pmcd said about the operands.
func (s *Session) Catalog() *operand.Catalog { return s.catalog }

// TickAtSamples makes the samples the ticks of all windows, counted from the first one on, as a unit test does. Call it before Watch.
func (s *Session) TickAtSamples() { s.sampleTicks = true }

// Watch says which metrics the samples are for; those with an error are passed over. Samples taken
// before are forgotten.
func (s *Session) Watch(metrics ...*derived.Metric) {
	metrics = slices.DeleteFunc(slices.Clone(metrics), func(m *derived.Metric) bool { return m.Err != nil })
	s.neededDomains = operand.InDomNeedsOf(slices.Values(metrics))
	s.history, s.maxHistory = nil, 1
	s.windows = window.NewSingleClient(s.set, s.groups, window.FirstTicks)
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
				s.span = max(s.span, time.Duration(cmp.Or(w.Span, window.FirstTicks))*w.Every)
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
}

// Operands are those of all that is watched, in order.
func (s *Session) Operands() []pdu.PMID { return s.operands.IDs }

// History is how many samples must come before the first one that every metric has a value for.
func (s *Session) History() int { return s.maxHistory - 1 }

// Sample fetches the operands, and the names of instances where they are new. now is the time of the
// sample if nothing is fetched, because the metrics are made of constants. After an error of the
// connection the session is over; after any other the sample before is still the newest.
func (s *Session) Sample(ctx context.Context, now time.Time) error {
	taken, err := s.fetchSample(ctx, now)
	if err != nil {
		return err
	}
	if s.sampleTicks {
		if len(s.history) == 0 {
			s.firstSample = taken.Time()
		}
		s.windows.Sample(taken.Time().Sub(s.firstSample), taken)
	}
	s.history = slices.Insert(s.history, 0, derived.Sample(taken))
	s.history = s.history[:min(len(s.history), s.maxHistory)]
	s.eval.Reset(s.history...)
	s.eval.SetResults(s.windows.Read())
	return nil
}

// Span is how long the longest window of what is watched is; 0: there is none.
func (s *Session) Span() time.Duration { return s.span }

// Wait waits until a time, and takes the samples of the windows meanwhile. waiting, if it is not nil, is called before each.
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

// sampleWindows takes the sample of all windows that have ticks at some intervals.
func (s *Session) sampleWindows(ctx context.Context, at time.Time, due []time.Duration) error {
	var windows []int
	for _, every := range due {
		windows = append(windows, s.byInterval[every]...)
	}
	return s.Tick(ctx, at, true, windows...)
}

// Windows are the places in [derived.Set.Windows] of those that watched metrics have, in order.
func (s *Session) Windows() []int {
	all := slices.Concat(slices.Collect(maps.Values(s.byInterval))...)
	slices.Sort(all)
	return all
}

// Tick takes the sample of a tick of some windows. Unless it goes on where the one before is, delta() and rate() within them begin anew.
func (s *Session) Tick(ctx context.Context, at time.Time, goesOn bool, windows ...int) error {
	taken, err := s.fetchSample(ctx, at)
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
		s.windows.Add(i, number, taken, goesOn)
	}
	s.windows.EndTick()
	return nil
}

// TickNumber is that of the tick that a time belongs to.
func TickNumber(at time.Time, every time.Duration) int64 { return at.UnixNano() / int64(every) }

// Expire says that windows whose ticks are all too old at a time have no values any more.
func (s *Session) Expire(at time.Time) {
	for _, i := range s.Windows() {
		s.windows.Expire(i, TickNumber(at, s.windows.Window(i).Every))
	}
}

// fetchSample takes a sample.
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
	s.groups.Begin(now)
	taken := operand.Empty(now, &s.names)
	if len(s.operands.IDs) > 0 {
		res, err := s.source.FetchColumns(ctx, s.operands.IDs)
		if err != nil {
			return nil, err
		}
		made, noticed := s.maker.Make(res, now, now, s.operands)
		taken, stale = made, append(stale, noticed.Changed...)
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		if err := s.names.LookUp(ctx, s.source, s.neededDomains, slices.Compact(stale), nil); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// Time is when pmcd took the newest sample; zero before the first.
func (s *Session) Time() time.Time {
	if len(s.history) == 0 {
		return time.Time{}
	}
	return s.history[0].Time()
}

// Value computes a watched metric from the samples so far. The result is valid until the next Sample.
func (s *Session) Value(m *derived.Metric) *derived.Vector { return s.eval.Value(m) }

// InstanceName gives the name of an instance of a watched metric, if it is known.
func (s *Session) InstanceName(d pdu.InDom, id pdu.Inst) (string, bool) {
	if s.isGroupDomain(d) {
		return s.groups.Table(d).Name(id)
	}
	return s.names.Table(d).Name(id)
}

// Labels are those of a domain's instances that watched metrics need, by name; read-only.
func (s *Session) Labels(d pdu.InDom) map[string]map[pdu.Inst]string {
	return s.names.Table(d).Labels()
}

// isGroupDomain reports whether a domain is one of groups, whose instances nobody else knows.
func (s *Session) isGroupDomain(d pdu.InDom) bool {
	_, is := s.set.GroupDomains()[d]
	return is
}

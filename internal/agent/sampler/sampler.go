package sampler

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/wait"
	"pmdaderived/internal/window"
)

// idleInterval is the time between two calls of RunDue if there are no windows.
const idleInterval = time.Hour

// Options configure a Sampler.
type Options struct {
	Upstream *upstream.Upstream
	Names    *operand.InstanceCache // names of instances, as Upstream knows them
	Values   int                    // the largest number of values in all windows together

	// Interval is the time that per-client windows cover in the first fetch of a client. While no client reads them,
	// they have two ticks in it. 0: they have no ticks then.
	Interval time.Duration

	Figures *control.Figures
	Log     logrus.FieldLogger
	Now     func() time.Time
}

// Published has the newest state of the windows of one set, now and later.
type Published struct{ newest atomic.Pointer[window.State] }

// Latest returns the state now; nil: the set has no windows.
func (p *Published) Latest() *window.State {
	if p == nil {
		return nil
	}
	return p.newest.Load()
}

// Sampler samples the functions over time of the set that is served. A window of the set is known by its index in
// Set.Windows; an index in another set means another window.
type Sampler struct {
	options Options
	sets    chan setRequest // from SwitchSet to Run
	wakeup  chan struct{}   // has room for one: see Wake

	// These belong to the goroutine of Run.
	windows   *window.Windows
	series    []*upstream.Series // the operands of each window; nil: the window is not sampled
	times     [][]*atomic.Int64  // by window: ns that its evaluations take are added to each
	tooLarge  []bool             // by index: it is logged that the window has too many values
	tickers   []*ticker
	tickerOf  []*ticker       // by window; nil: it is not sampled
	pending   []int           // scratch space of addSamples
	published *Published      // of the set; nil: it has no windows
	groups    *derived.Groups // names and numbers of groups in windows
	lastTick  int64           // the newest tick of per-client windows, over all sets: no number is used twice
	complete  int64           // the newest complete tick of per-client windows
}

// New returns a Sampler without windows.
func New(o Options) *Sampler {
	s := &Sampler{options: o, sets: make(chan setRequest), wakeup: make(chan struct{}, 1), groups: derived.NewGroups()}
	s.windows = window.NewWindows(s.groups)
	s.windows.MaxValues, s.windows.FirstTicks = o.Values, int64(o.Interval/window.PerClientInterval)
	return s
}

// setRequest asks Run to sample the windows of a set.
type setRequest struct {
	set    *derived.Set
	series []*upstream.Series
	times  [][]*atomic.Int64
	reply  chan<- *Published // has room for one
}

// SwitchSet has Run call ApplySet, and waits for its result, or for the end of ctx.
func (s *Sampler) SwitchSet(
	ctx context.Context, set *derived.Set, series []*upstream.Series, times [][]*atomic.Int64,
) (*Published, error) {
	reply := make(chan *Published, 1)
	select {
	case s.sets <- setRequest{set, series, times, reply}:
		return <-reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ApplySet samples the windows of a set from now on, instead of those of the former set. Windows that are in both keep
// their values. series has the operands of each window, nil for one that is not to be sampled. The time that a window
// takes is added to each of its times. ApplySet returns where the states of the windows are published, nil if no window is sampled. It is
// called by Run, or while Run does not run yet.
func (s *Sampler) ApplySet(set *derived.Set, series []*upstream.Series, times [][]*atomic.Int64) *Published {
	s.windows = s.windows.ForSet(set)
	s.series, s.times, s.tooLarge = series, times, make([]bool, len(series))
	former, tickers := make(map[rhythm]*ticker), make(map[rhythm]*ticker)
	for _, t := range s.tickers {
		former[t.rhythm] = t
	}
	s.tickers, s.tickerOf = nil, make([]*ticker, len(series))
	served := int64(0)
	for i, w := range set.Windows() {
		if series[i] == nil {
			continue
		}
		served++
		of := rhythm{w.Every, w.PerClient()}
		if tickers[of] == nil {
			tickers[of] = s.addTicker(of, former[of])
		}
		s.tickerOf[i] = tickers[of]
		tickers[of].windows = append(tickers[of].windows, i)
	}
	s.options.Figures.Windows.Store(served)
	if s.published = nil; served > 0 {
		s.published = &Published{}
		s.publish()
	}
	for _, t := range s.tickers {
		if t.perClient {
			t.together = tickTogether(set, series)
			s.findRead(t, s.options.Now())
		}
		// The samples of the last tick may still arrive. A complete tick of per-client windows gets none: clients have read it.
		if (t.incomplete || !t.perClient) && !s.options.Now().After(t.deadline()) {
			t.pending = slices.DeleteFunc(t.windowsAt(t.tickTime), func(i int) bool {
				return s.windows.Given(i, t.tick) || t.perClient && !s.windows.Begun(i)
			})
		}
		next := t.tickAfter(s.options.Now())
		if t.nextTick.IsZero() || next.Before(t.nextTick) { // a tick that is due now is not skipped
			t.nextTick = next
		}
	}
	return s.published
}

// Wake has Run call RunDue at once, because a client has begun to read per-client windows, or instances have been
// looked up. It does not wait.
func (s *Sampler) Wake() { wait.Signal(s.wakeup) }

// addTicker adds a ticker, which goes on where the one of the former set was; nil: there was none.
func (s *Sampler) addTicker(of rhythm, former *ticker) *ticker {
	t := &ticker{rhythm: of, unreadInterval: s.options.Interval / freshness.PerInterval}
	if former != nil {
		t.tick, t.tickTime, t.nextTick, t.incomplete = former.tick, former.tickTime, former.nextTick, former.incomplete
	}
	if t.perClient {
		t.tick = s.lastTick
	}
	s.tickers = append(s.tickers, t)
	return t
}

// Run samples until ctx ends.
func (s *Sampler) Run(ctx context.Context) {
	timer := time.NewTimer(idleInterval)
	defer timer.Stop()
	for {
		now := s.options.Now()
		timer.Reset(s.RunDue(now).Sub(now))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wakeup:
		case req := <-s.sets:
			req.reply <- s.ApplySet(req.set, req.series, req.times)
		case <-s.options.Upstream.Sampled():
		}
	}
}

// RunDue starts ticks that are due, adds the samples that have arrived, and publishes new results. It returns when it
// is to be called again. Like ApplySet it is called by Run, or while Run does not run.
func (s *Sampler) RunDue(now time.Time) (next time.Time) {
	next = now.Add(idleInterval)
	s.groups.SetTime(now)
	changed := false
	for _, t := range s.tickers {
		expired := t.takeExpired(now)
		for _, i := range expired {
			s.windows.Miss(i, t.tick)
		}
		s.publishIfComplete(t) // the last tick, before the next one starts
		s.startDueTick(t, now)
		changed = changed || len(expired) > 0
	}
	changed = s.addSamples(now) || changed
	// The samples come first: they may be older than the names.
	changed = s.windows.SetNames(s.options.Names.Table) || changed
	for _, t := range s.tickers {
		s.publishIfComplete(t)
		if at := t.nextEvent(); at.Before(next) {
			next = at
		}
	}
	s.requestSamples(now)
	if changed && s.published != nil {
		s.publish()
	}
	return next
}

// startDueTick starts the next tick of a ticker if it is due. While no client reads per-client windows, it also checks
// whether one does now, since the next tick is sooner then.
func (s *Sampler) startDueTick(t *ticker, now time.Time) {
	due := !now.Before(t.nextTick)
	if t.perClient && (due || len(t.read) == 0) {
		s.findRead(t, now)
	}
	if due && t.startTick(now) {
		if t.perClient {
			s.lastTick = t.tick
			s.beginTick(t, now)
		}
		t.pending = t.windowsAt(t.tickTime)
	}
	if next := t.tickAfter(now); due || next.Before(t.nextTick) {
		t.nextTick = next
	}
}

// findRead sets the per-client windows that clients read.
func (s *Sampler) findRead(t *ticker, now time.Time) {
	t.read = make(map[int]bool)
	for _, i := range t.windows {
		if s.windows.IsRead(i, now) {
			t.read[t.together[i]] = true
		}
	}
}

// beginTick begins a tick of per-client windows.
func (s *Sampler) beginTick(t *ticker, now time.Time) {
	together := make(map[int][]int)
	for _, i := range t.windows {
		together[t.together[i]] = append(together[t.together[i]], i)
	}
	for _, windows := range together {
		s.windows.BeginTick(t.tick, now, windows...)
	}
}

// publishIfComplete publishes the last tick of per-client windows once it is complete.
func (s *Sampler) publishIfComplete(t *ticker) {
	if t.perClient && t.incomplete && len(t.pending) == 0 {
		t.incomplete, s.complete = false, t.tick
		s.publish()
	}
}

// publish publishes the present state.
func (s *Sampler) publish() {
	s.published.newest.Store(s.windows.State(s.complete, s.published.newest.Load()))
}

// requestSamples requests the samples of pending windows, together for all ticks of one time.
func (s *Sampler) requestSamples(now time.Time) {
	wanted := make(map[time.Time][]*upstream.Series)
	for _, t := range s.tickers {
		for _, i := range t.pending {
			wanted[t.tickTime] = append(wanted[t.tickTime], s.series[i])
		}
	}
	for tick, series := range wanted {
		// The gap only has to be long: After alone says which samples are too old.
		s.options.Upstream.Tick(now, freshness.Need{Gap: idleInterval, After: tick.Add(-maxEarly)}, series...)
	}
}

// addSamples adds the samples that have arrived to the pending windows, in the order of their indexes, because the
// windows within a latch come before it. It reports whether a window pends no more: it has its sample, or will have
// none.
func (s *Sampler) addSamples(now time.Time) bool {
	s.pending = s.pending[:0]
	for _, t := range s.tickers {
		s.pending = append(s.pending, t.pending...)
		t.pending = nil
	}
	if len(s.pending) == 0 {
		return false
	}
	slices.Sort(s.pending)
	series := make([]*upstream.Series, len(s.pending))
	for n, i := range s.pending {
		series[n] = s.series[i]
	}
	newest := s.options.Upstream.Newest(nil, series)
	done := false
	for n, i := range s.pending {
		sample, t := newest[n], s.tickerOf[i]
		if series[n].Constant() {
			sample = operand.Empty(t.tickTime, s.options.Names)
		}
		early := sample == nil || sample.Taken.Before(t.tickTime.Add(-maxEarly))
		resting := false
		if early { // others need not wait for a slow agent
			_, resting = s.options.Upstream.State(series[n], now)
		}
		if s.waits(i) || early && !resting {
			t.pending = append(t.pending, i)
			continue
		}
		done = true
		if early || sample.Taken.After(t.deadline()) {
			s.windows.Miss(i, t.tick)
		} else {
			s.addSample(t, i, sample)
		}
	}
	return done
}

// waits reports whether window i is a latch around a window that pends, as addSamples knows already.
func (s *Sampler) waits(i int) bool {
	return slices.ContainsFunc(s.windows.Window(i).Needs().Windows, func(within uint32) bool {
		t := s.tickerOf[within]
		if t == nil {
			return false
		}
		_, pends := slices.BinarySearch(t.pending, int(within))
		return pends
	})
}

// addSample adds the sample of a tick to a window.
func (s *Sampler) addSample(t *ticker, i int, sample *operand.Sample) {
	newest, _ := s.windows.NewestSample(i).(*operand.Sample)
	if newest == sample { // it was added before
		return
	}
	continues := newest != nil && sample.Continues(newest)
	start := s.options.Now()
	hasValues := s.windows.Add(i, t.tick, sample, continues)
	took := s.options.Now().Sub(start)
	for _, total := range s.times[i] {
		total.Add(int64(took))
	}
	if hasValues {
		s.options.Figures.WindowTicks.Add(1)
	}
	if tooLarge := s.windows.TooLarge(i); tooLarge != s.tooLarge[i] {
		if s.tooLarge[i] = tooLarge; tooLarge {
			w := s.windows.Window(i)
			s.options.Log.WithFields(logrus.Fields{
				"function": w.Func, "samples": w.Span, "limit": s.windows.MaxValues,
			}).Error("function over time has no values, they would exceed the limit")
		}
	}
}

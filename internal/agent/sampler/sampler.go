package sampler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/operand"
	"pmdaderived/internal/agent/predict"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/wait"
	"pmdaderived/internal/window"
)

const (
	// early is how long before a tick its sample may have been taken: predict.Lead and some.
	maxEarly = 2 * predict.Lead

	// idle is when is looked next where there is nothing to keep.
	idleInterval = time.Hour
)

// Options are what a Keeper is made with.
type Options struct {
	Upstream *upstream.Upstream
	Names    *operand.Names // of instances, as Upstream knows them
	Values   int            // that all windows keep, at most

	// Interval is what a first look covers of windows that are since the last one: twice in it these are sampled while nobody looks. 0: they are not.
	Interval time.Duration

	Figures *control.Figures
	Log     logrus.FieldLogger
	Now     func() time.Time
}

// Keeper keeps the windows of what is served.
type Sampler struct {
	options Options
	sets    chan setRequest // what Serve hands to Run
	wakeup  chan struct{}   // a client has looked for the first time

	// These belong to the goroutine of Run.
	windows   *window.Windows
	windowIDs []int              // of the windows
	indexes   map[int]int        // of the windows, by number
	nextID    int                // number for one that is new
	series    []*upstream.Series // that each window is computed from; nil: it is not served
	tooLarge  []bool             // of each window: logged that there are too many values
	tickers   []*ticker
	results   *Results
	groups    *derived.Groups
	lastTick  int64 // the newest of the windows that are since the last look: no number is given twice

	mu      sync.Mutex // guards looks and what these say it does, and what is shown; nothing is done under it that takes long
	cursors map[*Cursor]struct{}
}

// New makes a Keeper that has no windows yet.
func New(o Options) *Sampler {
	s := &Sampler{options: o, sets: make(chan setRequest), wakeup: make(chan struct{}, 1), groups: derived.NewGroups(), cursors: make(map[*Cursor]struct{})}
	s.windows = window.NewWindows(s.groups)
	s.windows.MaxValues, s.windows.FirstTicks = o.Values, int64(o.Interval/window.PerClientInterval)
	return s
}

// serving is a set whose windows Run is to keep.
type setRequest struct {
	set    *derived.Set
	series []*upstream.Series
	reply  chan<- *Results // has room for it
}

// Serve has Run follow a set, and waits until it does, or for the end of ctx.
func (s *Sampler) SwitchSet(ctx context.Context, set *derived.Set, series []*upstream.Series) (*Results, error) {
	reply := make(chan *Results, 1)
	select {
	case s.sets <- setRequest{set, series, reply}:
		return <-reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Follow keeps the windows of a set from now on, in place of those before: those that both have go on. series are what they are computed
// from, nil for one that need not be kept. The Board is that of the set for ever. Run calls it, and who has a Keeper that does not run.
func (s *Sampler) ApplySet(set *derived.Set, series []*upstream.Series) *Results {
	var oldIndexes []int
	s.windows, oldIndexes = s.windows.ForSet(set)
	s.assignIDs(oldIndexes)
	s.series, s.tooLarge = series, make([]bool, len(series))
	former := s.tickers
	s.tickers = nil
	served := int64(0)
	for i, w := range set.Windows() {
		if series[i] != nil {
			t := s.tickerOf(former, w)
			t.windows = append(t.windows, i)
			served++
		}
	}
	s.options.Figures.Windows.Store(served)
	s.newResults(set, oldIndexes, served > 0)
	for _, t := range s.tickers {
		if t.perClient {
			t.group = groupWindows(set, series)
			s.scanCursors(t, s.options.Now())
		}
		if !s.options.Now().After(t.deadline()) { // what the last tick has for them may still come
			t.pending = slices.DeleteFunc(t.windowsAt(t.tickTime), func(i int) bool { return s.windows.Has(i, t.tick) || t.perClient && !s.windows.TickBegun(i) })
		}
		if next := t.tickAfter(s.options.Now()); t.nextTick.IsZero() || next.Before(t.nextTick) { // one that is due now has yet to come
			t.nextTick = next
		}
	}
	return s.results
}

// number numbers the windows of another set: those that the set before has keep theirs, and no number is given twice. So what clients were
// told of a window is known however many sets come in between.
func (s *Sampler) assignIDs(oldIndexes []int) {
	former := s.windowIDs
	s.windowIDs, s.indexes = make([]int, len(oldIndexes)), make(map[int]int, len(oldIndexes))
	for i, old := range oldIndexes {
		if old >= 0 {
			s.windowIDs[i] = former[old]
		} else {
			s.windowIDs[i] = s.nextID
			s.nextID++
		}
		s.indexes[s.windowIDs[i]] = i
	}
}

// wake has Run look at once.
func (s *Sampler) wakeRun() { wait.Signal(s.wakeup) }

// clock finds the clock of a window, or makes one; it goes on as it did before.
func (s *Sampler) tickerOf(former []*ticker, w *derived.Window) *ticker {
	same := func(x *ticker) bool { return x.interval == w.Every && x.perClient == (w.Span == 0) }
	if at := slices.IndexFunc(s.tickers, same); at >= 0 {
		return s.tickers[at]
	}
	t := &ticker{interval: w.Every, perClient: w.Span == 0, unreadInterval: s.options.Interval / operand.PerInterval}
	if at := slices.IndexFunc(former, same); at >= 0 {
		old := former[at]
		t.tick, t.tickTime, t.nextTick, t.incomplete = old.tick, old.tickTime, old.nextTick, old.incomplete
	}
	if t.perClient {
		t.tick = s.lastTick
	}
	s.tickers = append(s.tickers, t)
	return t
}

// Run keeps what is served until ctx ends.
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
			req.reply <- s.ApplySet(req.set, req.series)
		case <-s.options.Upstream.Sampled():
		}
	}
}

// Look does what is due, and says when to look again. It is called as Follow is.
func (s *Sampler) RunDue(now time.Time) (next time.Time) {
	next = now.Add(idleInterval)
	s.groups.Begin(now)
	changed := false
	for _, t := range s.tickers {
		expired := t.takeExpired(now)
		s.recordGaps(expired, t)
		s.publishIfComplete(t)
		s.startDueTick(t, now)
		changed = s.addSamples(t, now) || changed || len(expired) > 0
		s.publishIfComplete(t)
		if at := t.nextEvent(); at.Before(next) {
			next = at
		}
	}
	s.requestSamples(now)
	if changed {
		s.publish(nil)
	}
	return next
}

// advance goes on to the present tick of a clock, if there is a new one.
func (s *Sampler) startDueTick(t *ticker, now time.Time) {
	due := !now.Before(t.nextTick)
	var lastTicks map[int][]int64
	if t.perClient && (due || len(t.readGroups) == 0) {
		lastTicks = s.scanCursors(t, now)
	}
	if due && t.startTick(now) {
		if t.perClient {
			s.lastTick = t.tick
			s.beginPerClientTick(t, lastTicks)
		}
		t.pending = t.windowsAt(t.tickTime)
	}
	if next := t.tickAfter(now); due || next.Before(t.nextTick) {
		t.nextTick = next
	}
}

// ask has sampled what is not there: with one fetch for all ticks of one time.
func (s *Sampler) requestSamples(now time.Time) {
	for first, t := range s.tickers {
		var wanted []*upstream.Series
		for n, other := range s.tickers {
			if !other.tickTime.Equal(t.tickTime) {
				continue
			}
			if n < first { // asked with that one
				wanted = nil
				break
			}
			for _, i := range other.pending {
				wanted = append(wanted, s.series[i])
			}
		}
		if len(wanted) > 0 {
			s.options.Upstream.Tick(now, operand.Need{Gap: idleInterval, After: t.tickTime.Add(-maxEarly)}, wanted...)
		}
	}
}

// take gives windows the samples that have come for a tick, and reports whether there were any.
func (s *Sampler) addSamples(t *ticker, now time.Time) bool {
	if len(t.pending) == 0 {
		return false
	}
	series := make([]*upstream.Series, len(t.pending))
	for n, i := range t.pending {
		series[n] = s.series[i]
	}
	newest := s.options.Upstream.Newest(nil, series)
	var pending []int
	var missed []int
	for n, i := range t.pending {
		sample := newest[n]
		if series[n].Constant() {
			sample = operand.Empty(now, s.options.Names)
		}
		switch {
		case sample == nil || sample.Taken.Before(t.tickTime.Add(-maxEarly)):
			if _, resting := s.options.Upstream.State(series[n], now); resting { // what is there of others need not wait
				missed = append(missed, i)
			} else {
				pending = append(pending, i)
			}
		case sample.Taken.After(t.deadline()):
			missed = append(missed, i)
		default:
			s.addSample(t, i, sample)
		}
	}
	done := len(pending) < len(t.pending)
	t.pending = pending
	s.recordGaps(missed, t)
	return done
}

// add gives a window the sample of a tick.
func (s *Sampler) addSample(t *ticker, i int, sample *operand.Sample) {
	newest, _ := s.windows.NewestSample(i).(*operand.Sample)
	if newest == sample { // it has it already, and nothing came of it
		return
	}
	continues := newest != nil && sample.Continues(newest)
	if s.windows.Add(i, t.tick, sample, continues) {
		s.options.Figures.WindowTicks.Add(1)
	} else {
		s.options.Figures.WindowGaps.Add(1)
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

// gaps tells windows that they have no sample of a tick.
func (s *Sampler) recordGaps(windows []int, t *ticker) {
	for _, i := range windows {
		s.windows.Miss(i, t.tick)
		s.options.Figures.WindowGaps.Add(1)
	}
}

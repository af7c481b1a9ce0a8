package sampler

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
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
	early = 2 * predict.Lead

	// idle is when is looked next where there is nothing to keep.
	idle = time.Hour
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
type Keeper struct {
	options Options
	serve   chan serving  // what Serve hands to Run
	looked  chan struct{} // a client has looked for the first time

	// These belong to the goroutine of Run.
	windows *window.Windows
	numbers []int              // of the windows
	places  map[int]int        // of the windows, by number
	unused  int                // number for one that is new
	series  []*upstream.Series // that each window is computed from; nil: it is not served
	excess  []bool             // of each window: logged that there are too many values
	clocks  []*clock
	board   *Board
	groups  *derived.Groups
	tick    int64 // the newest of the windows that are since the last look: no number is given twice

	seen  sync.Mutex // guards looks and what these say it does, and what is shown; nothing is done under it that takes long
	looks map[*Look]struct{}
}

// Board shows what the windows of a set come to. Nil: it has none.
type Board struct {
	windows []*derived.Window
	numbers []int                 // of them
	shown   atomic.Pointer[Shown] // written under Keeper.seen once others have the Board
}

// New makes a Keeper that has no windows yet.
func New(o Options) *Keeper {
	k := &Keeper{options: o, serve: make(chan serving), looked: make(chan struct{}, 1), groups: derived.NewGroups(), looks: make(map[*Look]struct{})}
	k.windows = window.NewWindows(k.groups)
	k.windows.Most, k.windows.First = o.Values, int64(o.Interval/window.Every)
	return k
}

// serving is a set whose windows Run is to keep.
type serving struct {
	set    *derived.Set
	series []*upstream.Series
	board  chan<- *Board // has room for it
}

// Serve has Run follow a set, and waits until it does, or for the end of ctx.
func (k *Keeper) Serve(ctx context.Context, set *derived.Set, series []*upstream.Series) (*Board, error) {
	board := make(chan *Board, 1)
	select {
	case k.serve <- serving{set, series, board}:
		return <-board, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Follow keeps the windows of a set from now on, in place of those before: those that both have go on. series are what they are computed
// from, nil for one that need not be kept. The Board is that of the set for ever. Run calls it, and who has a Keeper that does not run.
func (k *Keeper) Follow(set *derived.Set, series []*upstream.Series) *Board {
	var moved []int
	k.windows, moved = k.windows.Next(set)
	k.number(moved)
	k.series, k.excess = series, make([]bool, len(series))
	former := k.clocks
	k.clocks = nil
	kept := int64(0)
	for i, w := range set.Windows() {
		if series[i] != nil {
			c := k.clock(former, w)
			c.windows = append(c.windows, i)
			kept++
		}
	}
	k.options.Figures.Windows.Store(kept)
	k.swap(set, moved, kept > 0)
	for _, c := range k.clocks {
		if c.looks {
			c.group = together(set, series)
			k.watch(c, k.options.Now())
		}
		if !k.options.Now().After(c.late()) { // what the last tick has for them may still come
			c.pending = slices.DeleteFunc(c.due(c.at), func(i int) bool { return k.windows.Has(i, c.tick) || c.looks && !k.windows.Begun(i) })
		}
		if next := c.after(k.options.Now()); c.next.IsZero() || next.Before(c.next) { // one that is due now has yet to come
			c.next = next
		}
	}
	return k.board
}

// number numbers the windows of another set: those that the set before has keep theirs, and no number is given twice. So what clients were
// told of a window is known however many sets come in between.
func (k *Keeper) number(moved []int) {
	former := k.numbers
	k.numbers, k.places = make([]int, len(moved)), make(map[int]int, len(moved))
	for i, old := range moved {
		if old >= 0 {
			k.numbers[i] = former[old]
		} else {
			k.numbers[i] = k.unused
			k.unused++
		}
		k.places[k.numbers[i]] = i
	}
}

// swap makes a board for another set.
func (k *Keeper) swap(set *derived.Set, moved []int, any bool) {
	before := k.board
	if k.board = nil; any {
		k.board = &Board{windows: set.Windows(), numbers: k.numbers}
		now := &Shown{results: k.windows.Results()}
		if before != nil {
			now = before.shown.Load().move(moved, now.results)
		}
		k.board.shown.Store(now)
	}
}

// wake has Run look at once.
func (k *Keeper) wake() { wait.Signal(k.looked) }

// clock finds the clock of a window, or makes one; it goes on as it did before.
func (k *Keeper) clock(former []*clock, of *derived.Window) *clock {
	same := func(c *clock) bool { return c.every == of.Every && c.looks == (of.Span == 0) }
	if at := slices.IndexFunc(k.clocks, same); at >= 0 {
		return k.clocks[at]
	}
	made := &clock{every: of.Every, looks: of.Span == 0, seldom: k.options.Interval / operand.PerInterval}
	if at := slices.IndexFunc(former, same); at >= 0 {
		before := former[at]
		made.tick, made.at, made.next, made.begun = before.tick, before.at, before.next, before.begun
	}
	if made.looks {
		made.tick = k.tick
	}
	k.clocks = append(k.clocks, made)
	return made
}

// Run keeps what is served until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		now := k.options.Now()
		timer.Reset(k.Look(now).Sub(now))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-k.looked:
		case s := <-k.serve:
			s.board <- k.Follow(s.set, s.series)
		case <-k.options.Upstream.Sampled():
		}
	}
}

// Look does what is due, and says when to look again. It is called as Follow is.
func (k *Keeper) Look(now time.Time) (next time.Time) {
	next = now.Add(idle)
	k.groups.Begin(now)
	changed := false
	for _, c := range k.clocks {
		late := c.expire(now)
		k.gaps(late, c)
		k.finish(c)
		k.advance(c, now)
		changed = k.take(c, now) || changed || len(late) > 0
		k.finish(c)
		if at := c.look(); at.Before(next) {
			next = at
		}
	}
	k.ask(now)
	if changed {
		k.show(nil)
	}
	return next
}

// advance goes on to the present tick of a clock, if there is a new one.
func (k *Keeper) advance(c *clock, now time.Time) {
	begins := !now.Before(c.next)
	var seen map[int][]int64
	if c.looks && (begins || len(c.watched) == 0) {
		seen = k.watch(c, now)
	}
	if begins && c.advance(now) {
		if c.looks {
			k.tick = c.tick
			k.begin(c, seen)
		}
		c.pending = c.due(c.at)
	}
	if next := c.after(now); begins || next.Before(c.next) {
		c.next = next
	}
}

// ask has sampled what is not there: with one fetch for all ticks of one time.
func (k *Keeper) ask(now time.Time) {
	for first, c := range k.clocks {
		var wanted []*upstream.Series
		for at, other := range k.clocks {
			if !other.at.Equal(c.at) {
				continue
			}
			if at < first { // asked with that one
				wanted = nil
				break
			}
			for _, i := range other.pending {
				wanted = append(wanted, k.series[i])
			}
		}
		if len(wanted) > 0 {
			k.options.Upstream.Tick(now, operand.Need{Gap: idle, After: c.at.Add(-early)}, wanted...)
		}
	}
}

// take gives windows the samples that have come for a tick, and reports whether there were any.
func (k *Keeper) take(c *clock, now time.Time) bool {
	if len(c.pending) == 0 {
		return false
	}
	series := make([]*upstream.Series, len(c.pending))
	for n, i := range c.pending {
		series[n] = k.series[i]
	}
	newest := k.options.Upstream.Newest(nil, series)
	var rest []int
	var missed []int
	for n, i := range c.pending {
		s := newest[n]
		if series[n].Constant() {
			s = operand.Empty(now, k.options.Names)
		}
		switch {
		case s == nil || s.Taken.Before(c.at.Add(-early)):
			if _, resting := k.options.Upstream.State(series[n], now); resting { // what is there of others need not wait
				missed = append(missed, i)
			} else {
				rest = append(rest, i)
			}
		case s.Taken.After(c.late()):
			missed = append(missed, i)
		default:
			k.add(c, i, s)
		}
	}
	taken := len(rest) < len(c.pending)
	c.pending = rest
	k.gaps(missed, c)
	return taken
}

// add gives a window the sample of a tick.
func (k *Keeper) add(c *clock, i int, s *operand.Sample) {
	newest, _ := k.windows.Newest(i).(*operand.Sample)
	if newest == s { // it has it already, and nothing came of it
		return
	}
	goesOn := newest != nil && s.Continues(newest)
	if k.windows.Add(i, c.tick, s, goesOn) {
		k.options.Figures.WindowTicks.Add(1)
	} else {
		k.options.Figures.WindowGaps.Add(1)
	}
	if is := k.windows.Excess(i); is != k.excess[i] {
		if k.excess[i] = is; is {
			w := k.windows.Of(i)
			k.options.Log.WithFields(logrus.Fields{
				"function": w.Func, "samples": w.Span, "limit": k.windows.Most,
			}).Error("function over time has no values, they would exceed the limit")
		}
	}
}

// gaps tells windows that they have no sample of a tick.
func (k *Keeper) gaps(of []int, c *clock) {
	for _, i := range of {
		k.windows.Miss(i, c.tick)
		k.options.Figures.WindowGaps.Add(1)
	}
}

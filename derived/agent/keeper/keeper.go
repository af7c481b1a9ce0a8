package keeper

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/derived/agent/control"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/predict"
	"pmdaderived/derived/agent/upstream"
	"pmdaderived/derived/window"
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
	Values   int64          // that all windows keep, at most
	Figures  *control.Figures
	Log      logrus.FieldLogger
	Now      func() time.Time
}

// Keeper keeps the windows of what is served.
type Keeper struct {
	options Options
	served  chan struct{} // Serve was called

	mu      sync.Mutex // guards all that follows
	windows *window.Windows
	series  []*upstream.Series // that each window is computed from; nil: it is not served
	excess  []bool             // of each window: logged that there are too many values
	clocks  []*clock
	board   *Board
	groups  *derived.Groups
}

// Board shows what the windows of a set come to. Nil: it has none.
type Board struct {
	results atomic.Pointer[derived.Results]
}

// Results are those of now.
func (b *Board) Results() *derived.Results {
	if b == nil {
		return nil
	}
	return b.results.Load()
}

// New makes a Keeper that has no windows yet.
func New(o Options) *Keeper {
	k := &Keeper{options: o, served: make(chan struct{}, 1), groups: derived.NewGroups()}
	k.windows = window.NewWindows((derived.Language{}).NewSet(nil, derived.CatalogMap{}, ""), k.groups, nil)
	k.windows.Most = int(o.Values)
	return k
}

// Serve has the windows of a set kept from now on, in place of those before: those that both have go on. series are what they are computed
// from, nil for one that need not be kept. The Board is that of the set for ever.
func (k *Keeper) Serve(set *derived.Set, series []*upstream.Series) *Board {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.windows = window.NewWindows(set, k.groups, k.windows)
	k.series, k.excess, k.board = series, make([]bool, len(series)), nil
	former := k.clocks
	k.clocks = nil
	for i, w := range set.Windows() {
		if series[i] != nil {
			c := k.clock(former, w.Every)
			c.windows = append(c.windows, i)
		}
	}
	kept := int64(0)
	for _, c := range k.clocks {
		kept += int64(len(c.windows))
		if !k.options.Now().After(c.late()) { // what the last tick has for them may still come
			c.pending = slices.DeleteFunc(slices.Clone(c.windows), func(i int) bool { return k.windows.Has(i, c.tick) })
		}
	}
	if k.options.Figures.Windows.Store(kept); kept > 0 {
		k.board = &Board{}
		k.publish()
	}
	select {
	case k.served <- struct{}{}:
	default:
	}
	return k.board
}

// clock finds the clock of an interval, or makes one; it goes on as it did before.
func (k *Keeper) clock(former []*clock, every time.Duration) *clock {
	for _, c := range k.clocks {
		if c.every == every {
			return c
		}
	}
	made := &clock{every: every}
	for _, c := range former {
		if c.every == every {
			made.tick, made.at = c.tick, c.at
		}
	}
	made.next = made.after(k.options.Now())
	k.clocks = append(k.clocks, made)
	return made
}

// publish shows the results of now.
func (k *Keeper) publish() {
	k.options.Figures.WindowValues.Store(int64(k.windows.Kept()))
	k.board.results.Store(k.windows.Results())
}

// Run keeps what Serve asks for until ctx ends.
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
		case <-k.served:
		case <-k.options.Upstream.Sampled():
		}
	}
}

// Look, which Run calls, does what is due, and says when to look again.
func (k *Keeper) Look(now time.Time) (next time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next = now.Add(idle)
	k.groups.Begin(now)
	changed := false
	for _, c := range k.clocks {
		late := c.expire(now)
		k.gaps(late, c)
		c.advance(now)
		changed = k.take(c, now) || changed || len(late) > 0
		if at := c.look(); at.Before(next) {
			next = at
		}
	}
	k.ask(now)
	if changed {
		k.publish()
	}
	return next
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
			rest = append(rest, i)
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
	goesOn := newest != nil && s.Continues(newest, k.series[i].Domains())
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
			}).Error("a function over time has no values: there would be too many to keep")
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

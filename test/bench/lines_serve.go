package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The agent, and those it is compared with, answering from memory.

const (
	servePeriod = 20 * time.Millisecond
	hotFetches  = 200 // in one turn, of a client that does not pause
	pacedTurn   = 8   // likewise of one that does
)

// fetcher is a client with what it fetches.
type fetcher struct {
	*client
	want int // values in each fetch
}

// fetcher starts a client of its own for the metrics, fetches until there are values, and leaves if it has
// no derived metrics of its own: see join.
func (a *arena) fetcher(ctx context.Context, derivedFile string, names []string, want int, env ...string) (*fetcher, error) {
	c, err := a.newClient(ctx, derivedFile, env...)
	if err != nil {
		return nil, err
	}
	if _, err := c.names(names); err != nil {
		return nil, err
	}
	f := &fetcher{c, want}
	if err := f.warm(50 * time.Millisecond); err != nil {
		return nil, fmt.Errorf("%s: %w", names[0], err)
	}
	if derivedFile == "" {
		return f, f.leave() // one that evaluates itself would have to bind again
	}
	return f, nil
}

// warm fetches until a fetch has all values, which takes two where rates are among them.
func (f *fetcher) warm(period time.Duration) error {
	var err error
	for range 100 {
		if _, err = f.fetch(1, period, f.want); err == nil {
			return nil
		}
	}
	return fmt.Errorf("never all values: %w", err)
}

// join connects the client and fetches a few times at the period, until the agent foresees its fetches.
func (f *fetcher) join(warm int, period time.Duration) error {
	if _, err := f.do("contexts 1"); err != nil {
		return err
	}
	_, err := f.do("fetch %d %d", warm, period.Microseconds())
	return err
}

// leave disconnects it, so that nothing is done for it while others are measured.
func (f *fetcher) leave() error {
	_, err := f.do("contexts 0")
	return err
}

// latency is the median time of a fetch in ns: of hotFetches one after the other, or of a few that
// come at a period.
func (f *fetcher) latency(period time.Duration) (float64, error) {
	n := hotFetches
	if period > 0 {
		n = pacedTurn
	}
	if err := f.join(4, period); err != nil {
		return 0, err
	}
	r, err := f.fetch(n, period, f.want)
	return float64(r.median), errors.Join(err, f.leave())
}

// compareLatency compares the time of a fetch of n metrics from two agents.
func (b *bench) compareLatency(
	ctx context.Context, a *arena, what string, ours, theirs []string, want int, period time.Duration,
) (float64, error) {
	x, err := a.fetcher(ctx, "", ours, want)
	if err != nil {
		return 0, err
	}
	defer a.drop(x.client)
	y, err := a.fetcher(ctx, "", theirs, want)
	if err != nil {
		return 0, err
	}
	defer a.drop(y.client)
	p, err := inTurns(b.Time,
		func() (float64, error) { return x.latency(period) },
		func() (float64, error) { return y.latency(period) })
	if err != nil {
		return 0, err
	}
	b.note("%s: %.1f µs against %.1f µs; quartiles of the ratio %.2f to %.2f, %d turns",
		what, median(p.ours)/1e3, median(p.theirs)/1e3, quantile(p.ratios, 0.25), quantile(p.ratios, 0.75), len(p.ratios))
	return p.ratio(), nil
}

// scalars are the names of n singular metrics: those that the agent derives, or those of another agent.
func scalars(root string, n int) []string {
	if root == "derived" {
		return names("derived.", sums(n))
	}
	all := make([]string, n)
	for i := range all {
		all[i] = scalar(root, i)
	}
	return all
}

func metricsOf(root string, f family, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = f.metric(root, i)
	}
	return all
}

func measureFewMetrics(ctx context.Context, b *bench) ([]float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	var figures []float64
	for _, n := range []int{1, 10} {
		ratio, err := b.compareLatency(ctx, a, fmt.Sprintf("%d metrics without a pause", n), scalars("derived", n), scalars("peer", n), n, 0)
		if err != nil {
			return nil, err
		}
		figures = append(figures, ratio)
	}
	_, err = b.compareLatency(ctx, a, "10 metrics every 20 ms", scalars("derived", 10), scalars("peer", 10), 10, servePeriod)
	return figures, err
}

func measureManyValues(ctx context.Context, b *bench) ([]float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	f := familyOf(same, 1000)
	wide, peers := names("derived.", sumsOver(1000, 10)), metricsOf("peer", f, 10)
	var figures []float64
	for _, period := range []time.Duration{servePeriod, 0} {
		one, err := b.compareLatency(ctx, a, fmt.Sprintf("1,000 metrics, period %v", period),
			scalars("derived", 1000), scalars("peer", 1000), 1000, period)
		if err != nil {
			return nil, err
		}
		two, err := b.compareLatency(ctx, a, fmt.Sprintf("10 metrics of 1,000 instances, period %v", period), wide, peers, 10_000, period)
		if err != nil {
			return nil, err
		}
		if period > 0 {
			figures = []float64{one, two}
		}
	}
	return figures, nil
}

// measurePython has no target: it is what one would have without this agent. The Python agent samples its
// operands once a second, whether or not somebody wants them.
func measurePython(ctx context.Context, b *bench) (figures []float64, err error) {
	const n = pythonScalars
	a, err := b.arena(ctx, arenaConfig{definitions: sums(n), peer: true, python: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := a.settle(ctx, sums(n)); err != nil {
		return nil, err
	}
	for _, n := range []int{1, n} {
		ratio, err := b.compareLatency(ctx, a, fmt.Sprintf("%d metrics, Python", n), scalars("pyder", n), scalars("peer", n), n, 0)
		if err != nil {
			return nil, err
		}
		figures = append(figures, ratio)
	}
	f, err := a.fetcher(ctx, "", scalars("derived", n), n)
	if err != nil {
		return nil, err
	}
	p, err := inTurnsLeast(b.Time, 2,
		func() (float64, error) {
			started := time.Now()
			cpu, err := cpuOf(a.python...)
			if err != nil {
				return 0, err
			}
			time.Sleep(time.Second)
			later, err := cpuOf(a.python...)
			return float64(later-cpu) / time.Since(started).Seconds(), err
		},
		func() (float64, error) { return a.refreshCost(f, sums(n), 8, 40*time.Millisecond) })
	if err != nil {
		return nil, err
	}
	b.note("1,000 scalars: %.0f µs in Python against %.0f µs", median(p.ours)/1e3, median(p.theirs)/1e3)
	return append(figures, p.ratio()), nil
}

// measureServing takes the CPU of the agent for each of many fetches and from them those that neither take
// a sample nor evaluate one, since the fetch before has. What a large fetch costs more than a small one of as many
// metrics is the cost of its values.
func measureServing(ctx context.Context, b *bench) ([]float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	const metrics, few, many = 2, 10, 1000 // a fetch must be much shorter than a sample is good for
	perValue := func(small, large []string, pid int) (func() (float64, error), error) {
		x, err := a.fetcher(ctx, "", small, metrics*few)
		if err != nil {
			return nil, err
		}
		y, err := a.fetcher(ctx, "", large, metrics*many)
		if err != nil {
			return nil, err
		}
		return func() (float64, error) {
			less, err := x.agentCost(pid)
			if err != nil {
				return 0, err
			}
			more, err := y.agentCost(pid)
			return (more - less) / (metrics * (many - few)), err
		}, nil
	}
	defer a.dropAll()
	ours, err := perValue(names("derived.", sumsOver(few, metrics)), names("derived.", sumsOver(many, metrics)), a.derived)
	if err != nil {
		return nil, err
	}
	theirs, err := perValue(metricsOf("peer", familyOf(same, few), metrics), metricsOf("peer", familyOf(same, many), metrics), a.peer)
	if err != nil {
		return nil, err
	}
	p, err := inTurns(b.Time, ours, theirs)
	if err != nil {
		return nil, err
	}
	b.note("a value costs %.1f ns to serve (quartiles %.1f to %.1f); the C agent %.1f ns",
		median(p.ours), quantile(p.ours, 0.25), quantile(p.ours, 0.75), median(p.theirs))
	return []float64{median(p.ours)}, nil
}

// agentCost is what the cheaper fetches of some hundred cost the agent, in ns: a quarter cost less.
func (f *fetcher) agentCost(pid int) (float64, error) {
	if err := f.join(4, 0); err != nil {
		return 0, err
	}
	r, err := f.do("watch %d %d", pid, hotFetches)
	if err != nil {
		return 0, err
	}
	return float64(r.quarter), errors.Join(r.check(f.want), f.leave())
}

// lookupsPerTurn is how many names a client looks up in one turn.
const lookupsPerTurn = 300

func measureLookup(ctx context.Context, b *bench) ([]float64, error) {
	few, err := b.open(ctx, arenaConfig{definitions: sums(10), peer: true})
	if err != nil {
		return nil, err
	}
	many, err := b.largeArena(ctx)
	if err != nil {
		return nil, err
	}
	perRequest := func(pid int, requests func() error) (float64, error) {
		cpu, err := cpuOf(pid)
		if err != nil {
			return 0, err
		}
		if err := requests(); err != nil {
			return 0, err
		}
		later, err := cpuOf(pid)
		return float64(later-cpu) / lookupsPerTurn / 1e3, err
	}
	var turns []func() (float64, error)
	for _, a := range []*arena{few, many} {
		c, err := a.newClient(ctx, "")
		if err != nil {
			return nil, err
		}
		defer a.drop(c)
		if _, err := c.names(scalars("derived", 10)); err != nil {
			return nil, err
		}
		turns = append(turns, func() (float64, error) {
			return perRequest(a.derived, func() error {
				_, err := c.do("lookup %d", lookupsPerTurn)
				return err
			})
		})
	}
	floor, err := few.fetcher(ctx, "", scalars("peer", 1), 1)
	if err != nil {
		return nil, err
	}
	var floors []float64
	ours := turns[0]
	turns[0] = func() (float64, error) {
		if err := floor.join(4, 0); err != nil {
			return 0, err
		}
		least, err := perRequest(few.peer, func() error {
			_, err := floor.fetch(lookupsPerTurn, 0, 1)
			return err
		})
		if err := errors.Join(err, floor.leave()); err != nil {
			return 0, err
		}
		floors = append(floors, least)
		return ours()
	}
	p, err := inTurns(b.Time, turns[0], turns[1])
	if err != nil {
		return nil, err
	}
	b.note("10,000 definitions / 10 definitions: %.2f", 1/p.ratio())
	b.note("the C agent, for a fetch of one metric, which takes it a read, a write and a wake-up: %.1f µs of CPU", median(floors))
	return []float64{median(p.ours), median(p.theirs)}, nil
}

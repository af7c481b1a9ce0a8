package bench

import (
	"context"
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

// fetcher starts a client of its own for the metrics, and fetches until there are values.
func (a *arena) fetcher(ctx context.Context, derivedFile string, names []string, want int) (*fetcher, error) {
	c, err := a.newClient(ctx, derivedFile)
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

// latency is the median time of a fetch in ns: of hotFetches one after the other, or of a few that
// come at a period.
func (f *fetcher) latency(period time.Duration) (float64, error) {
	n := hotFetches
	if period > 0 {
		if _, err := f.do("fetch 4 %d", period.Microseconds()); err != nil { // until our agent foresees them
			return 0, err
		}
		n = pacedTurn
	}
	r, err := f.fetch(n, period, f.want)
	return float64(r.median), err
}

// compareLatency compares the time of a fetch of n metrics from two agents.
func (b *bench) compareLatency(
	ctx context.Context, what string, ours, theirs []string, want int, period time.Duration,
) (float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return 0, err
	}
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
	var figures []float64
	for _, n := range []int{1, 10} {
		ratio, err := b.compareLatency(ctx, fmt.Sprintf("%d metrics without a pause", n), scalars("derived", n), scalars("peer", n), n, 0)
		if err != nil {
			return nil, err
		}
		figures = append(figures, ratio)
	}
	_, err := b.compareLatency(ctx, "10 metrics every 20 ms", scalars("derived", 10), scalars("peer", 10), 10, servePeriod)
	return figures, err
}

func measureManyValues(ctx context.Context, b *bench) ([]float64, error) {
	f := familyOf(same, 1000)
	wide, peers := names("derived.", sumsOver(same, 1000, 10)), metricsOf("peer", f, 10)
	var figures []float64
	for _, period := range []time.Duration{servePeriod, 0} {
		one, err := b.compareLatency(ctx, fmt.Sprintf("1,000 metrics, period %v", period),
			scalars("derived", 1000), scalars("peer", 1000), 1000, period)
		if err != nil {
			return nil, err
		}
		two, err := b.compareLatency(ctx, fmt.Sprintf("10 metrics of 1,000 instances, period %v", period), wide, peers, 10_000, period)
		if err != nil {
			return nil, err
		}
		if period > 0 {
			figures = []float64{one, two}
		}
	}
	return figures, nil
}

// measurePython has no target: it is what one would have without this agent.
func measurePython(ctx context.Context, b *bench) ([]float64, error) {
	var figures []float64
	for _, n := range []int{1, 1000} {
		ratio, err := b.compareLatency(ctx, fmt.Sprintf("%d metrics, Python", n), scalars("pyder", n), scalars("peer", n), n, 0)
		if err != nil {
			return nil, err
		}
		figures = append(figures, ratio)
	}
	return figures, nil
}

// measureServing separates the cost of a value that is served from that of one that is sampled: with one
// client every sample is served once, with several contexts some serve several.
func measureServing(ctx context.Context, b *bench) ([]float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	const n = 10_000
	defs := sumsOver(same, n, 1)
	c, err := a.fetcher(ctx, "", names("derived.", defs), n)
	if err != nil {
		return nil, err
	}
	defer a.drop(c.client)
	var served, sampled, cost []float64
	_, err = repeat(b.Time, func() (float64, error) {
		for _, contexts := range []int{1, 8} {
			if _, err := c.do("contexts %d", contexts); err != nil {
				return 0, err
			}
			if _, err := c.do("fetch 4 50000"); err != nil {
				return 0, err
			}
			before, err := a.counters()
			if err != nil {
				return 0, err
			}
			cpu, err := cpuOf(a.derived)
			if err != nil {
				return 0, err
			}
			r, err := c.fetch(8, 50*time.Millisecond, n)
			if err != nil {
				return 0, err
			}
			later, err := cpuOf(a.derived)
			if err != nil {
				return 0, err
			}
			after, err := a.counters()
			if err != nil {
				return 0, err
			}
			refreshes := (after[ctlOperands] - before[ctlOperands]) / float64(operands(defs))
			served = append(served, float64(r.values))
			sampled = append(sampled, refreshes*n)
			cost = append(cost, float64(later-cpu))
		}
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	perServed, perSampled := solve2(served, sampled, cost)
	b.note("a value costs %.1f ns to serve and %.1f ns to sample and compute, system calls included", perServed, perSampled)

	// The same of the C agent, which samples nothing.
	p, err := a.fetcher(ctx, "", metricsOf("peer", familyOf(same, n), 1), n)
	if err != nil {
		return nil, err
	}
	defer a.drop(p.client)
	theirs, err := repeat(b.Time/4, func() (float64, error) {
		cpu, err := cpuOf(a.peer)
		if err != nil {
			return 0, err
		}
		r, err := p.fetch(10, 0, n)
		if err != nil {
			return 0, err
		}
		later, err := cpuOf(a.peer)
		return float64(later-cpu) / float64(r.values), err
	})
	if err != nil {
		return nil, err
	}
	b.note("the C agent: %.1f ns", median(theirs))
	return []float64{perServed}, nil
}

// lookupsPerTurn is how many names a client looks up in one turn.
const lookupsPerTurn = 300

func measureLookup(ctx context.Context, b *bench) ([]float64, error) {
	few, err := b.open(ctx, arenaConfig{definitions: sums(10)})
	if err != nil {
		return nil, err
	}
	many, err := b.largeArena(ctx)
	if err != nil {
		return nil, err
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
			cpu, err := cpuOf(a.derived)
			if err != nil {
				return 0, err
			}
			if _, err := c.do("lookup %d", lookupsPerTurn); err != nil {
				return 0, err
			}
			later, err := cpuOf(a.derived)
			return float64(later-cpu) / lookupsPerTurn / 1e3, err
		})
	}
	p, err := inTurns(b.Time, turns[0], turns[1])
	if err != nil {
		return nil, err
	}
	b.note("10,000 definitions / 10 definitions: %.2f", 1/p.ratio())
	return []float64{median(p.ours), median(p.theirs)}, nil
}

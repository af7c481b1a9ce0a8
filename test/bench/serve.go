package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pmdaderived/test/rig"
)

// These lines measure answers from memory, of the agent and of the agents in C.

const (
	servePeriod = 20 * time.Millisecond
	hotFetches  = 200 // in one turn of a client that does not pause
	pacedTurn   = 8   // in one turn of a client that pauses
)

// latency returns the median time of a fetch in ns: of hotFetches one after the other, or of a few at a period.
func (f *fetcher) latency(period time.Duration) (float64, error) {
	n := hotFetches
	if period > 0 {
		n = pacedTurn
	}
	if err := f.join(4, period); err != nil {
		return 0, err
	}
	r, err := f.fetch(n, period, f.want)
	return float64(r.numbers["median"]), errors.Join(err, f.leave())
}

// compareLatency compares the times of fetches of metrics with want values from two agents.
func (b *bench) compareLatency(ctx context.Context, a *testbed, ours, theirs []string, want int,
	period time.Duration,
) (float64, error) {
	x, err := a.fetcher(ctx, "", ours, want)
	if err != nil {
		return 0, err
	}
	y, err := a.fetcher(ctx, "", theirs, want)
	if err != nil {
		return 0, err
	}
	return b.compare(fmt.Sprintf("%d metrics, %d values, period %v", len(ours), want, period), minRounds,
		func() (float64, error) { return x.latency(period) },
		func() (float64, error) { return y.latency(period) })
}

// peers returns n singular metrics of the C agent.
func peers(n int) []string { return nameList(n, func(i int) string { return scalar("peer", i) }) }

func (b *bench) fewMetrics(ctx context.Context) (figures []float64, err error) {
	a, err := b.small(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range []int{1, 10} {
		ratio, err := b.compareLatency(ctx, a, names("derived.", sums(n)), peers(n), n, 0)
		if err != nil {
			return nil, err
		}
		figures = append(figures, ratio)
	}
	return figures, nil
}

func (b *bench) manyValues(ctx context.Context) ([]float64, error) {
	a, err := b.small(ctx)
	if err != nil {
		return nil, err
	}
	one, err := b.compareLatency(ctx, a, names("derived.", sums(1000)), peers(1000), 1000, servePeriod)
	if err != nil {
		return nil, err
	}
	wide := nameList(10, func(i int) string { return member("peer", 1000, i) })
	two, err := b.compareLatency(ctx, a, names("derived.", sumsOver(1000, 10)), wide, 10_000, servePeriod)
	return []float64{one, two}, err
}

// lookupsPerTurn is the number of names that a client looks up in one turn.
const lookupsPerTurn = 300

func (b *bench) lookup(ctx context.Context) ([]float64, error) {
	turn := func(name string, definitions int) (func() (float64, error), error) {
		a, err := b.shared(ctx, name, testbedConfig{definitions: sums(definitions)})
		if err != nil {
			return nil, err
		}
		c, err := a.newClient(ctx, "")
		if err != nil {
			return nil, err
		}
		return func() (float64, error) {
			used, err := a.cpuDuring(func() error {
				_, err := c.do("lookup %d", lookupsPerTurn)
				return err
			}, a.derived)
			return used / lookupsPerTurn / 1e3, err
		}, c.names(names("derived.", sums(10)))
	}
	few, err := turn("few", 10)
	if err != nil {
		return nil, err
	}
	many, err := turn("many", 10_000)
	if err != nil {
		return nil, err
	}
	p, err := inTurns(b.Time, minRounds, few, many)
	return []float64{rig.Median(p.ours), rig.Median(p.theirs)}, err
}

// restAfter is the time from the last client until the agent counts as idle. Meanwhile its memory goes back to the
// kernel.
const restAfter = 5 * time.Second

func (b *bench) idle(ctx context.Context) ([]float64, error) {
	a, err := b.small(ctx)
	if err != nil {
		return nil, err
	}
	rig.Sleep(ctx, restAfter)
	n, sum := 10, 0.0
	if b.Time < time.Second {
		n = 2
	}
	var each []float64 // ms in each second
	for range n {
		started := time.Now()
		used, err := a.cpuDuring(func() error {
			rig.Sleep(ctx, time.Second)
			return nil
		}, a.derived)
		if err != nil {
			return nil, err
		}
		each = append(each, used/1e6/time.Since(started).Seconds())
		sum += each[len(each)-1] / float64(n)
	}
	b.Log.Verbosef("ms in each second: %.3f", each)
	return []float64{sum}, nil
}

// memory starts three agents, each with more to do than the one before.
func (b *bench) memory(ctx context.Context) (figures []float64, err error) {
	wide := sumsOver(100_000, 1)
	for _, row := range []struct {
		definitions []definition
		fetched     int // values of the first one
	}{{nil, 0}, {fiveThousand(0), 0}, {wide, 100_000}} {
		a, err := b.newTestbed(ctx, testbedConfig{definitions: row.definitions})
		if err != nil {
			return nil, err
		}
		if row.fetched > 0 {
			f, err := a.fetcher(ctx, "", names("derived.", wide), row.fetched)
			if err != nil {
				return nil, err
			}
			if err := f.join(10, samplePeriod(row.fetched)); err != nil {
				return nil, err
			}
		}
		p, err := rig.ReadProcess(a.derived)
		if err := errors.Join(err, a.close()); err != nil {
			return nil, err
		}
		figures = append(figures, p.Resident/(1<<20))
	}
	return figures, nil
}

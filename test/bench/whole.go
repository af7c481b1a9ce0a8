package bench

import (
	"context"
	"fmt"
	"time"

	"pmdaderived/test/rig"
)

// These lines measure all processes together that work for a number of clients: pmcd, the agents, the clients. On one
// side the clients fetch derived metrics from the agent. On the other they compute the same metrics themselves.

// clientGroup is a number of clients that fetch at the same multiples of a period, as pmlogger, pmie and pmrep do.
type clientGroup struct {
	a       *testbed
	clients []*fetcher
	period  time.Duration
}

func (a *testbed) newClientGroup(ctx context.Context, n int, derivedFile string, names []string, want int,
	period time.Duration,
) (*clientGroup, error) {
	c := &clientGroup{a: a, period: period}
	for range n {
		f, err := a.newClient(ctx, derivedFile)
		if err != nil {
			return nil, err
		}
		if err := f.names(names); err != nil {
			return nil, err
		}
		c.clients = append(c.clients, &fetcher{f, want})
	}
	return c, nil
}

// together sends a command to all clients at the same time and returns their answers.
func (c *clientGroup) together(format string, args ...any) ([]result, error) {
	for _, f := range c.clients {
		if err := f.send(format, args...); err != nil {
			return nil, err
		}
	}
	var all []result
	for _, f := range c.clients {
		r, err := f.answer()
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// cost returns the CPU in ns of all processes for each round of fetches. The clients connect for it and disconnect
// afterwards, so that they cost nothing while others are measured.
func (c *clientGroup) cost(warm, n int) (float64, error) {
	for _, f := range c.clients { // one by one: pmcd's queue of new connections is short
		if _, err := f.do("contexts 1"); err != nil {
			return 0, err
		}
	}
	if _, err := c.together("fetch %d %d", warm, c.period.Microseconds()); err != nil {
		return 0, err
	}
	var results []result
	sum, err := c.a.cpuDuring(func() (err error) {
		results, err = c.together("fetch %d %d", n, c.period.Microseconds())
		return err
	}, c.a.all...)
	if err != nil {
		return 0, err
	}
	for i, r := range results {
		if err := r.check(c.clients[i].want); err != nil {
			return 0, err
		}
		sum += float64(r.numbers["cpu"])
	}
	_, err = c.together("contexts 0")
	return sum / float64(n), err
}

func (c *clientGroup) close() {
	for _, f := range c.clients {
		f.close()
	}
}

// wholeSystem returns the ratio of the cost with our agent to the cost without, for each number of clients.
func (b *bench) wholeSystem(ctx context.Context, defs []definition, want int) (figures []float64, err error) {
	a, err := b.small(ctx)
	if err != nil {
		return nil, err
	}
	file, err := a.folder.Write("crowd.conf", text(defs))
	if err != nil {
		return nil, err
	}
	for _, n := range []int{1, 10, 50} {
		period := 100 * time.Millisecond
		if n > 1 {
			period = 500 * time.Millisecond
		}
		ours, err := a.newClientGroup(ctx, n, "", names("derived.", defs), want, period)
		if err != nil {
			return nil, err
		}
		theirs, err := a.newClientGroup(ctx, n, file, names("", defs), want, period)
		if err != nil {
			return nil, err
		}
		// With contexts of its own the client binds its metrics again; that is not counted.
		ratio, err := b.compare(fmt.Sprintf("a round of %d clients", n), b.minTurns(),
			func() (float64, error) { return ours.cost(4, 4) },
			func() (float64, error) { return theirs.cost(2, 4) })
		ours.close()
		theirs.close()
		if err != nil {
			return nil, err
		}
		figures = append(figures, ratio)
	}
	return figures, nil
}

func (b *bench) wholeScalars(ctx context.Context) ([]float64, error) {
	return b.wholeSystem(ctx, sums(1000), 1000)
}

func (b *bench) wholeInstances(ctx context.Context) ([]float64, error) {
	return b.wholeSystem(ctx, sumsOver(10, 100), 1000)
}

// The refresh of the line stall has stallParts metrics of 10,000 instances.
const (
	stallPeriod = 150 * time.Millisecond
	stallLeast  = 20
)

// stall makes a client fetch one metric of another agent without a pause while the agent refreshes 100,000 values again
// and again. It returns the 99th percentile of the longest fetch of each period.
func (b *bench) stall(ctx context.Context) ([]float64, error) {
	a, err := b.small(ctx)
	if err != nil {
		return nil, err
	}
	victim, err := a.fetcher(ctx, "", peers(1), 1)
	if err != nil {
		return nil, err
	}
	cause, err := a.newClient(ctx, "")
	if err != nil {
		return nil, err
	}
	if err := victim.join(1, 0); err != nil {
		return nil, err
	}
	n := max(stallLeast, int(b.Time/stallPeriod))
	if _, err := victim.longest(b, "nothing else", n, stallPeriod); err != nil {
		return nil, err
	}
	if err := cause.send("traverse derived.plain %d %d", n+2, stallPeriod.Microseconds()); err != nil {
		return nil, err
	}
	longest, err := victim.longest(b, "refreshes", n, stallPeriod)
	if err != nil {
		return nil, err
	}
	_, err = cause.answer()
	return []float64{rig.Quantile(longest, 0.99)}, err
}

package bench

import (
	"context"
	"slices"
	"time"
)

// Everything that runs for a number of clients, counted together: pmcd, the agents, the clients. On one
// side the clients fetch derived metrics from the agent, on the other they compute the same ones themselves.

// crowd is clients that fetch at the same multiples of a period, as pmlogger, pmie and pmrep do.
type crowd struct {
	a       *arena
	clients []*fetcher
	period  time.Duration
}

func (a *arena) crowd(ctx context.Context, n int, derivedFile string, names []string, want int, period time.Duration) (*crowd, error) {
	c := &crowd{a: a, period: period}
	for range n {
		f, err := a.newClient(ctx, derivedFile)
		if err != nil {
			return nil, err
		}
		if _, err := f.names(names); err != nil {
			return nil, err
		}
		c.clients = append(c.clients, &fetcher{f, want})
	}
	return c, nil
}

// together lets all clients carry out a command at the same time.
func (c *crowd) together(format string, args ...any) ([]result, error) {
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

// cost is the CPU in ns of everything for each round of fetches. The clients connect for it and leave
// afterwards, so that nothing is done for them while others are measured.
func (c *crowd) cost(warm, n int) (float64, error) {
	for _, f := range c.clients { // one by one: pmcd's queue of new connections is short
		if _, err := f.do("contexts 1"); err != nil {
			return 0, err
		}
	}
	if _, err := c.together("fetch %d %d", warm, c.period.Microseconds()); err != nil {
		return 0, err
	}
	cpu, err := cpuOf(c.a.all...)
	if err != nil {
		return 0, err
	}
	results, err := c.together("fetch %d %d", n, c.period.Microseconds())
	if err != nil {
		return 0, err
	}
	later, err := cpuOf(c.a.all...)
	if err != nil {
		return 0, err
	}
	sum := later - cpu
	for i, r := range results {
		if err := r.check(c.clients[i].want); err != nil {
			return 0, err
		}
		sum += r.cpu
	}
	_, err = c.together("contexts 0")
	return float64(sum) / float64(n), err
}

func (c *crowd) close() {
	for _, f := range c.clients {
		c.a.drop(f.client)
	}
}

// wholeSystem returns the ratio of what it costs with our agent to what it costs without, for each
// number of clients.
func (b *bench) wholeSystem(ctx context.Context, defs []definition, want int) ([]float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	file, err := a.derivedFile("crowd.conf", defs)
	if err != nil {
		return nil, err
	}
	var figures []float64
	for _, n := range []int{1, 10, 50} {
		period := 100 * time.Millisecond
		if n > 1 {
			period = 500 * time.Millisecond
		}
		ours, err := a.crowd(ctx, n, "", names("derived.", defs), want, period)
		if err != nil {
			return nil, err
		}
		theirs, err := a.crowd(ctx, n, file, names("", defs), want, period)
		if err != nil {
			return nil, err
		}
		// With contexts of its own the client binds its metrics again; that is not counted.
		p, err := inTurnsLeast(b.Time, b.few(),
			func() (float64, error) { return ours.cost(4, 4) },
			func() (float64, error) { return theirs.cost(2, 4) })
		ours.close()
		theirs.close()
		if err != nil {
			return nil, err
		}
		b.note("%d clients: %.2f ms against %.2f ms for each round; ratios %.3f to %.3f, %d turns", n,
			median(p.ours)/1e6, median(p.theirs)/1e6, slices.Min(p.ratios), slices.Max(p.ratios), len(p.ratios))
		figures = append(figures, p.ratio())
	}
	return figures, nil
}

func measureWholeScalars(ctx context.Context, b *bench) ([]float64, error) {
	return b.wholeSystem(ctx, sums(1000), 1000)
}

func measureWholeInstances(ctx context.Context, b *bench) ([]float64, error) {
	return b.wholeSystem(ctx, sumsOver(10, 100), 1000)
}

// The refresh that others wait for: stallParts metrics of 10,000 instances.
const (
	stallPeriod = 150 * time.Millisecond
	stallLeast  = 20
)

// measureStall lets a client fetch one metric of another agent without a pause while the agent refreshes
// 100,000 values again and again, and takes the longest fetch of each period.
func measureStall(ctx context.Context, b *bench) ([]float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	victim, err := a.fetcher(ctx, "", scalars("peer", 1), 1)
	if err != nil {
		return nil, err
	}
	defer a.drop(victim.client)
	cause, err := a.newClient(ctx, "")
	if err != nil {
		return nil, err
	}
	defer a.drop(cause)
	if err := victim.join(1, 0); err != nil {
		return nil, err
	}
	n := max(stallLeast, int(b.Time/stallPeriod))
	watch := func() ([]float64, error) {
		r, err := victim.do("longest %d %d", n, stallPeriod.Microseconds())
		if err != nil {
			return nil, err
		}
		b.note("median of all %d fetches %.0f µs, p99 %.0f µs", r.n, float64(r.median)/1e3, float64(r.p99)/1e3)
		return numbers(r.lines)
	}
	quiet, err := watch()
	if err != nil {
		return nil, err
	}
	b.note("longest in each %v with nothing else: median %.2f ms, p99 %.2f ms", stallPeriod, median(quiet)/1e6, quantile(quiet, 0.99)/1e6)
	before, err := a.counters()
	if err != nil {
		return nil, err
	}
	if err := cause.send("traverse derived.plain %d %d", n+2, stallPeriod.Microseconds()); err != nil {
		return nil, err
	}
	stalls, err := watch()
	if err != nil {
		return nil, err
	}
	if _, err := cause.answer(); err != nil {
		return nil, err
	}
	after, err := a.counters()
	if err != nil {
		return nil, err
	}
	b.note("beside %.0f refreshes: median %.2f ms, p99 %.2f ms", (after[ctlOperands]-before[ctlOperands])/stallParts,
		median(stalls)/1e6, quantile(stalls, 0.99)/1e6)
	return []float64{quantile(stalls, 0.99) / 1e6}, nil
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"
)

// What it costs to have new values: sampling the operands, evaluating, serving once. On the other side
// stands a client of libpcp that fetches the operands and evaluates itself, or pmie.

// attempts is how often a turn is tried in which the agent should sample.
const attempts = 10

// refreshCost is the CPU of the agent in ns for each refresh, over n fetches at a period. Fetches that
// share a sample count once. When the machine has held a sample up the agent does without new ones for a while;
// a turn like that does not count.
func (a *arena) refreshCost(f *fetcher, defs []definition, n int, period time.Duration) (float64, error) {
	for range attempts {
		cpu, refreshes, err := a.refreshes(f, defs, n, period)
		if err != nil {
			return 0, err
		}
		if refreshes >= float64(n)/2 {
			return float64(cpu) / refreshes, nil
		}
	}
	return 0, fmt.Errorf("%d times: %d fetches with less than half as many samples", attempts, n)
}

// refreshes is the CPU of the agent over n fetches, and how often it sampled the operands meanwhile.
func (a *arena) refreshes(
	f *fetcher, defs []definition, n int, period time.Duration,
) (cpu time.Duration, refreshes float64, err error) {
	if err := f.join(3, period); err != nil {
		return 0, 0, err
	}
	before, err := a.counters()
	if err != nil {
		return 0, 0, err
	}
	began, err := cpuOf(a.derived)
	if err != nil {
		return 0, 0, err
	}
	if _, err := f.fetch(n, period, f.want); err != nil {
		return 0, 0, err
	}
	ended, err := cpuOf(a.derived)
	if err != nil {
		return 0, 0, err
	}
	after, err := a.counters()
	if err != nil {
		return 0, 0, err
	}
	return ended - began, (after[ctlOperands] - before[ctlOperands]) / float64(operands(defs)), f.leave()
}

// clientCost is the CPU of a client in ns for each fetch.
func clientCost(f *fetcher, n int, period time.Duration) (float64, error) {
	r, err := f.fetch(n, period, f.want)
	return float64(r.cpu) / float64(n), err
}

// refreshAgainstClient compares a refresh with a client of libpcp that has the same definitions.
func (b *bench) refreshAgainstClient(
	ctx context.Context, what string, defs []definition, want, n int, period time.Duration,
) (float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return 0, err
	}
	ours, err := a.fetcher(ctx, "", names("derived.", defs), want)
	if err != nil {
		return 0, err
	}
	defer a.drop(ours.client)
	file, err := a.derivedFile("client.conf", defs)
	if err != nil {
		return 0, err
	}
	theirs, err := a.fetcher(ctx, file, names("", defs), want)
	if err != nil {
		return 0, err
	}
	defer a.drop(theirs.client)
	p, err := inTurns(b.Time,
		func() (float64, error) { return a.refreshCost(ours, defs, n, period) },
		func() (float64, error) { return clientCost(theirs, n, period) })
	if err != nil {
		return 0, err
	}
	b.note("%s: %.0f µs against %.0f µs of one libpcp client; quartiles of the ratio %.2f to %.2f, %d turns", what,
		median(p.ours)/1e3, median(p.theirs)/1e3, quantile(p.ratios, 0.25), quantile(p.ratios, 0.75), len(p.ratios))
	return p.ratio(), nil
}

func measureRefreshValues(ctx context.Context, b *bench) ([]float64, error) {
	ten, err := b.refreshAgainstClient(ctx, "10 metrics of 1,000 instances, a+b", sumsOver(1000, 10), 10_000,
		8, 40*time.Millisecond)
	if err != nil {
		return nil, err
	}
	hundred, err := b.refreshAgainstClient(ctx, "1 metric of 100,000 instances, a+b",
		[]definition{over(familyOf(same, 100_000), 1, "sum", exprSum)}, 100_000, 3, 600*time.Millisecond)
	if err != nil {
		return nil, err
	}
	_, err = b.refreshAgainstClient(ctx, "1 metric of 10,000 instances, rate(a)",
		[]definition{over(familyOf(same, 10_000), 0, "rate", exprRate)}, anyNumber, 8, 40*time.Millisecond) // a rate has no value where nothing is new
	return []float64{ten, hundred}, err
}

const pmiePeriod = 50 * time.Millisecond

// pmieCost starts pmie with the sums of n scalars and measures its CPU in ns for each evaluation.
func (a *arena) pmieCost(ctx context.Context, n int) (float64, error) {
	rules := ""
	for i, d := range sums(n) {
		rules += fmt.Sprintf("rule%d = %s;\n", i, d.expr)
	}
	file := a.file("pmie.conf")
	if err := os.WriteFile(file, []byte(rules), 0o644); err != nil {
		return 0, err
	}
	cmd := a.pmcd.Command(ctx, "pmie", "-f", "-t", "50msec", "-h", "unix:"+a.pmcd.Socket, "-c", file, "-l", a.file("pmie.log"))
	cmd.Stdout, cmd.Stderr = &a.b.log, &a.b.log
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Kill() // it runs for ever
		_ = cmd.Wait()         // its status is our signal
	}()
	perPeriod := func(periods time.Duration) (float64, error) {
		started := time.Now()
		cpu, err := cpuOf(cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		time.Sleep(periods * pmiePeriod)
		later, err := cpuOf(cmd.Process.Pid)
		return float64(later-cpu) / (float64(time.Since(started)) / float64(pmiePeriod)), err
	}
	// First it looks the metrics up and fetches one by one, which takes much more CPU, and no one knows how
	// long. Then it fetches once in a period.
	c, err := a.newClient(ctx, "")
	if err != nil {
		return 0, err
	}
	defer a.drop(c)
	if _, err := c.names([]string{"pmcd.pdu_in.highres_fetch", "pmcd.pdu_in.fetch"}); err != nil {
		return 0, err
	}
	last := math.Inf(1)
	for range 100 {
		if _, err := perPeriod(4); err != nil {
			return 0, err
		}
		r, err := c.do("values")
		if err != nil {
			return 0, err
		}
		fetches, err := numbers(r.lines)
		if err != nil || len(fetches) != 2 {
			return 0, fmt.Errorf("fetches of pmcd: %q", r.lines)
		}
		now := fetches[0] + fetches[1]
		if n := now - last; n > 3 && n < 12 { // 4 of pmie and one of ours
			return perPeriod(12)
		}
		last = now
	}
	return 0, errors.New("pmie does not fetch once in a period")
}

func measureRefreshScalars(ctx context.Context, b *bench) ([]float64, error) {
	const n = 1000
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	defs := sums(n)
	libpcp, err := b.refreshAgainstClient(ctx, "1,000 scalars", defs, n, 8, 40*time.Millisecond)
	if err != nil {
		return nil, err
	}
	ours, err := a.fetcher(ctx, "", names("derived.", defs), n)
	if err != nil {
		return nil, err
	}
	defer a.drop(ours.client)
	p, err := inTurns(b.Time,
		func() (float64, error) { return a.refreshCost(ours, defs, 8, 40*time.Millisecond) },
		func() (float64, error) { return a.pmieCost(ctx, n) })
	if err != nil {
		return nil, err
	}
	b.note("1,000 scalars: %.0f µs against %.0f µs of pmie", median(p.ours)/1e3, median(p.theirs)/1e3)
	return []float64{libpcp, p.ratio()}, nil
}

// pace is the period at which n values are sampled each time: the agent does not often repeat a sample that
// took long.
func pace(n int) time.Duration {
	switch {
	case n < 4000:
		return 30 * time.Millisecond
	case n <= 10_000:
		return 200 * time.Millisecond
	}
	return 600 * time.Millisecond
}

// turn is how many fetches of n values make a turn.
func turn(n int) int {
	switch {
	case n < 4000:
		return 10
	case n <= 10_000:
		return 4
	}
	return 2
}

// measureDefinitions finds how the cost of a refresh of all of n definitions grows with n.
func measureDefinitions(ctx context.Context, b *bench) ([]float64, error) {
	var x []float64
	var turns []func() (float64, error)
	for _, n := range []int{100, 700, 4999} {
		var a *arena
		var err error
		if n == 4999 {
			a, err = b.thousandsArena(ctx)
		} else {
			a, err = b.open(ctx, arenaConfig{definitions: sums(n)})
		}
		if err != nil {
			return nil, err
		}
		f, err := a.fetcher(ctx, "", scalars("derived", n), n)
		if err != nil {
			return nil, err
		}
		defer a.drop(f.client)
		x = append(x, float64(n))
		turns = append(turns, func() (float64, error) { return a.refreshCost(f, sums(n), turn(n), pace(n)) })
	}
	y, err := b.rounds(turns, minRounds)
	if err != nil {
		return nil, err
	}
	for i := range x {
		b.note("%5.0f definitions: %7.0f µs, %.0f ns each", x[i], y[i]/1e3, y[i]/x[i])
	}
	return []float64{exponent(x, y)}, nil
}

// rounds takes all turns in order again and again and returns the median of each.
func (b *bench) rounds(turns []func() (float64, error), least int) ([]float64, error) {
	all := make([][]float64, len(turns))
	started := time.Now()
	for round := 0; round < min(least, b.few()) || time.Since(started) < b.Time; round++ {
		for i, turn := range turns {
			y, err := turn()
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], y)
		}
	}
	medians := make([]float64, len(turns))
	for i, list := range all {
		medians[i] = median(list)
	}
	return medians, nil
}

// measureInstances finds how the cost of a refresh of a metric over n instances grows with n, and compares it
// with the cost where all lists are the same. The worst counts.
func measureInstances(ctx context.Context, b *bench) ([]float64, error) {
	a, err := b.smallArena(ctx)
	if err != nil {
		return nil, err
	}
	type kind struct{ mode, kind, expr string }
	kinds := []kind{
		{same, "sum", exprSum},
		{same, "rate", exprRate},
		{shuffled, "sum", exprSum},
		{missing, "sum", exprSum},
		{churning, "sum", exprSum},
		{churning, "rate", exprRate},
	}
	costs := make(map[kind][]float64)
	var x []float64
	for _, size := range sizes() {
		x = append(x, float64(size))
		var turns []func() (float64, error)
		for _, k := range kinds {
			i := 0
			if k.kind == "sum" {
				i = 1
			}
			def := over(familyOf(k.mode, size), i, k.kind, k.expr)
			f, err := a.anyFetcher(ctx, names("derived.", []definition{def}))
			if err != nil {
				return nil, err
			}
			turns = append(turns, func() (float64, error) { return a.refreshCost(f, []definition{def}, turn(size), pace(size)) })
		}
		y, err := b.rounds(turns, 3)
		if err != nil {
			return nil, err
		}
		for i, k := range kinds {
			costs[k] = append(costs[k], y[i])
		}
		a.dropAll()
	}
	var worstExponent, worstRatio float64
	for _, k := range kinds {
		e := exponent(x, costs[k])
		last := len(x) - 1
		ratio := costs[k][last] / costs[kind{same, k.kind, k.expr}][last]
		worstExponent, worstRatio = max(worstExponent, e), max(worstRatio, ratio)
		b.note("%-8s %-5s exponent %.2f, %.1f × the same order at 100,000; µs: %.0f", k.mode, k.kind, e, ratio, thousandths(costs[k]))
	}
	return []float64{worstExponent, worstRatio}, nil
}

func thousandths(list []float64) []float64 {
	all := make([]float64, len(list))
	for i, x := range list {
		all[i] = x / 1e3
	}
	return all
}

// anyFetcher is a fetcher of metrics that have not always the same number of values.
func (a *arena) anyFetcher(ctx context.Context, names []string) (*fetcher, error) {
	f, err := a.fetcher(ctx, "", names, anyNumber)
	return f, err
}

// dropAll ends all clients but the one for the agent's own metrics.
func (a *arena) dropAll() {
	for _, c := range a.clients {
		if c != a.control {
			c.close()
		}
	}
	a.clients = []*client{a.control}
}

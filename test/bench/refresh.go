package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"pmdaderived/test/rig"
)

// These lines measure the cost of new values: sampling the operands, evaluating, serving once. The other side is a
// client of libpcp that fetches the operands and evaluates itself, or pmie.

// attempts is the number of attempts at a turn in which the agent must sample.
const attempts = 10

// refreshCost returns the CPU of the agent in ns for each refresh, over n fetches at a period. Fetches that share a
// sample count once. If the machine delayed a sample, the agent does not sample for a while: such a turn, or one that
// lacks values, does not count.
func (a *testbed) refreshCost(ctx context.Context, f *fetcher, defs []definition, n int,
	period time.Duration,
) (float64, error) {
	failed := fmt.Errorf("%d fetches with less than half as many samples", n)
	for range attempts {
		if err := f.join(3, period); err != nil {
			return 0, err
		}
		before, err := a.control.Read(ctx)
		if err != nil {
			return 0, err
		}
		used, incomplete := a.cpuDuring(func() error {
			_, err := f.fetch(n, period, f.want)
			return err
		}, a.derived)
		after, err := a.control.Read(ctx)
		if err := errors.Join(err, f.leave()); err != nil {
			return 0, err
		}
		refreshes := after.Since(before).Numbers[ctlOperands] / float64(operands(defs))
		switch {
		case incomplete != nil:
			failed = incomplete
		case refreshes >= float64(n)/2:
			return used / refreshes, nil
		}
	}
	return 0, fmt.Errorf("%d times: %w", attempts, failed)
}

// clientCost returns the CPU of a client in ns for each fetch.
func clientCost(f *fetcher, n int, period time.Duration) (float64, error) {
	r, err := f.fetch(n, period, f.want)
	return float64(r.numbers["cpu"]) / float64(n), err
}

// refreshAgainstClient compares a refresh with a client of libpcp that has the same definitions.
func (b *bench) refreshAgainstClient(ctx context.Context, defs []definition, want, n int,
	period time.Duration,
) (float64, error) {
	a, err := b.small(ctx)
	if err != nil {
		return 0, err
	}
	ours, err := a.fetcher(ctx, "", names("derived.", defs), want)
	if err != nil {
		return 0, err
	}
	file, err := a.folder.Write("client.conf", text(defs))
	if err != nil {
		return 0, err
	}
	theirs, err := a.fetcher(ctx, file, names("", defs), want)
	if err != nil {
		return 0, err
	}
	return b.compare(fmt.Sprintf("%d metrics, the first %s, against a libpcp client", len(defs), defs[0].name), minRounds,
		func() (float64, error) { return a.refreshCost(ctx, ours, defs, n, period) },
		func() (float64, error) { return clientCost(theirs, n, period) })
}

// samplePeriod returns the period at which the agent samples n values each time: it does not often repeat a sample that
// took long.
func samplePeriod(n int) time.Duration {
	if n <= 10_000 {
		return 40 * time.Millisecond
	}
	return 600 * time.Millisecond
}

func (b *bench) refreshValues(ctx context.Context) ([]float64, error) {
	ten, err := b.refreshAgainstClient(ctx, sumsOver(1000, 10), 10_000, 8, samplePeriod(10_000))
	if err != nil {
		return nil, err
	}
	hundred, err := b.refreshAgainstClient(ctx, []definition{over(100_000, 1, "sum", "A + B")}, 100_000, 3,
		samplePeriod(100_000))
	return []float64{ten, hundred}, err
}

const pmiePeriod = 50 * time.Millisecond

// pmieCost starts pmie with the sums of n scalars and measures its CPU in ns for each evaluation.
func (a *testbed) pmieCost(ctx context.Context, n int) (float64, error) {
	rules := ""
	for i, d := range sums(n) {
		rules += fmt.Sprintf("rule%d = %s;\n", i, d.expr)
	}
	file, err := a.folder.Write("pmie.conf", rules)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	pmie, err := rig.Start(ctx, a.pmcd, func(rig.Line) {}, nil,
		"pmie", "-f", "-t", "50msec", "-h", "unix:"+a.pmcd.Socket, "-c", file, "-l", a.folder.Path("pmie.log"))
	defer func() {
		cancel()
		if pmie != nil {
			_ = pmie.Wait() // it runs for ever: its status is our signal
		}
	}()
	if err != nil {
		return 0, err
	}
	perPeriod := func(periods time.Duration) (float64, error) {
		started := time.Now()
		used, err := a.cpuDuring(func() error {
			rig.Sleep(ctx, periods*pmiePeriod)
			return nil
		}, pmie.Cmd.Process.Pid)
		return used / (float64(time.Since(started)) / float64(pmiePeriod)), err
	}
	// First pmie looks the metrics up and fetches one by one, which takes much more CPU for an unknown time. Then it
	// fetches once in a period.
	const old, highRes = "pmcd.pdu_in.fetch", "pmcd.pdu_in.highres_fetch"
	r, err := rig.NewReader(ctx, a.pmcd, old, highRes)
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // nothing is lost with it
	for last := 0.0; ; {
		f, err := r.Read(ctx)
		if err != nil {
			return 0, err
		}
		now := f.Numbers[old] + f.Numbers[highRes]
		if n := now - last; n > 3 && n < 12 { // 4 of pmie and one of ours
			return perPeriod(12)
		}
		last = now
		if _, err := perPeriod(4); err != nil { // also if it has ended
			return 0, err
		}
	}
}

func (b *bench) refreshScalars(ctx context.Context) ([]float64, error) {
	const n = 1000
	defs := sums(n)
	libpcp, err := b.refreshAgainstClient(ctx, defs, n, 8, samplePeriod(n))
	if err != nil {
		return nil, err
	}
	a, err := b.small(ctx)
	if err != nil {
		return nil, err
	}
	ours, err := a.fetcher(ctx, "", names("derived.", defs), n)
	if err != nil {
		return nil, err
	}
	pmie, err := b.compare("1,000 scalars, against pmie", minRounds,
		func() (float64, error) { return a.refreshCost(ctx, ours, defs, 8, samplePeriod(n)) },
		func() (float64, error) { return a.pmieCost(ctx, n) })
	return []float64{libpcp, pmie}, err
}

const reloads = 7

// definitions measures 5,000 definitions: the time from the start of the agent until all are bound; the time until
// clients see a changed one; and the longest wait of a client that fetches meanwhile without a pause.
func (b *bench) definitions(ctx context.Context) ([]float64, error) {
	a, err := b.thousands(ctx)
	if err != nil {
		return nil, err
	}
	binds := []float64{a.bindTook.Seconds()}
	for range 2 {
		again, err := b.newTestbed(ctx, testbedConfig{definitions: fiveThousand(1)})
		if err != nil {
			return nil, err
		}
		binds = append(binds, again.bindTook.Seconds())
		if err := again.close(); err != nil {
			return nil, err
		}
	}
	c, err := a.fetcher(ctx, "", []string{"derived.marker"}, 1)
	if err != nil {
		return nil, err
	}
	if err := c.join(1, 0); err != nil {
		return nil, err
	}
	var swaps, waits []float64 // ms
	for range reloads {
		b.version++
		if err := c.send("until %d", b.version); err != nil {
			return nil, err
		}
		rig.Sleep(ctx, 20*time.Millisecond)
		event := time.Now()
		if err := errors.Join(a.define(fiveThousand(b.version)), syscall.Kill(a.derived, syscall.SIGHUP)); err != nil {
			return nil, err
		}
		r, err := c.answer()
		if err != nil {
			return nil, err
		}
		swaps = append(swaps, time.Since(event).Seconds()*1e3)
		after, err := c.do("longest 1 %d", (100 * time.Millisecond).Microseconds()) // the old definitions are still to go
		if err != nil {
			return nil, err
		}
		waits = append(waits, max(r.most(), after.most()))
		b.Log.Verbosef("seen after %.0f ms; longest wait of a client %.1f ms", swaps[len(swaps)-1], waits[len(waits)-1])
	}
	return []float64{rig.Median(binds), rig.Median(swaps), slices.Max(waits)}, nil
}

// windows measures functions without a window over 100,000 instances, which the agent samples and evaluates each second
// while a client fetches them each second: the longest wait of another client, which fetches one metric without a pause;
// and the longest wait of the first one when it fetches after six seconds.
func (b *bench) windows(ctx context.Context) ([]float64, error) {
	const instances, metrics, seconds, pauses, pause = 10_000, 10, 10, 3, 6 * time.Second
	one, peaks := sums(1), make([]definition, metrics)
	for i := range peaks {
		peaks[i] = over(instances, i, "peak", "max(max_sample(rate(A)))")
	}
	a, err := b.shared(ctx, "windows", testbedConfig{definitions: append(peaks, one...)})
	if err != nil {
		return nil, err
	}
	c, err := a.fetcher(ctx, "", names("derived.", peaks), metrics)
	if err != nil {
		return nil, err
	}
	other, err := a.fetcher(ctx, "", names("derived.", one), 1)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.join(3, time.Second), other.join(1, 0)); err != nil {
		return nil, err
	}
	if err := c.send("fetch %d %d", seconds+1, time.Second.Microseconds()); err != nil {
		return nil, err
	}
	meanwhile, err := other.longest(b, "windows", seconds, time.Second)
	if err != nil {
		return nil, err
	}
	_, err = c.answer()
	if err := errors.Join(err, other.leave()); err != nil {
		return nil, err
	}
	var waits []float64 // ms
	for range pauses {
		rig.Sleep(ctx, pause)
		r, err := c.fetch(1, 0, metrics)
		if err != nil {
			return nil, err
		}
		waits = append(waits, r.most())
	}
	return []float64{slices.Max(waits), slices.Max(meanwhile)}, c.leave()
}

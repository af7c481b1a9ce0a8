package bench

import (
	"context"
	"errors"
	"strconv"
	"syscall"
	"time"
)

// What 5,000 definitions cost before anybody has a value.

func numbers(lines []string) ([]float64, error) {
	var all []float64
	for _, line := range lines {
		x, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

const reloads = 7

func measureThousands(ctx context.Context, b *bench) ([]float64, error) {
	a, err := b.thousandsArena(ctx)
	if err != nil {
		return nil, err
	}
	parsing, err := repeat(b.Time/4, parse(fiveThousand(1)))
	if err != nil {
		return nil, err
	}
	binds := []float64{a.bindTook.Seconds()}
	for range 2 {
		again, err := b.arena(ctx, arenaConfig{definitions: fiveThousand(1)})
		if err != nil {
			return nil, err
		}
		cpu, err := cpuOf(again.derived)
		if err = errors.Join(err, again.close()); err != nil {
			return nil, err
		}
		binds = append(binds, again.bindTook.Seconds())
		b.note("first bind: %.0f ms from the start of the agent, %.0f ms of its CPU", again.bindTook.Seconds()*1e3, cpu.Seconds()*1e3)
	}

	// The same in a client of libpcp: its first fetch.
	file, err := a.derivedFile("thousands.conf", fiveThousand(1))
	if err != nil {
		return nil, err
	}
	c, err := a.newClient(ctx, file)
	if err != nil {
		return nil, err
	}
	defer a.drop(c)
	looked, err := c.names(names("", fiveThousand(1)))
	if err != nil {
		return nil, err
	}
	first, err := c.do("fetch 1 0")
	if err != nil {
		return nil, err
	}
	b.note("a client of libpcp: names %.0f ms, first fetch %.0f ms", looked.wall.Seconds()*1e3, first.wall.Seconds()*1e3)

	swap, _, err := b.reload(ctx)
	return []float64{median(parsing), median(binds), swap}, err
}

// reload changes one of 5,000 definitions several times, and returns the median time in ms until clients
// see it, and the longest request of all meanwhile, by the agent's clock.
func (b *bench) reload(ctx context.Context) (swap, longest float64, err error) {
	a, err := b.thousandsArena(ctx)
	if err != nil {
		return 0, 0, err
	}
	c, err := a.fetcher(ctx, "", []string{"derived.marker"}, 1)
	if err != nil {
		return 0, 0, err
	}
	defer a.drop(c.client)
	if err := c.join(1, 0); err != nil {
		return 0, 0, err
	}
	quiet, err := a.requestTimes(ctx)
	if err != nil {
		return 0, 0, err
	}
	var swaps, inside []float64
	fetch := 0.0
	for range reloads {
		b.version++
		if err := c.send("until %d", b.version); err != nil {
			return 0, 0, err
		}
		time.Sleep(20 * time.Millisecond)
		event := time.Now()
		if err := a.define(fiveThousand(b.version)); err != nil {
			return 0, 0, err
		}
		if err := syscall.Kill(a.derived, syscall.SIGHUP); err != nil {
			return 0, 0, err
		}
		r, err := c.answer()
		if err != nil {
			return 0, 0, err
		}
		swaps = append(swaps, time.Since(event).Seconds()*1e3)
		fetch = max(fetch, r.most.Seconds()*1e3)
		v, err := a.counters()
		if err != nil {
			return 0, 0, err
		}
		inside = append(inside, v[ctlReloadTime])
		time.Sleep(100 * time.Millisecond)
	}
	busy, err := a.requestTimes(ctx)
	if err != nil {
		return 0, 0, err
	}
	longest = longestSince(quiet, busy)
	b.note("5,000 definitions, one changed: seen after %.0f ms (%.0f to %.0f), of which the agent counts %.0f; longest request meanwhile at most %v ms, longest fetch of a client %.1f ms",
		median(swaps), quantile(swaps, 0), quantile(swaps, 1), median(inside), longest, fetch)
	return median(swaps), longest, nil
}

func measureReload(ctx context.Context, b *bench) ([]float64, error) {
	swap, longest, err := b.reload(ctx)
	return []float64{swap, longest}, err
}

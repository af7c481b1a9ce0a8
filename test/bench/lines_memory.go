package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Memory and allocations, told by the agent's own runtime: pmdaderived-profiled is the same program with
// cmd/pmdaderived/profile.go in it.

// memory is what the runtime knows; see cmd/pmdaderived/profile.go.
type memory struct {
	HeapAlloc uint64 // bytes that are in use after a collection
	Mallocs   uint64 // allocations so far
	Count     int    // of such reports
}

// profiledArena starts an arena with the profiled agent.
func (b *bench) profiledArena(ctx context.Context, defs []definition) (*arena, error) {
	dir, err := os.MkdirTemp(b.dir, "profile")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o777); err != nil { // the agent is another user
		return nil, err
	}
	a, err := b.arena(ctx, arenaConfig{definitions: defs, profiled: true, env: []string{"PMDADERIVED_PROFILE=" + dir}})
	if err != nil {
		return nil, err
	}
	a.profiles = dir
	return a, nil
}

// memory asks the agent for its figures.
func (a *arena) memory() (memory, error) {
	a.reports++
	if err := syscall.Kill(a.derived, syscall.SIGUSR2); err != nil {
		return memory{}, err
	}
	deadline := time.Now().Add(10 * time.Second)
	for time.Now().Before(deadline) {
		var m memory
		report, err := os.ReadFile(filepath.Join(a.profiles, "memory.json"))
		if err == nil && json.Unmarshal(report, &m) == nil && m.Count == a.reports {
			return m, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return memory{}, errors.New("the agent does not tell its memory")
}

// heapBetween is the heap in use after a collection, in bytes, where nothing happens just then: the median of
// some reports, since a message on its way is in memory, too.
func (a *arena) heapBetween() (float64, error) {
	const reports, gap = 5, 100 * time.Millisecond
	var all []float64
	for range reports {
		m, err := a.memory()
		if err != nil {
			return 0, err
		}
		all = append(all, float64(m.HeapAlloc))
		time.Sleep(gap)
	}
	return median(all), nil
}

// warm fetches n values of a metric until they come twice in a row, some seven times. A rate has no value where
// no sample is newer than that of the fetch before, so every fetch, also the first of a command, keeps its distance.
func warm(c *client, n int) error {
	period := pace(n)
	if _, err := c.do("fetch 5 %d", period.Microseconds()); err != nil {
		return err
	}
	var err error
	for range attempts {
		time.Sleep(period)
		if _, err = c.fetch(2, period, n); err == nil {
			return nil
		}
	}
	return err
}

// bytesPerValue is the memory that one more value takes once a metric has been fetched a few times: in
// the agent, and in a client of libpcp.
func (b *bench) bytesPerValue(ctx context.Context, kind, expr string) (ours float64, err error) {
	const n = 100_000
	def := over(familyOf(same, n), 0, kind, expr)
	a, err := b.profiledArena(ctx, []definition{def})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	before, err := a.heapBetween()
	if err != nil {
		return 0, err
	}
	c, err := a.newClient(ctx, "")
	if err != nil {
		return 0, err
	}
	if _, err := c.names(names("derived.", []definition{def})); err != nil {
		return 0, err
	}
	if err := warm(c, n); err != nil {
		return 0, err
	}
	after, err := a.heapBetween()
	if err != nil {
		return 0, err
	}

	file, err := a.derivedFile("memory.conf", []definition{def})
	if err != nil {
		return 0, err
	}
	l, err := a.newClient(ctx, file)
	if err != nil {
		return 0, err
	}
	empty, err := l.do("memory")
	if err != nil {
		return 0, err
	}
	if _, err := l.names([]string{def.name}); err != nil {
		return 0, err
	}
	if _, err := l.do("fetch 3 0"); err != nil {
		return 0, err
	}
	full, err := l.do("memory")
	if err != nil {
		return 0, err
	}
	ours = (after - before) / n
	b.note("%s: %.0f bytes a value; a client of libpcp: %.0f", kind, ours, float64(full.memory-empty.memory)/n)
	return ours, nil
}

func measureMemoryValues(ctx context.Context, b *bench) ([]float64, error) {
	var figures []float64
	for _, row := range []struct{ kind, expr string }{
		{"sum", exprSum}, {"rate", exprRate}, {"ratio", exprRatio}, {"fifty", exprFifty()},
	} {
		bytes, err := b.bytesPerValue(ctx, row.kind, row.expr)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", row.kind, err)
		}
		figures = append(figures, bytes)
	}
	return figures, nil
}

// heapWith is the heap in bytes with definitions, once the agent has nothing to do any more.
func (b *bench) heapWith(ctx context.Context, defs []definition) (heap float64, err error) {
	a, err := b.profiledArena(ctx, defs)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if len(defs) > 0 {
		if err := a.settle(ctx, defs); err != nil {
			return 0, err
		}
	}
	return a.heapBetween()
}

func measureMemoryDefinitions(ctx context.Context, b *bench) (figures []float64, err error) {
	heap := make(map[int]float64)
	for _, n := range []int{0, 5000} {
		if heap[n], err = b.heapWith(ctx, sums(n)); err != nil {
			return nil, err
		}
	}
	bare, err := b.arena(ctx, arenaConfig{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	own, all, err := residentKiB(bare.derived)
	if err != nil {
		return nil, err
	}
	b.note("bare process: resident %.1f MiB, of which %.1f MiB are no pages of files; heap %.1f MiB", all/1024, own/1024, heap[0]/(1<<20))
	large, err := b.largeArena(ctx)
	if err != nil {
		return nil, err
	}
	_, resident, err := residentKiB(large.derived)
	if err != nil {
		return nil, err
	}
	b.note("10,000 definitions: resident %.1f MiB, %.0f bytes each more than the bare process", resident/1024, (resident-all)*1024/10_000)
	return []float64{(heap[5000] - heap[0]) / 5000, all / 1024}, nil
}

// measureAllocations counts the allocations of the agent for each fetch with its refresh.
func measureAllocations(ctx context.Context, b *bench) (figures []float64, err error) {
	defs := append(sums(1000), sumsOver(10, 1)...)
	defs = append(defs, sumsOver(10_000, 1)...)
	a, err := b.profiledArena(ctx, defs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := a.settle(ctx, defs); err != nil {
		return nil, err
	}
	count := func(defs []definition, want int) (float64, error) {
		const n, period = 20, 40 * time.Millisecond
		f, err := a.fetcher(ctx, "", names("derived.", defs), want)
		if err != nil {
			return 0, err
		}
		defer a.drop(f.client)
		if err := f.join(20, period); err != nil {
			return 0, err
		}
		least := math.Inf(1) // now and then the agent looks its operands up again
		for range minRounds {
			before, err := a.memory()
			if err != nil {
				return 0, err
			}
			if _, err := f.fetch(n, period, want); err != nil {
				return 0, err
			}
			after, err := a.memory()
			if err != nil {
				return 0, err
			}
			least = min(least, float64(after.Mallocs-before.Mallocs)/n)
		}
		return least, nil
	}
	var scalar, instanced [2]float64
	if scalar[0], err = count(sums(10), 10); err != nil {
		return nil, err
	}
	if scalar[1], err = count(sums(1000), 1000); err != nil {
		return nil, err
	}
	if instanced[0], err = count(sumsOver(10, 1), 10); err != nil {
		return nil, err
	}
	if instanced[1], err = count(sumsOver(10_000, 1), 10_000); err != nil {
		return nil, err
	}
	b.note("for each fetch with a new sample: %.1f for 10 scalars, %.1f for 1,000; %.1f for 10 instances, %.1f for 10,000",
		scalar[0], scalar[1], instanced[0], instanced[1])
	return []float64{max(0, (scalar[1]-scalar[0])/990), max(0, (instanced[1]-instanced[0])/9990)}, nil
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// load is what a client does while the agent is profiled.
type load struct {
	name, what string
	defs       []definition
	values     int
	period     time.Duration
}

func loads() []load {
	return []load{
		{"few", "10 singular metrics every 20 ms", sums(10), 10, 20 * time.Millisecond},
		{"hot", "10 singular metrics without a pause", sums(10), 10, 0},
		{"scalars", "1,000 singular metrics every 40 ms", sums(1000), 1000, 40 * time.Millisecond},
		{"instances", "10 metrics of 1,000 instances every 40 ms", sumsOver(1000, 10), 10_000, 40 * time.Millisecond},
	}
}

// Profile lets the agent serve a client for the time o.Time under each kind of load and leaves profiles of CPU
// time and heap in folders of dir, one for each.
func Profile(ctx context.Context, o Options, dir string) (err error) {
	b := &bench{Options: o}
	if b.dir, err = os.MkdirTemp(workParent, "pmdaderived-bench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.prepare(); err != nil {
		return err
	}
	for _, l := range loads() {
		if !strings.Contains(l.what, o.Only) {
			continue
		}
		if err := b.profile(ctx, filepath.Join(dir, l.name), l); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

func (b *bench) profile(ctx context.Context, to string, l load) (err error) {
	a, err := b.profiledArena(ctx, l.defs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	f, err := a.fetcher(ctx, "", names("derived.", l.defs), l.values)
	if err != nil {
		return err
	}
	if err := f.join(10, l.period); err != nil {
		return err
	}
	if err := syscall.Kill(a.derived, syscall.SIGUSR1); err != nil {
		return err
	}
	cpu, err := cpuOf(a.derived)
	if err != nil {
		return err
	}
	n := 0
	for started := time.Now(); time.Since(started) < b.Time; {
		r, err := f.fetch(25, l.period, l.values)
		if err != nil {
			return err
		}
		n += int(r.n)
	}
	later, err := cpuOf(a.derived)
	if err != nil {
		return err
	}
	if err := syscall.Kill(a.derived, syscall.SIGUSR1); err != nil {
		return err
	}
	if _, err := a.memory(); err != nil { // comes after the signal before it: the profile is complete
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, file := range []string{"cpu.pprof", "heap.pprof"} {
		content, err := os.ReadFile(filepath.Join(a.profiles, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, file), content, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.Out, "%s: %d fetches, %.0f µs CPU of the agent each\n", l.what, n, float64(later-cpu)/1e3/float64(n))
	fmt.Fprintf(b.Out, "  go tool pprof -top %s\n  go tool pprof -http : %s\n  go tool pprof -sample_index=inuse_space -top %s\n",
		filepath.Join(to, "cpu.pprof"), filepath.Join(to, "cpu.pprof"), filepath.Join(to, "heap.pprof"))
	return nil
}

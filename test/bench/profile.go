package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pmdaderived/test/rig"
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
func Profile(ctx context.Context, o Options, dir string) error {
	return prepared(o, func(b *bench) error {
		for _, l := range loads() {
			if len(o.Only) > 0 && !slices.ContainsFunc(o.Only, func(text string) bool { return strings.Contains(l.what, text) }) {
				continue
			}
			if err := b.profile(ctx, filepath.Join(dir, l.name), l); err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
		}
		return nil
	})
}

func (b *bench) profile(ctx context.Context, to string, l load) (err error) {
	profiles, err := b.folder.Sub("profiles-" + l.name)
	if err != nil {
		return err
	}
	if err := os.Chmod(string(profiles), 0o777); err != nil { // the agent is another user
		return err
	}
	a, err := b.arena(ctx, arenaConfig{definitions: l.defs, profiles: string(profiles)})
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
	n := int64(0)
	used, err := a.cpuDuring(func() error {
		for started := time.Now(); time.Since(started) < b.Time; {
			r, err := f.fetch(25, l.period, l.values)
			if err != nil {
				return err
			}
			n += r.numbers["n"]
		}
		return nil
	}, a.derived)
	if err != nil {
		return err
	}
	if err := syscall.Kill(a.derived, syscall.SIGUSR1); err != nil {
		return err
	}
	if err := rig.Await(ctx, "the agent has written its profiles", func() (bool, error) {
		_, err := os.Stat(profiles.Path("heap.pprof"))
		return err == nil, nil
	}); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(string(profiles)))); err != nil {
		return err
	}
	b.Log.Tellf("%s: %d fetches, %.0f µs CPU of the agent each\n  go tool pprof -top %[4]s\n  go tool pprof -http : %[4]s\n"+
		"  go tool pprof -sample_index=inuse_space -top %[5]s", l.what, n, used/1e3/float64(n), filepath.Join(to, "cpu.pprof"), filepath.Join(to, "heap.pprof"))
	return nil
}

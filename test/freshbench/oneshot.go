package freshbench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"pmdaderived/test/rig"
)

// oneShots runs pminfo over and over, alone and beside clients that fetch without pause.
func (b *bench) oneShots(ctx context.Context) (rows []rig.Row, err error) {
	for _, clients := range b.plan.Loads {
		stop, err := b.load(ctx, clients)
		if err != nil {
			return nil, err
		}
		var shots []shot
		f, err := b.during(ctx, func() (err error) {
			shots, err = b.shoot(ctx)
			return err
		})
		perSecond, stopErr := stop()
		if err := errors.Join(err, stopErr); err != nil {
			return nil, err
		}
		what := "pminfo -f, alone"
		if clients > 0 {
			what = fmt.Sprintf("pminfo -f, beside %d busy clients (%.0f fetches/s)", clients, perSecond)
		}
		fresh, err := b.freshShots(shots)
		if err != nil {
			return nil, err
		}
		var ends rig.Durations
		for _, s := range shots {
			if s.value > 0 {
				ends = append(ends, time.Duration(s.end-s.value))
			}
		}
		rows = append(rows,
			allOf(what+": values sampled after the tool connected", fresh, len(shots)),
			rig.Times(what+": age at the reply", f.Histograms[firstFetch], oneShotLimits(clients)...),
			rig.Times(what+": age when pminfo has ended", ends, rig.Limit{Q: 0.5}, rig.Limit{Q: 0.99}))
	}
	return rows, nil
}

// oneShotLimits are how old a sample may be at the reply to a one-shot client.
func oneShotLimits(clients int) []rig.Limit {
	switch {
	case clients == 0:
		return []rig.Limit{{Q: 0.5, Most: time.Millisecond}, {Q: 0.99, Most: 5 * time.Millisecond}}
	case clients <= 10:
		return []rig.Limit{{Q: 0.5}, {Q: 0.99, Most: 15 * time.Millisecond}}
	}
	return []rig.Limit{{Q: 0.5}, {Q: 0.99, Most: 50 * time.Millisecond}}
}

// shot is one run of pminfo. Times are ns since the Epoch.
type shot struct{ pid, end, value int64 } // value: when it was sampled; 0: there was none

// shoot runs pminfo as often as planned.
func (b *bench) shoot(ctx context.Context) (shots []shot, err error) {
	for range b.plan.OneShots {
		lines, pid, err := rig.Output(ctx, b.pmcd, nil, "pminfo", "-f", "derived.now")
		if err != nil {
			return nil, err
		}
		s := shot{pid: int64(pid), end: time.Now().UnixNano()}
		for _, l := range lines {
			if value, ok := strings.CutPrefix(l.Text, "    value "); ok {
				if s.value, err = strconv.ParseInt(value, 10, 64); err != nil {
					return nil, err
				}
			}
		}
		shots = append(shots, s)
	}
	return shots, nil
}

// freshShots counts the runs whose value was sampled when pmcd had told the agent about their client.
func (b *bench) freshShots(shots []shot) (fresh int, err error) {
	journal, err := rig.ReadJournal(b.agent.Journal, "client")
	if err != nil {
		return 0, err
	}
	arrived := make(map[int64]int64)
	for _, note := range journal {
		arrived[note[0]] = note[1]
	}
	for _, s := range shots {
		at, ok := arrived[s.pid]
		switch {
		case !ok:
			return 0, fmt.Errorf("pmcd has not told about the client with process number %d", s.pid)
		case s.value >= at:
			fresh++
		default:
			b.log.Notef("pminfo %d connected at %d and has a value of %d", s.pid, at, s.value)
		}
	}
	return fresh, nil
}

// load starts clients that fetch without pause what an ordinary monitor watches: processors, memory pressure and disks. stop
// ends them and tells how many fetches a second they made.
func (b *bench) load(ctx context.Context, clients int) (stop func() (perSecond float64, err error), err error) {
	ctx, cancel := context.WithCancel(ctx)
	names, err := b.loadMetrics(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	fetches, problems := make([]int, clients), make([]error, clients)
	var running sync.WaitGroup
	begin := time.Now()
	stop = func() (float64, error) {
		took, sum := time.Since(begin).Seconds(), 0
		cancel()
		running.Wait()
		for i, n := range fetches {
			sum += n
			if errors.Is(problems[i], context.Canceled) {
				problems[i] = nil
			}
		}
		return float64(sum) / took, errors.Join(problems...)
	}
	for i := range clients {
		c, err := rig.Open(ctx, b.pmcd, names...)
		if err != nil {
			_, stopErr := stop()
			return nil, errors.Join(err, stopErr)
		}
		running.Go(func() {
			defer c.Close() //nolint:errcheck // pmcd may have ended it
			problems[i] = c.FetchAt(ctx, rig.Nonstop, func(rig.Fetched) bool {
				fetches[i]++
				return true
			})
		})
	}
	return stop, nil
}

func (b *bench) loadMetrics(ctx context.Context) (names []string, err error) {
	conn, err := rig.Dial(ctx, b.pmcd)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	for _, tree := range []string{"kernel.all.cpu", "kernel.all.load", "disk.dev"} {
		below, err := conn.Traverse(ctx, tree)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tree, err)
		}
		names = append(names, below...)
	}
	return names, nil
}

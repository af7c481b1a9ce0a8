package freshbench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// oneShots runs pminfo over and over, alone and beside clients that fetch without pause.
func oneShots(ctx context.Context, b *bench) ([]Row, error) {
	var rows []Row
	for _, clients := range b.options.Plan.Loads {
		more, err := b.oneShotsBeside(ctx, clients)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// oneShotLimits are how old a sample may be at the reply to a one-shot client.
func oneShotLimits(clients int) []limit {
	switch {
	case clients == 0:
		return []limit{{0.5, time.Millisecond}, {0.99, 5 * time.Millisecond}}
	case clients <= 10:
		return []limit{{0.5, 0}, {0.99, 15 * time.Millisecond}}
	}
	return []limit{{0.5, 0}, {0.99, 50 * time.Millisecond}}
}

func (b *bench) oneShotsBeside(ctx context.Context, clients int) ([]Row, error) {
	beside, stop, err := b.load(ctx, clients)
	if err != nil {
		return nil, err
	}
	shots, ages, err := b.shoot(ctx)
	perSecond, stopErr := stop()
	switch {
	case err != nil:
		return nil, err
	case stopErr != nil:
		return nil, stopErr
	}
	if clients > 0 {
		beside = fmt.Sprintf("%s (%.0f fetches/s)", beside, perSecond)
	}
	fresh, err := b.freshShots(shots)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("pminfo -f, %s", beside)
	measured, target, ok := judge(ages, oneShotLimits(clients))
	var ends []time.Duration
	for _, s := range shots {
		if s.value > 0 {
			ends = append(ends, time.Duration(wallClock(s.end)-s.value))
		}
	}
	outside, _, _ := judge(newDurations(ends), []limit{{0.5, 0}, {0.99, 0}})
	return []Row{
		{
			What:     what + ": values sampled after the tool connected",
			Measured: fmt.Sprintf("%d of %d", fresh, len(shots)), Target: "all", OK: fresh == len(shots),
		},
		{What: what + ": age at the reply", Measured: measured, Target: target, OK: ok, Timed: true},
		{What: what + ": age when pminfo has ended", Measured: outside, OK: true, Timed: true},
	}, nil
}

// shot is one run of pminfo.
type shot struct {
	pid   int
	end   time.Time
	value uint64 // when it was sampled, ns since the Epoch; 0: no value
}

// shoot runs pminfo as often as planned and returns what it showed and how old the daemon says that was.
func (b *bench) shoot(ctx context.Context) ([]shot, histogram, error) {
	before, err := b.figures(ctx)
	if err != nil {
		return nil, histogram{}, err
	}
	var shots []shot
	for range b.options.Plan.OneShots {
		t, err := start(ctx, b.pmcd, nil, "pminfo", "-f", "derived.now")
		if err != nil {
			return nil, histogram{}, err
		}
		lines, err := t.wait()
		if err != nil {
			return nil, histogram{}, err
		}
		s := shot{pid: t.cmd.Process.Pid, end: time.Now()}
		for _, l := range lines {
			if value, ok := strings.CutPrefix(l.text, "    value "); ok {
				if s.value, err = strconv.ParseUint(value, 10, 64); err != nil {
					return nil, histogram{}, err
				}
			}
		}
		shots = append(shots, s)
	}
	after, err := b.figures(ctx)
	return shots, after.since(before).ages[firstFetch], err
}

// freshShots counts the runs whose value was sampled when pmcd had told the clock about their client.
func (b *bench) freshShots(shots []shot) (int, error) {
	text, err := os.ReadFile(b.file("arrivals"))
	if err != nil {
		return 0, err
	}
	arrived := make(map[int]uint64)
	for l := range strings.Lines(string(text)) {
		var pid int
		var at uint64
		if _, err := fmt.Sscanf(l, "%d %d", &pid, &at); err != nil {
			return 0, fmt.Errorf("arrivals: %q: %w", l, err)
		}
		arrived[pid] = at
	}
	fresh := 0
	for _, s := range shots {
		at, ok := arrived[s.pid]
		switch {
		case !ok:
			return 0, fmt.Errorf("pmcd has not told about the client with process number %d", s.pid)
		case s.value >= at:
			fresh++
		default:
			b.logf("pminfo %d connected at %d and has a value of %d", s.pid, at, s.value)
		}
	}
	return fresh, nil
}

// load starts clients that fetch without pause. stop ends them and tells how many fetches a second they made.
func (b *bench) load(ctx context.Context, clients int) (what string, stop func() (float64, error), err error) {
	if clients == 0 {
		return "alone", func() (float64, error) { return 0, nil }, nil
	}
	t, err := start(ctx, b.pmcd, nil, b.file("helper"), loadHelper, strconv.Itoa(clients))
	if err != nil {
		return "", nil, err
	}
	if err := t.awaitLine(); err != nil {
		return "", nil, err
	}
	begin := time.Now()
	return fmt.Sprintf("beside %d busy clients", clients), func() (float64, error) {
		took := time.Since(begin).Seconds()
		if err := t.stdin.Close(); err != nil {
			return 0, err
		}
		lines, err := t.wait()
		switch {
		case err != nil:
			return 0, err
		case len(lines) != 2:
			return 0, fmt.Errorf("busy clients: %d lines", len(lines))
		}
		fetches, err := strconv.ParseUint(lines[1].text, 10, 64)
		return float64(fetches) / took, err
	}, nil
}

package freshbench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

const (
	// mostStanding is the part of its time that pmcd may stand still because of a slow operand.
	mostStanding = 0.1

	// besideInterval is how often the client of another metric fetches meanwhile.
	besideInterval = 100 * time.Millisecond

	// recovery is how long after a nap the fetches of that client are left out: pmcd has a backlog.
	recovery = 2 * besideInterval
)

// slowOperand makes an operand slow while a client wants it every second, and watches pmcd and the
// client of another metric.
func slowOperand(ctx context.Context, b *bench) (rows []Row, err error) {
	length := b.options.Plan.Slow
	if length == 0 {
		return nil, nil
	}
	beside, err := b.keep(ctx, "derived.now")
	if err != nil {
		return nil, err
	}
	defer beside.conn.Close() //nolint:errcheck // nothing is lost with it
	if err := os.WriteFile(b.file("trigger"), nil, 0o644); err != nil {
		return nil, err
	}
	defer func() {
		if removeErr := os.Remove(b.file("trigger")); err == nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = removeErr
		}
	}()
	begin := time.Now()
	wanting, err := start(ctx, b.pmcd, nil, "pmval", "-t1", fmt.Sprintf("-s%d", length/time.Second), "derived.slow")
	if err != nil {
		return nil, err
	}
	all, err := beside.fetchAt(ctx, begin.Add(length), func(last time.Time) time.Time {
		if now := time.Now(); now.After(last) { // pmcd stood still
			last = now
		}
		return last.Truncate(besideInterval).Add(besideInterval)
	})
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	if err := os.Remove(b.file("trigger")); err != nil {
		return nil, err
	}
	if _, err := wanting.wait(); err != nil {
		return nil, err
	}
	naps, err := b.naps()
	if err != nil {
		return nil, err
	}
	b.logLate(begin, naps, all)
	return slowRows(b.options.Plan.Nap, begin, took, naps, all), nil
}

// logLate tells when the slow agent was asked, and which values of the other metric were older than most may be.
func (b *bench) logLate(begin time.Time, naps []nap, all []taken) {
	for _, n := range naps {
		b.logf("slow from %v to %v", n.start.Sub(begin), n.end.Sub(begin))
	}
	for _, f := range all {
		if f.age > later()[1].most {
			b.logf("at %v: age %v, fetch took %v", f.start.Sub(begin), f.age, f.end.Sub(f.start))
		}
	}
}

// nap is a time during which pmcd waited for the slow agent.
type nap struct{ start, end time.Time }

func (b *bench) naps() ([]nap, error) {
	text, err := os.ReadFile(b.file("naps"))
	if err != nil {
		return nil, err
	}
	var all []nap
	for l := range strings.Lines(string(text)) {
		var from, to int64
		if _, err := fmt.Sscanf(l, "%d %d", &from, &to); err != nil {
			return nil, fmt.Errorf("naps: %q: %w", l, err)
		}
		all = append(all, nap{time.Unix(0, from), time.Unix(0, to)})
	}
	return all, nil
}

// disturbs reports whether a fetch was affected.
func (n nap) disturbs(f taken) bool {
	return f.start.Before(n.end.Add(recovery)) && f.end.After(n.start)
}

func slowRows(each time.Duration, begin time.Time, took time.Duration, naps []nap, all []taken) []Row {
	var outside []time.Duration
	fetches := 0
	for i, f := range all {
		disturbed := i < 2 // the interval is not known yet
		for _, n := range naps {
			disturbed = disturbed || n.disturbs(f)
		}
		if disturbed {
			continue
		}
		fetches++
		if f.age > 0 {
			outside = append(outside, f.age)
		}
	}
	what := fmt.Sprintf("an operand that takes %v, wanted every second", each)
	rows := []Row{standingRow(what, begin, took, naps)}
	measured, target, ok := judge(newDurations(outside), later())
	return append(rows, []Row{
		{
			What: what + ": another metric every 100 ms outside those times", Measured: fmt.Sprintf("%s of %d", measured, len(outside)),
			Target: target, OK: ok && len(outside) > 0, Timed: true,
		},
		{
			What: what + ": fetches of that with a value", Measured: fmt.Sprintf("%d of %d", len(outside), fetches),
			Target: "all", OK: len(outside) == fetches, Timed: true,
		},
	}...)
}

// standingRow tells which part of its time pmcd stood still. That an operand is slow is only known when it has
// been asked, so the time begins with the end of the first nap.
func standingRow(what string, begin time.Time, took time.Duration, naps []nap) Row {
	r := Row{
		What: what + ": time that pmcd stands still, from the end of the first time on", Target: "≤ " + percent(mostStanding),
		Measured: "never asked", Timed: true,
	}
	if len(naps) == 0 {
		return r
	}
	found, standing := naps[0].end, time.Duration(0)
	for _, n := range naps[1:] {
		standing += n.end.Sub(n.start)
	}
	part := float64(standing) / float64(begin.Add(took).Sub(found))
	r.Measured = fmt.Sprintf("%s, %d times in %v", percent(part), len(naps)-1, took.Round(time.Second))
	r.OK = part <= mostStanding
	return r
}

package freshbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"pmdaderived/test/rig"
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
func (b *bench) slowOperand(ctx context.Context) (rows []rig.Row, err error) {
	length := b.plan.Slow
	beside, err := rig.Open(ctx, b.pmcd, "derived.now")
	if err != nil {
		return nil, err
	}
	defer beside.Close() //nolint:errcheck // nothing is lost with it
	if _, err := b.folder.Write("orders", "nap "+b.plan.Nap.String()); err != nil {
		return nil, err
	}
	begin := time.Now()
	wanting, err := rig.Start(ctx, b.pmcd, func(rig.Line) {}, nil, "pmval", "-t1", fmt.Sprintf("-s%d", length/time.Second), "derived.slow")
	var all []taken
	if err == nil {
		all, err = take(ctx, beside, rig.Every(besideInterval).Until(begin.Add(length)))
	}
	took := time.Since(begin)
	if err := errors.Join(err, os.Remove(b.slow.Orders)); err != nil {
		return nil, err
	}
	if err := wanting.Wait(); err != nil {
		return nil, err
	}
	journal, err := rig.ReadJournal(b.slow.Journal, "nap")
	var naps []nap
	for _, note := range journal {
		naps = append(naps, nap{time.Unix(0, note[0]), time.Unix(0, note[1])})
		b.log.Notef("slow from %v to %v", naps[len(naps)-1].start.Sub(begin), naps[len(naps)-1].end.Sub(begin))
	}
	return b.slowRows(begin, took, naps, all), err
}

// nap is a time during which pmcd waited for the slow agent.
type nap struct{ start, end time.Time }

// disturbs reports whether a fetch was affected.
func (n nap) disturbs(f taken) bool {
	return f.sent.Before(n.end.Add(recovery)) && f.answered.After(n.start)
}

func (b *bench) slowRows(begin time.Time, took time.Duration, naps []nap, all []taken) []rig.Row {
	var outside rig.Durations
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
		if f.ok {
			outside = append(outside, f.age)
		}
		if !f.ok || f.age > later()[1].Most {
			b.log.Notef("at %v: age %v, fetch took %v", f.sent.Sub(begin), f.age, f.answered.Sub(f.sent))
		}
	}
	what := fmt.Sprintf("an operand that takes %v, wanted every second", b.plan.Nap)
	ages := rig.Times(what+": another metric every 100 ms outside those times", outside, later()...)
	ages.Measured += fmt.Sprintf(" of %d", len(outside))
	ages.OK = ages.OK && len(outside) > 0
	complete := allOf(what+": fetches of that with a value", len(outside), fetches)
	complete.Timed = true
	return []rig.Row{standingRow(what, begin, took, naps), ages, complete}
}

// standingRow tells which part of its time pmcd stood still. That an operand is slow is only known when it has
// been asked, so the time begins with the end of the first nap.
func standingRow(what string, begin time.Time, took time.Duration, naps []nap) rig.Row {
	r := rig.Row{
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

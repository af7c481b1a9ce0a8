package soak

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

const (
	// printTime is the longest time from a reply to the end of a tool's line.
	printTime = 5 * time.Millisecond

	// secondFetchAfter is the time from the first fetch to the second one.
	secondFetchAfter = time.Second
)

// ages are the ages of samples, by the kinds of fetches in docs/freshness.md.
type ages struct{ first, second, periodic, irregular rig.Durations }

// measureAges runs a client of each kind while the daemon has nothing else to do. Each kind has its own metric: no
// other client makes the daemon sample it.
func (r *run) measureAges(ctx context.Context) ([]rig.Row, error) {
	machine := rig.WatchMachine()
	ctx, cancel := context.WithTimeout(ctx, r.options.Plan.Ages)
	defer cancel()
	var all ages
	tools := [][]string{{"pmval", "-r", "-t1"}, {"pmval", "-r", "-t0.1"}, {"pmrep", "-ocsv", "-r", "-t2"}}
	shown, problems := make([]rig.Durations, len(tools)), make([]error, len(tools)+2)
	var running sync.WaitGroup
	for i, args := range tools {
		running.Go(func() { shown[i], problems[i] = r.toolAges(ctx, append(args, atName)...) })
	}
	running.Go(func() { all.first, all.second, problems[len(tools)] = r.firstFetchAges(ctx, "phase") })
	pace := rig.Anytime(r.random(), 50*time.Millisecond, 5*time.Second)
	running.Go(func() { all.irregular, problems[len(tools)+1] = r.clientAges(ctx, "both", pace, 0) })
	running.Wait()
	for _, some := range shown {
		all.periodic = append(all.periodic, some[min(2, len(some)):]...) // from the third fetch on
	}
	return all.rows(machine()), errors.Join(problems...)
}

// rows compares the ages with the promises of docs/freshness.md.
func (a *ages) rows(machine rig.Wakes) []rig.Row {
	const ms = time.Millisecond
	row := func(what string, of rig.Durations, limits ...rig.Limit) rig.Row {
		row := rig.Times("age of the sample: "+what, of, limits...)
		row.Measured += fmt.Sprintf(" of %d", len(of))
		row.OK = row.OK && len(of) > 0
		return row
	}
	return []rig.Row{
		row("first fetch", a.first, rig.Limit{Q: 0.5, Most: ms}, rig.Limit{Q: 0.99, Most: 5 * ms}),
		row("second fetch", a.second, rig.Limit{Q: 0.5}, rig.Limit{Q: 1, Most: secondFetchAfter / 2}),
		row("pmval and pmrep, from the third fetch to the printed line", a.periodic,
			rig.Limit{Q: 0.5, Most: 10*ms + printTime}, rig.Limit{Q: 0.99, Most: 50*ms + printTime}),
		row("irregular fetches", a.irregular, rig.Limit{Q: 0.5}, rig.Limit{Q: 1, Most: time.Second}),
		rig.MachineRow("these", machine),
	}
}

// toolAges returns the ages of the values that a tool prints, at the arrival of their lines.
func (r *run) toolAges(ctx context.Context, args ...string) (all rig.Durations, err error) {
	t, err := rig.Start(ctx, r.pmcd, func(l rig.Line) {
		if at, ok := timeShown(l.Text); ok {
			all = append(all, l.At.Sub(time.Unix(0, int64(at))))
		}
	}, nil, args...)
	if err == nil {
		err = t.Wait()
	}
	return all, unlessDone(ctx, err)
}

// firstFetchAges looks a metric up, fetches it twice and disconnects, over and over. It returns the ages of the first
// and of the second fetches.
func (r *run) firstFetchAges(ctx context.Context, track string) (first, second rig.Durations, err error) {
	for err == nil && ctx.Err() == nil {
		var two rig.Durations
		two, err = r.clientAges(ctx, track, func(last time.Time) time.Time { return last.Add(secondFetchAfter) }, 2)
		if len(two) == 2 {
			first, second = append(first, two[0]), append(second, two[1])
		}
	}
	return first, second, err
}

// clientAges returns the ages of the samples of a track that one client fetches: at most most of them; 0: until ctx
// ends.
func (r *run) clientAges(ctx context.Context, track string, pace rig.Pace, most int) (all rig.Durations, err error) {
	t := trackOf(track)
	c, err := rig.Open(ctx, r.pmcd, t.metric(atRole))
	if err != nil {
		return nil, unlessDone(ctx, err)
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	err = c.FetchAt(ctx, pace, func(f rig.Fetched) bool {
		if bits, ok := f.Bits(0); ok {
			at := t.when(bits, uint64(f.Answered.UnixNano()))
			all = append(all, f.Answered.Sub(time.Unix(0, int64(at))))
		}
		return len(all) != most
	})
	return all, unlessDone(ctx, err)
}

// unlessDone returns the error, or nil after the end of ctx. A connection can report the deadline before ctx does.
func unlessDone(ctx context.Context, err error) error {
	deadline, limited := ctx.Deadline()
	if ctx.Err() != nil || limited && !time.Now().Before(deadline) {
		return nil
	}
	return err
}

// timeShown returns the time of day in ns at the end of a line of pmval or pmrep.
func timeShown(text string) (at uint64, ok bool) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) == 0 {
		return 0, false
	}
	at, err := strconv.ParseUint(words[len(words)-1], 10, 64)
	return at, err == nil && at > 1e18 // smaller numbers are those of a heading
}

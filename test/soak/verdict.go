package soak

import (
	"fmt"
	"time"

	"pmdaderived/test/rig"
)

const (
	// mostRequest is how long any request may take.
	mostRequest = 50 * time.Millisecond

	// mostGrowth is how much more memory may be held in the second half than in the first.
	mostGrowth = 0.05
)

// verdict is what has to hold after a run.
func (r *run) verdict(before, after figures, records int) []rig.Row {
	t, p := r.tally, r.options.Plan
	none := func(what string, k kind) rig.Row { return rig.Equal(what, t.problems[k].Load(), 0) }
	missing := none("values missing without a cause", missingValue)
	missing.Timed = true
	return []rig.Row{
		rig.Some("definitions served", int64(before.bound)),
		rig.Some("clients at the same time", int64(p.clients())),
		rig.Some("fetches checked", t.fetches.Load()),
		rig.Some("values checked", t.values.Load()),
		rig.Some("lines of stock tools checked", t.lines.Load()),
		rig.Some("records in pmlogger's archives checked", int64(records)),
		rig.Some("edits served", r.editor.reloads.Load()),
		rig.Equal("operand agent killed", r.weather.count(agentGone), p.Kills+p.Hangups),
		rig.Equal("of these with a SIGHUP to pmcd", r.weather.count(pmcdTold), p.Hangups),
		rig.Equal("pmcd restarted", r.weather.count(pmcdGone), p.Restarts),
		rig.Some("lies of two agents", t.told.Load()),
		rig.Equal("others' values wrong or missing while agents lie", t.misled.Load(), 0),
		none("wrong values", wrongValue),
		missing,
		none("calls that failed without a cause", failedCall),
		none("tools that failed without a cause", failedTool),
		rig.AtMost("daemon dropped by pmcd for a SIGHUP", int64(r.dropped), int64(p.Hangups)),
		rig.AtMost("left so, until the next SIGHUP", int64(r.retold), int64(p.Hangups)),
		rig.Times("longest from a SIGHUP until all is served", rig.Durations{r.back}, rig.Limit{Q: 1, Most: Grace}),
		rig.Equal("complaints in pmcd's log", len(r.complaints), 0),
		rig.Equal("panics in the daemon's log", r.panics, 0),
		rig.Times("worst request", rig.Durations{r.worst}, rig.Limit{Q: 1, Most: mostRequest}),
		rig.MachineRow("the run", r.late),
		r.growth(),
		same("goroutines before and after", before.goroutines, after.goroutines),
		same("descriptors before and after", before.Files, after.Files),
	}
}

func same(what string, before, after int) rig.Row {
	return rig.Row{What: what, Measured: fmt.Sprintf("%d and %d", before, after), Target: "equal", OK: before == after}
}

// growth compares the memory of one process in the two halves of the time that it was watched.
func (r *run) growth() rig.Row {
	const what = "memory, means of the first and the second half"
	var sums, counts [2]float64
	pid := 0
	for _, f := range r.series {
		share := (float64(f.at.Sub(r.tally.begin))/float64(r.options.Plan.Length) - settled) / (halves - settled)
		if share < 0 || share >= 1 {
			continue
		}
		if pid != 0 && f.pid != pid {
			return rig.Row{What: what, Measured: "not of one process", Timed: true}
		}
		pid = f.pid
		half := int(share * 2)
		sums[half] += f.Resident
		counts[half]++
	}
	if counts[0] == 0 || counts[1] == 0 {
		return rig.Row{What: what, Measured: "not measured", Timed: true}
	}
	return memoryRow(what, sums[0]/counts[0], sums[1]/counts[1], mostGrowth)
}

package soak

import (
	"fmt"
	"time"
)

const (
	// mostRequest is how long any request may take.
	mostRequest = 50 * time.Millisecond

	// mostGrowth is how much more memory may be held in the second half than in the first.
	mostGrowth = 0.05
)

// verdict is what has to hold after a run.
func (r *run) verdict(before, after figures, records int) []Row {
	t, p := r.tally, r.options.Plan
	none := func(what string, n int64) Row {
		return Row{What: what, Found: fmt.Sprint(n), Wanted: "0", OK: n == 0}
	}
	some := func(what string, n int64) Row {
		return Row{What: what, Found: fmt.Sprint(n), Wanted: "> 0", OK: n > 0}
	}
	missing := none("values missing without a cause", t.problems[missingValue].Load())
	missing.Timed = true
	rows := []Row{
		some("definitions served", int64(before.bound)),
		some("clients at the same time", int64(p.clients())),
		some("fetches checked", t.fetches.Load()),
		some("values checked", t.values.Load()),
		some("lines of stock tools checked", t.lines.Load()),
		some("records in pmlogger's archives checked", int64(records)),
		some("edits served", r.editor.count()),
		times("operand agent killed", r.weather.count(agentGone), p.Kills+p.Hangups),
		times("of these with a SIGHUP to pmcd", r.weather.count(pmcdTold), p.Hangups),
		times("pmcd restarted", r.weather.count(pmcdGone), p.Restarts),
		none("wrong values", t.problems[wrongValue].Load()),
		missing,
		none("calls that failed without a cause", t.problems[failedCall].Load()),
		none("tools that failed without a cause", t.problems[failedTool].Load()),
		{
			What: "daemon dropped by pmcd for a SIGHUP", Found: fmt.Sprint(r.dropped), Wanted: fmt.Sprintf("≤ %d", p.Hangups),
			OK: r.dropped <= p.Hangups,
		},
		{
			What: "left so, until the next SIGHUP", Found: fmt.Sprint(r.retold), Wanted: fmt.Sprintf("≤ %d", p.Hangups),
			OK: r.retold <= p.Hangups,
		},
		{
			What: "longest from a SIGHUP until all is served", Found: fmt.Sprintf("%.2f s", r.back.Seconds()),
			Wanted: fmt.Sprintf("≤ %.0f s", Grace.Seconds()), OK: r.back <= Grace, Timed: true,
		},
		none("complaints in pmcd's log", int64(len(r.complaints))),
		none("panics in the daemon's log", int64(r.panics)),
		{
			What: "worst request", Found: fmt.Sprintf("%.1f ms", r.worst.Seconds()*1e3), Wanted: fmt.Sprintf("≤ %d ms", mostRequest.Milliseconds()),
			OK: r.worst <= mostRequest, Timed: true,
		},
		r.busy(),
		r.held(),
		r.growth(),
		same("goroutines before and after", before.goroutines, after.goroutines),
		same("descriptors before and after", before.files, after.files),
	}
	return rows
}

func times(what string, n, wanted int) Row {
	return Row{What: what, Found: fmt.Sprint(n), Wanted: fmt.Sprint(wanted), OK: n == wanted}
}

func same(what string, before, after int) Row {
	return Row{What: what, Found: fmt.Sprintf("%d and %d", before, after), Wanted: "equal", OK: before == after}
}

// busy tells how busy the machine was: what a process waits for a processor is part of how long its requests take.
func (r *run) busy() Row {
	row := Row{What: "the last process ran, and waited for a processor", Found: "not measured", Wanted: "to judge the times by", OK: true}
	if n := len(r.series); n > 0 {
		row.Found = fmt.Sprintf("%.1f and %.1f s", r.series[n-1].ran.Seconds(), r.series[n-1].waited.Seconds())
	}
	return row
}

// held tells the same of the time, a second or so, in which the worst of all requests fell.
func (r *run) held() Row {
	row := Row{What: "the same while it had the worst request", Found: "not measured", Wanted: "to judge the times by", OK: true}
	var worst time.Duration
	for i := 1; i < len(r.series); i++ {
		before, f := r.series[i-1], r.series[i]
		if f.pid == before.pid && f.longest > before.longest && f.longest > worst {
			worst = f.longest
			row.Found = fmt.Sprintf("%.0f and %.0f ms at %.0f s",
				(f.ran-before.ran).Seconds()*1e3, (f.waited-before.waited).Seconds()*1e3, f.at.Sub(r.tally.begin).Seconds())
		}
	}
	return row
}

// growth compares the memory of one process in the two halves of the time that it was watched.
func (r *run) growth() Row {
	row := Row{What: "memory, means of the first and the second half", Wanted: fmt.Sprintf("within %.0f %%", mostGrowth*100), Timed: true}
	length := float64(r.options.Plan.Length)
	var sums [2]float64
	var counts [2]int
	pid := 0
	for _, f := range r.series {
		share := (float64(f.at.Sub(r.tally.begin))/length - settled) / (halves - settled)
		if share < 0 || share >= 1 {
			continue
		}
		if pid != 0 && f.pid != pid {
			row.Found = "not of one process"
			return row
		}
		pid = f.pid
		half := int(share * 2)
		sums[half] += megabytes(f.resident)
		counts[half]++
	}
	if counts[0] == 0 || counts[1] == 0 {
		row.Found = "not measured"
		return row
	}
	first, second := sums[0]/float64(counts[0]), sums[1]/float64(counts[1])
	grown := second/first - 1
	row.Found = fmt.Sprintf("%.1f and %.1f MB, %+.1f %%", first, second, grown*100)
	row.OK = grown <= mostGrowth
	return row
}

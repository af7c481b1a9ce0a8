package soak

import (
	"fmt"
	"strings"
	"time"

	"pmdaderived/test/rig"
)

const (
	// maxRequest limits the time of any request, while the machine wakes sleepers in time.
	maxRequest = 50 * time.Millisecond

	// machineLate is the least delay of a sleeper that explains a slow request.
	machineLate = maxRequest / 2

	// machineStopped is the least delay of a sleeper that explains samples too old to be served: they may be 1 s old.
	machineStopped = 250 * time.Millisecond

	// maxLate limits how old most samples of a client are that comes while another one floods the daemon. Without a
	// sample of its own it has that of the fetch before, which is 2 s old.
	maxLate = 500 * time.Millisecond

	// maxGrowth is the share by which memory may grow from the first third of the time to the last one.
	maxGrowth = 0.05

	// warming is the share of the watched time in which a process comes to hold all that its clients need.
	warming = 0.25
)

// rows returns the rows of a run.
func (r *run) rows(before, after figures, records int) []rig.Row {
	t, p := r.tally, r.options.Plan
	none := func(what string, k kind) rig.Row { return rig.Equal(what, t.problems[k].Load(), 0) }
	missing, excused, misled := r.missing()
	return []rig.Row{
		rig.Some("definitions served", int64(before.bound)),
		rig.Some("clients at the same time", int64(p.clients())),
		rig.Some("fetches checked", t.fetches.Load()),
		rig.Some("values checked", t.values.Load()),
		rig.Some("lines of stock tools checked", t.lines.Load()),
		rig.Some("records in pmlogger's archives checked", int64(records)),
		p.windowsRow(t.stillWindows.Load(), t.shownWindows.Load(), t.recordedWindows.Load()),
		rig.Some("windows over an agent whose values are stuck, found wrong", r.deceptions.problems[wrongValue].Load()),
		r.faultsRow(),
		r.unsureRow(),
		rig.Some("edits served", r.editor.reloads.Load()),
		rig.Equal("operand agent killed", r.disturbances.count(agentGone), p.Kills+p.Hangups),
		rig.Equal("of these with a SIGHUP to pmcd", r.disturbances.count(pmcdSIGHUP), p.Hangups),
		rig.Equal("pmcd restarted", r.disturbances.count(pmcdGone), p.Restarts),
		r.lies.row(t.liesTold.Load(), p),
		rig.Some("fetches of a client that floods", t.floods.Load()),
		rig.Some("look-ups of connections that never fetch", t.lookUps.Load()),
		rig.Times("age of the sample: clients that come while another one fetches 4,000 lists each 4 s", r.late,
			rig.Limit{Q: 0.5, Most: maxLate}),
		rig.Equal("others' values wrong or missing while agents lie", t.misled.Load()+misled, 0),
		none("wrong values", wrongValue),
		{
			What:     "values missing without a cause, and those while the machine stood still",
			Measured: fmt.Sprintf("%d and %d", missing, excused), Target: "0 and any", OK: missing == 0, Timed: true,
		},
		none("calls that failed without a cause", failedCall),
		none("tools that failed without a cause", failedTool),
		rig.AtMost("daemon dropped by pmcd for a SIGHUP", int64(r.dropped), int64(p.Hangups)),
		rig.AtMost("left so, until the next SIGHUP", int64(r.signalledAgain), int64(p.Hangups)),
		rig.Times("longest from a SIGHUP until all is served", rig.Durations{r.longestReturn}, rig.Limit{Q: 1, Most: Grace}),
		rig.Equal("complaints in pmcd's log", len(r.complaints), 0),
		rig.Equal("panics in the daemon's log", r.panics, 0),
		rig.Times("worst request", rig.Durations{r.longestRequest}, rig.Limit{Q: 1}),
		r.slowness(),
		rig.MachineRow("the run", r.wakes),
		r.growth(),
		same("goroutines before and after", before.goroutines, after.goroutines),
		same("descriptors before and after", before.Files, after.Files),
	}
}

// windowsRow returns the row about windows since the last fetch. In a short run disturbances leave no time for them.
func (p Plan) windowsRow(still, shown, recorded int64) rig.Row {
	row := rig.Row{
		What:     "windows since the last fetch of a client that stands still, of pmrep, of pmlogger",
		Measured: fmt.Sprintf("%d, %d and %d", still, shown, recorded), Target: "any", OK: true,
	}
	if p.Length >= time.Minute {
		row.Target, row.OK = "each > 0", min(still, shown, recorded) > 0
	}
	return row
}

// faultsRow returns the row about definitions with faults of earlier versions. Exchanged numbers need a time without
// disturbances.
func (r *run) faultsRow() rig.Row {
	var found []string
	for _, c := range r.misled {
		if c.tally.problems[wrongValue].Load() > 0 {
			found = append(found, c.list[len(c.list)-1].metric.form.name)
		}
	}
	row := rig.Row{What: "definitions with faults of earlier versions, found wrong", Target: "any", OK: true}
	row.Measured = fmt.Sprintf("%d of %d: %s", len(found), len(r.misled), strings.Join(found, ", "))
	if r.options.Plan.reachesAll() {
		row.Target, row.OK = "all", len(found) == len(r.misled)
	}
	return row
}

// unsureRow returns the row about values that are missing as long as labels are refused, names are not known, or ticks
// are gaps.
func (r *run) unsureRow() rig.Row {
	row := rig.Row{What: "values missing while labels are refused, names not known, or ticks gaps", Target: "any", OK: true}
	row.Measured = fmt.Sprint(r.tally.unsure.Load())
	if r.options.Plan.reachesAll() {
		row.Target, row.OK = "> 0", r.tally.unsure.Load() > 0
	}
	return row
}

// reachesAll reports whether there is time for exchanged numbers and refused labels without a disturbance.
func (p Plan) reachesAll() bool {
	return p.Length >= 3*time.Minute || p.Length >= time.Minute && p.Kills+p.Hangups+p.Restarts == 0
}

func same(what string, before, after int) rig.Row {
	return rig.Row{What: what, Measured: fmt.Sprintf("%d and %d", before, after), Target: "equal", OK: before == after}
}

// slowRequests are requests between two readings that took longer than maxRequest.
type slowRequests struct {
	from, to time.Time
	most     time.Duration // longest possible time of one of them
	count    uint64
}

// addRequests adds the requests since the reading before, or since the start of another process.
func (r *run) addRequests(f figures) {
	before := r.latest
	if before.pid != f.pid {
		before.requests = rig.Histogram{}
	}
	if before.at.IsZero() {
		before.at = r.tally.begin
	}
	r.latest, r.longestRequest = f, max(r.longestRequest, f.longest)
	since := f.requests.Since(before.requests)
	for i, n := range since.Counts {
		if n > 0 && since.Bounds[i] > maxRequest {
			r.slow = append(r.slow, slowRequests{before.at, f.at, min(since.Bounds[i], f.longest), n})
		}
	}
}

// causedByMachine reports whether the machine explains the time of the requests: at about that time a sleeper woke
// about as much too late.
func (s slowRequests) causedByMachine(machine rig.Wakes) bool {
	late := machine.Latest(s.from.Add(-s.most), s.to)
	return late >= machineLate && s.most-late <= maxRequest
}

// slowness returns the row about slow requests.
func (r *run) slowness() rig.Row {
	var slow, delayed uint64
	for _, s := range r.slow {
		if s.causedByMachine(r.wakes) {
			delayed += s.count
		} else {
			slow += s.count
		}
	}
	return rig.Row{
		What:     fmt.Sprintf("requests of more than %v, and those while the machine was late", maxRequest),
		Measured: fmt.Sprintf("%d and %d", slow, delayed), Target: "0 and any", OK: slow == 0, Timed: true,
	}
}

// missing returns the number of values that were missing without a cause; of those that the machine explains, as a
// sleeper woke too late at that time or less than Grace before; and of the first, those while an agent lied.
func (r *run) missing() (unexplained, excused, misled int64) {
	for _, g := range r.tally.gaps {
		if r.wakes.Latest(g.at.Add(-Grace), g.at) >= machineStopped {
			excused += g.values
			continue
		}
		unexplained += g.values
		misled += g.misled
	}
	return unexplained, excused, misled
}

// growth compares the memory of one process in the first and the last third of the time that it was watched. It
// compares medians: garbage comes and goes, and the least reading is low only for a moment.
func (r *run) growth() rig.Row {
	const what = "memory of one process, medians of the first and of the last third"
	missed := func(why string) rig.Row { return rig.Row{What: what, Measured: why, Timed: true} }
	at := func(share float64) time.Time {
		return r.tally.begin.Add(time.Duration(share * float64(r.options.Plan.Length)))
	}
	begin, end, pid := time.Time{}, at(watchUntil), 0
	for _, f := range r.series {
		switch {
		case !f.at.Before(end):
		case f.pid == pid:
		case pid != 0 && !f.at.Before(at(watchFrom)):
			return missed("not of one process")
		default:
			begin, pid = f.at, f.pid
		}
	}
	watched := end.Sub(begin)
	var first, last []float64
	for _, f := range r.series {
		share := (float64(f.at.Sub(begin))/float64(watched) - warming) / (1 - warming)
		switch {
		case share >= 0 && share < 1./3:
			first = append(first, f.Resident)
		case share >= 2./3 && share < 1:
			last = append(last, f.Resident)
		}
	}
	if len(first) == 0 || len(last) == 0 {
		return missed("not measured")
	}
	return memoryRow(what, rig.Median(first), rig.Median(last), maxGrowth)
}

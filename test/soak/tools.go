package soak

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/test/rig"
)

// maxLineAge limits the age of a value that a tool prints, at the arrival of its line.
const maxLineAge = 15 * time.Second

// tool is a stock program that runs as a client. It is started again when it has ended.
type tool struct {
	*shared
	args  []string
	ends  bool                     // it ends by itself
	pause time.Duration            // before it is started again
	line  func(text string) string // what is wrong with a line; "": nothing

	starts int
}

// startMark stands for the number of starts in an argument.
const startMark = "@"

// run runs the tool again and again until ctx ends.
func (t *tool) run(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		err := t.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil && !t.ends {
			err = errors.New("it ended")
		}
		switch {
		case err == nil:
		case t.disturbances.affect(begin, time.Now(), pmcdGone, agentGone, pmcdSIGHUP):
			t.tally.excused.Add(1)
		default:
			t.tally.addProblem(failedTool, "%v", err)
		}
		rig.Sleep(ctx, t.pause)
	}
}

func (t *tool) once(ctx context.Context) error {
	t.starts++
	args := slices.Clone(t.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], startMark, strconv.Itoa(t.starts))
	}
	running, err := rig.Start(ctx, t.pmcd, func(l rig.Line) {
		t.tally.lines.Add(1)
		if problem := t.line(l.Text); problem != "" {
			t.tally.addProblem(wrongValue, "%s: %s: %s", t.args[0], problem, l.Text)
		}
	}, nil, args...)
	if err != nil {
		return err
	}
	return running.Wait()
}

// phaseName is the metric that tools print beside metrics of the same track.
const phaseName = "derived.track.phase.at"

// exact returns definitions of that track whose values tools print without rounding, and the names of what tools
// print: phaseName, these definitions, and windows.
func (m *model) exact() (all []*metric, names []string) {
	names = []string{phaseName}
	for i := range m.metrics {
		if x := &m.metrics[i]; x.form.track == "phase" && len(all) < 4 {
			all, names = append(all, x), append(names, x.name)
		}
	}
	for _, c := range windows() {
		names = append(names, c.name)
	}
	return all, names
}

// csvLine checks a line of pmrep: a time, the value of phaseName, those of the metrics, and others. records counts the
// lines with values.
func csvLine(metrics []*metric, records *int) func(string) string {
	return func(text string) string {
		cells := strings.Split(text, ",")
		if len(cells) < 2+len(metrics) || cells[1] == "" || strings.HasPrefix(text, "Time") {
			return ""
		}
		at, err := strconv.ParseUint(cells[1], 10, 64)
		if err != nil {
			return err.Error()
		}
		*records++
		for i, x := range metrics {
			if cells[2+i] == "" {
				continue
			}
			got, err := strconv.ParseFloat(cells[2+i], 64)
			if err != nil {
				return err.Error()
			}
			if problem := x.problem(moment{at: at * 1000}, pdu.TypeDouble,
				[]pdu.Value{pdu.DoubleValue(pdu.NoInst, got)}); problem != "" {
				return x.name + ": " + problem
			}
		}
		return ""
	}
}

// windowLine checks the last cells of a line of pmrep, windows since the last fetch, as those of a client. The heading,
// and a fetch without values, begin another client.
func (s *shared) windowLine(who string, counted *atomic.Int64) func(string) {
	list := windows()
	j := newJudge(s, who, list, counted)
	return func(text string) {
		cells := strings.Split(text, ",")
		at, err := time.Parse(time.DateTime, cells[0])
		if err != nil || len(cells) <= len(list) || cells[len(cells)-len(list)+1] == "" {
			j = newJudge(s, who, list, counted)
			return
		}
		cells = cells[len(cells)-len(list):]
		sets := make([]pdu.ValueSet, len(list))
		for i, cell := range cells {
			number, err := strconv.ParseFloat(cell, 64)
			value := pdu.DoubleValue(pdu.NoInst, number)
			if whole, noInteger := strconv.ParseUint(cell, 10, 64); noInteger == nil && list[i].role != sumRole {
				value = pdu.Uint64Value(pdu.NoInst, whole)
			}
			if err == nil {
				sets[i].Values = []pdu.Value{value}
			}
		}
		at = at.Add(time.Second) // of which the line has not told how much has passed
		j.check(rig.Fetched{Sent: at, Answered: at, Sets: sets})
	}
}

// shownLine checks a line of pmrep as csvLine and windowLine do.
func (s *shared) shownLine(who string, metrics []*metric, records *int, counted *atomic.Int64) func(string) string {
	exact, windows := csvLine(metrics, records), s.windowLine(who, counted)
	return func(text string) string {
		windows(text)
		return exact(text)
	}
}

// risingLine checks a line of pmval for derived.at: it never goes back, and is not older than maxLineAge.
func risingLine() func(string) string {
	var last uint64
	return func(text string) string {
		at, ok := timeShown(text)
		if !ok {
			return ""
		}
		if age := time.Since(time.Unix(0, int64(at))); age < 0 || age > maxLineAge {
			return fmt.Sprintf("it is %v old", age)
		}
		if at < last {
			return fmt.Sprintf("it comes after %d", last)
		}
		last = at
		return ""
	}
}

// memberLine checks a line of pminfo for a metric of the form member: all instances are of one moment.
func memberLine(x *metric) func(string) string {
	first := 0.0
	return func(text string) string {
		var inst int
		var name string
		var value float64
		if _, err := fmt.Sscanf(strings.TrimSpace(text), "inst [%d or %s value %g", &inst, &name, &value); err != nil {
			return ""
		}
		if inst == 0 {
			first = value
		}
		if want := first + float64(1000*inst*x.k); !equal(value, want, false) {
			return fmt.Sprintf("want %v", want)
		}
		return ""
	}
}

// tools returns the stock programs of a run.
func (r *run) tools() (all []*tool, err error) {
	exact, names := r.model.exact()
	add := func(ends bool, pause time.Duration, line func(string) string, args ...string) {
		all = append(all, &tool{shared: r.shared, args: args, ends: ends, pause: pause, line: line})
	}
	member := &r.model.metrics[slices.IndexFunc(r.model.metrics, func(x metric) bool { return x.form.name == "member" })]
	for i := range r.options.Plan.Tools {
		add(true, time.Duration(i+1)*400*time.Millisecond, memberLine(member), "pminfo", "-f", member.name)
		add(false, redial, risingLine(), "pmval", "-r", "-t", fmt.Sprint(0.3*float64(i+1)), atName)
		add(false, redial, r.shownLine("pmrep", exact, new(int), &r.tally.shownWindows),
			append([]string{"pmrep", "-ocsv", "-r", "-t", fmt.Sprint(i + 1)}, names...)...)
		config, err := r.folder.Write(fmt.Sprintf("logger%d.conf", i),
			fmt.Sprintf("log mandatory on %d sec { %s %s derived.surge }\n", i+2, strings.Join(names, " "), atName))
		if err != nil {
			return nil, err
		}
		archive := r.folder.Path(fmt.Sprintf("archive%d-%s", i, startMark)) // another one at each start
		add(false, redial, func(string) string { return "" }, "pmlogger", "-c", config, "-l", archive+".log", archive)
	}
	logger, err := r.birthLogger()
	return append(all, logger), err
}

// archives checks the archives of the pmloggers, and returns the number of their records.
func (r *run) archives(ctx context.Context) (records int) {
	exact, names := r.model.exact()
	archives, err := filepath.Glob(r.folder.Path("archive*.meta"))
	if err != nil {
		r.tally.addProblem(failedTool, "%v", err)
	}
	for _, archive := range archives {
		line := r.shownLine("pmlogger", exact, &records, &r.tally.recordedWindows)
		t := &tool{shared: r.shared, line: line, args: append([]string{
			"pmrep", "-a", strings.TrimSuffix(archive, ".meta"), "-u", "-ocsv", "-r",
		}, names...)}
		switch err := t.once(ctx); {
		case err == nil:
		case strings.Contains(err.Error(), "PM_ERR_NAME"): // its pmlogger was started while there were no metrics
			r.tally.excused.Add(1)
		default:
			r.tally.addProblem(failedTool, "pmrep of an archive: %v", err)
		}
	}
	return records
}

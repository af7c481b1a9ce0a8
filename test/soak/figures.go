package soak

import (
	"context"
	"time"

	"pmdaderived/test/rig"
)

// figures are measurements of the daemon, by itself (mmv.pmdaderived, derived.control) and by the kernel.
type figures struct {
	rig.Process
	at            time.Time
	pid           int
	heap          float64 // bytes
	goroutines    int
	bound, failed int
	contexts      int // with a history
	longest       time.Duration
	requests      rig.Histogram // by their duration
}

// figures reads them from pmcd. Those of mmv are mmvAge old at most.
func (s *shared) figures(ctx context.Context) (f figures, err error) {
	const mmv, control = "mmv.pmdaderived.", "derived.control."
	read, err := rig.ReadFigures(ctx, s.pmcd, mmv+"pid", mmv+"goroutines", mmv+"memory.heap", control+"bound",
		control+"failed",
		control+"contexts", control+"request_longest", control+"request_time")
	if err != nil {
		return f, err
	}
	number := func(name string) int { return int(read.Numbers[name]) }
	f = figures{
		at: read.At, pid: number(mmv + "pid"), heap: read.Numbers[mmv+"memory.heap"], goroutines: number(mmv + "goroutines"),
		bound: number(control + "bound"), failed: number(control + "failed"), contexts: number(control + "contexts"),
		longest:  time.Duration(read.Numbers[control+"request_longest"] * 1e6),
		requests: read.Histograms[control+"request_time"],
	}
	f.Process, err = rig.ReadProcess(f.pid)
	return f, err
}

// heading is the line above the lines of tellInterval.
const heading = "   time    fetches     values  wrong missing  calls tools excused reloads" +
	"  memory    heap goroutines threads files contexts  worst ms"

func (r *run) tellInterval(f figures) {
	t := r.tally
	t.logf("%7.0f %10d %10d %6d %7d %6d %5d %7d %7d %5.1f M %5.1f M %10d %7d %5d %8d %9.1f",
		time.Since(t.begin).Seconds(), t.fetches.Load(), t.values.Load(),
		t.problems[wrongValue].Load(), t.problems[missingValue].Load(),
		t.problems[failedCall].Load(), t.problems[failedTool].Load(), t.excused.Load(), r.editor.reloads.Load(),
		f.Resident/1e6, f.heap/1e6, f.goroutines, f.Threads, f.Files, f.contexts, f.longest.Seconds()*1e3)
}

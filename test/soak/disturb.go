package soak

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"pmdaderived/test/pmcdtest"
)

const (
	// down is how long wave is dead before pmcd is told to start it again.
	down = time.Second

	// soon is how soon what has been started must be there.
	soon = 15 * time.Second

	waveName = "soak-wave" // the program; 15 bytes at most
)

// event is something that happens to the run.
type event struct {
	share float64 // of the length of the run
	what  func(context.Context) error
}

// events are in order. pmcd is restarted at the begin and at the end, so that in between one process can
// be seen to need no more memory than before.
func (r *run) events() []event {
	var all []event
	p := r.options.Plan
	for i := range p.Restarts {
		share := settled * float64(i+1) / float64(p.Restarts+1)
		if i == p.Restarts-1 && i > 0 {
			share = (1 + halves) / 2
		}
		all = append(all, event{share, r.restart})
	}
	for i := range p.Kills {
		all = append(all, event{settled/2 + (halves-settled/2)*(float64(i)+0.5)/float64(p.Kills), r.killAgent})
	}
	slices.SortFunc(all, func(a, b event) int {
		if a.share < b.share {
			return -1
		}
		return 1
	})
	return all
}

// disturb goes through the events until ctx ends. What is begun is ended.
func (r *run) disturb(ctx context.Context) {
	for _, e := range r.events() {
		at := r.begin.Add(time.Duration(e.share * float64(r.options.Plan.Length)))
		if !sleep(ctx, time.Until(at)) {
			return
		}
		if err := e.what(context.WithoutCancel(ctx)); err != nil && ctx.Err() == nil {
			r.tally.problem(failedCall, "%v", err)
		}
	}
}

// restart ends pmcd in the regular way and starts it again.
func (r *run) restart(ctx context.Context) error {
	resume, err := r.editor.calm(ctx)
	defer resume()
	if err != nil {
		return err
	}
	r.tally.tell("pmcd is restarted")
	gone := r.weather.begins(pmcdGone)
	defer gone()
	if err := r.pmcd.Stop(); err != nil {
		return err
	}
	r.keepLog()
	return r.pmcd.Restart()
}

// killAgent ends wave as a crash would, and has pmcd start it again.
func (r *run) killAgent(ctx context.Context) error {
	resume, err := r.editor.calm(ctx)
	defer resume()
	if err != nil {
		return err
	}
	told := r.weather.begins(pmcdTold)
	defer told()
	pid, ok := r.wavePid()
	if !ok {
		return fmt.Errorf("%s does not run", waveName)
	}
	r.tally.tell("%s is killed", waveName)
	gone := r.weather.begins(agentGone)
	defer gone()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	sleep(ctx, down)
	if err := r.pmcd.Signal(syscall.SIGHUP); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < soon; sleep(ctx, 10*time.Millisecond) {
		if now, ok := r.wavePid(); ok && now != pid {
			return nil
		}
	}
	return fmt.Errorf("%s is not started again", waveName)
}

// wavePid may be called only by who restarts pmcd.
func (r *run) wavePid() (pid int, ok bool) {
	all := r.pmcd.Processes()
	i := slices.IndexFunc(all, func(p pmcdtest.Process) bool { return p.Name == waveName })
	if i < 0 {
		return 0, false
	}
	return all[i].Pid, true
}

// keepLog takes the complaints out of pmcd's log, which its next start empties.
func (r *run) keepLog() {
	text, err := os.ReadFile(r.pmcd.LogFile)
	if err != nil {
		r.tally.problem(failedCall, "%v", err)
	}
	dropped := droppedWhenTold()
	r.dropped += len(dropped.FindAllIndex(text, -1))
	r.complaints = append(r.complaints, complaints(string(dropped.ReplaceAll(text, nil)))...)
	if own, err := os.ReadFile(r.pmcd.LogFile[:len(r.pmcd.LogFile)-len("pmcd.log")] + "derived.log"); err == nil {
		r.panics += strings.Count(string(own), "panic")
	}
}

// droppedWhenTold matches how pmcd drops the daemon beside a kill of another agent or a SIGHUP.
func droppedWhenTold() *regexp.Regexp {
	return regexp.MustCompile(`Cleanup "derived" agent \(dom 510\): protocol failure for fd=\d+\n`)
}

// complaints are the lines of pmcd's log about what agents and clients did wrong, except about wave, which we kill,
// and about agents that ended when they were told to.
func complaints(log string) (found []string) {
	about := regexp.MustCompile(`(?i)error|warning|protocol|time-?d? ?out|cleanup|ipc|unexpected|illegal|refus|bad|broken|reset`)
	not := regexp.MustCompile(`wave|active agent dom|client connection from|CleanupAgent \.\.\.|terminated, exit\(0\)`)
	for line := range strings.Lines(log) {
		if about.MatchString(line) && !not.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

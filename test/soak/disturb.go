package soak

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/test/pmcdtest"
)

const (
	// down is how long wave is dead before pmcd is told to start it again.
	down = time.Second

	// patient is how long pmcd lets pass before it starts agents again by itself once more.
	patient = 61 * time.Second

	// soon is how soon what has been started must be there.
	soon = 15 * time.Second

	// left is after how long pmcd is told again to start the daemon: it may drop it only when it has done so with others.
	left = 300 * time.Millisecond

	waveName   = "soak-wave" // the program; 15 bytes at most
	daemonName = "pmdaderived"
)

// event is something that happens to the run.
type event struct {
	share float64 // of the length of the run
	what  func(context.Context) error
}

// events are in order. What may give the daemon another process is at the begin and at the end, so that in
// between one process can be seen to need no more memory than before.
func (r *run) events() []event {
	var all []event
	p := r.options.Plan
	slots := max(p.Restarts, p.Hangups-1) + 1
	early := func(i int, shift float64) float64 { return settled * (float64(i) + shift) / float64(slots) }
	for i := range p.Restarts {
		share := early(i, 1)
		if i == p.Restarts-1 && i > 0 {
			share = (1 + halves) / 2
		}
		all = append(all, event{share, r.restart})
	}
	for i := range p.Hangups {
		share := early(i, 0.5)
		if i == p.Hangups-1 {
			share = (1 + 3*halves) / 4
		}
		all = append(all, event{share, r.killAndTell})
	}
	for i := range p.Kills {
		all = append(all, event{settled + (halves-settled)*(float64(i)+0.5)/float64(p.Kills), r.kill})
	}
	slices.SortFunc(all, func(a, b event) int { return cmp.Compare(a.share, b.share) })
	return all
}

// disturb goes through the events until ctx ends. What is begun is ended.
func (r *run) disturb(ctx context.Context) {
	for _, e := range r.events() {
		at := r.tally.begin.Add(time.Duration(e.share * float64(r.options.Plan.Length)))
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
	before, err := r.drops()
	if err != nil {
		return err
	}
	if err := r.pmcd.Stop(); err != nil {
		return err
	}
	after, err := r.drops() // SIGTERM interrupts pmcd as SIGHUP does
	if err != nil {
		return err
	}
	r.excused += after - before
	r.keepLog()
	r.revivals, r.revived = 0, time.Time{}
	return r.pmcd.Restart()
}

// kill ends wave as a crash would, and pmcd starts it again when it notices.
func (r *run) kill(ctx context.Context) error {
	for {
		if err := r.noteRevivals(); err != nil {
			return err
		}
		if time.Since(r.revived) >= patient {
			break
		}
		sleep(ctx, time.Second)
	}
	return r.killed(ctx, func() error { return nil })
}

// killAndTell ends wave, and has pmcd start it again with a SIGHUP.
func (r *run) killAndTell(ctx context.Context) error {
	resume, err := r.editor.calm(ctx)
	defer resume()
	if err != nil {
		return err
	}
	told := r.weather.begins(pmcdTold)
	defer told()
	var at time.Time
	err = r.killed(ctx, func() error {
		sleep(ctx, down)
		at = time.Now()
		return r.pmcd.Signal(syscall.SIGHUP)
	})
	if err != nil {
		return err
	}
	if err := r.served(ctx); err != nil {
		return err
	}
	r.back = max(r.back, time.Since(at))
	n, err := r.drops()
	if n > r.excused {
		r.keepOwnLog("derived.log.prev")
	}
	r.dropped += n - r.excused
	r.excused = n
	return err
}

// drops is how often pmcd has dropped the daemon since it was started.
func (r *run) drops() (int, error) {
	text, err := os.ReadFile(r.pmcd.LogFile)
	return len(dropLine().FindAllIndex(text, -1)), err
}

// killed kills wave and waits until there is another one.
func (r *run) killed(ctx context.Context, then func() error) error {
	pid, ok := r.pid(waveName)
	if !ok {
		return fmt.Errorf("%s does not run", waveName)
	}
	r.tally.tell("%s is killed", waveName)
	gone := r.weather.begins(agentGone)
	defer gone()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := then(); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < soon; sleep(ctx, 10*time.Millisecond) {
		if now, ok := r.pid(waveName); ok && now != pid {
			return r.noteRevivals()
		}
	}
	return fmt.Errorf("%s is not started again", waveName)
}

// noteRevivals notes when pmcd last looked by itself whether agents must be started again, by its log. It does that, too,
// a minute after a drop that a SIGHUP has repaired.
func (r *run) noteRevivals() error {
	text, err := os.ReadFile(r.pmcd.LogFile)
	if n := bytes.Count(text, []byte("Auto-restarting agents")); n != r.revivals {
		r.revivals, r.revived = n, time.Now()
	}
	return err
}

// served waits until the value of an operand is served. As an administrator would, it tells pmcd again to start the
// daemon if pmcd leaves it so.
func (r *run) served(ctx context.Context) error {
	var err error
	var gone time.Time
	for begin := time.Now(); time.Since(begin) < soon; sleep(ctx, 10*time.Millisecond) {
		if err = r.probe(ctx); err == nil {
			return nil
		}
		switch _, runs := r.pid(daemonName); {
		case runs:
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > left:
			gone = time.Time{}
			r.retold++
			if err := r.pmcd.Signal(syscall.SIGHUP); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("not served: %w", err)
}

// probe is nil if it is.
func (r *run) probe(ctx context.Context) error {
	conn, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	found, err := conn.LookupNames(ctx, []string{atName})
	if err != nil {
		return err
	}
	res, err := conn.Fetch(ctx, []pdu.PMID{found[0].PMID})
	switch {
	case err != nil:
		return err
	case len(res.Sets) != 1 || len(res.Sets[0].Values) != 1:
		return fmt.Errorf("no value of %s: %v", atName, res.Sets)
	}
	return nil
}

// pid is the process of a program that pmcd has started. It may be called only by who restarts pmcd.
func (r *run) pid(program string) (pid int, ok bool) {
	all := r.pmcd.Processes()
	i := slices.IndexFunc(all, func(p pmcdtest.Process) bool { return p.Name == program })
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
	for range r.excused {
		if at := dropLine().FindIndex(text); at != nil {
			text = slices.Delete(text, at[0], at[1])
		}
	}
	r.excused = 0
	r.complaints = append(r.complaints, complaints(string(text))...)
	r.keepOwnLog("derived.log")
}

// keepOwnLog takes out of a log of the daemon what is to be told. One that is started anew keeps the log before as derived.log.prev.
func (r *run) keepOwnLog(name string) {
	if own, err := os.ReadFile(filepath.Join(filepath.Dir(r.pmcd.LogFile), name)); err == nil {
		r.panics += strings.Count(string(own), "panic")
		r.warnings = append(r.warnings, warnings(string(own))...)
	}
}

// warnings are the lines of the daemon's log about what it is not content with, except definitions: many edits are mistakes.
func warnings(log string) (found []string) {
	about := regexp.MustCompile(` level=(warning|error) `)
	not := regexp.MustCompile(`derived metric | metric=`)
	for line := range strings.Lines(log) {
		if about.MatchString(line) && !not.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// dropLine matches how pmcd says that it has dropped the daemon, which may have ended by then: docs/reliability.md has the reason.
func dropLine() *regexp.Regexp {
	return regexp.MustCompile(`Cleanup "derived" agent \(dom 510\): protocol failure for fd=\d+(, exit\(0\))?\n`)
}

// complaints are the lines of pmcd's log about what agents and clients did wrong, except about wave, which we kill,
// about agents that ended when they were told to, and about a host that does not know its own name.
func complaints(log string) (found []string) {
	about := regexp.MustCompile(`(?i)error|warning|protocol|time-?d? ?out|cleanup|ipc|unexpected|illegal|refus|bad|broken|reset`)
	not := regexp.MustCompile(`wave|active agent dom|client connection from|__pmGetAddrInfo|CleanupAgent \.\.\.|terminated, exit\(0\)`)
	for line := range strings.Lines(log) {
		if about.MatchString(line) && !not.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

package soak

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"pmdaderived/test/rig"
)

const (
	// deadTime is the time between a kill of wave and the SIGHUP that makes pmcd start it again.
	deadTime = time.Second

	// autoRestartInterval is the least time between two automatic restarts of agents by pmcd.
	autoRestartInterval = 61 * time.Second

	// restartLimit is the longest time until a process that was started again serves.
	restartLimit = 15 * time.Second

	// signalAgainAfter is the time without a daemon after which pmcd gets another SIGHUP: pmcd may have dropped the daemon
	// after it had started the other agents.
	signalAgainAfter = 300 * time.Millisecond

	// ownConnections is the number of connections of the daemon to pmcd.
	ownConnections = 6

	waveName   = "wave"
	daemonName = "pmdaderived"
)

// event is a disturbance of the run.
type event struct {
	share float64 // of the length of the run
	do    func(context.Context) error
}

// events returns the disturbances in order. Those that may end the daemon's process are at the begin and at the end: in
// between, the memory of one process is compared.
func (r *run) events() []event {
	var all []event
	p := r.options.Plan
	slots := max(p.Restarts, p.Hangups-1) + 1
	early := func(i int, shift float64) float64 { return watchFrom * (float64(i) + shift) / float64(slots) }
	for i := range p.Restarts {
		share := early(i, 1)
		if i == p.Restarts-1 && i > 0 {
			share = (1 + watchUntil) / 2
		}
		all = append(all, event{share, r.restart})
	}
	for i := range p.Hangups {
		share := early(i, 0.5)
		if i == p.Hangups-1 {
			share = (1 + 3*watchUntil) / 4
		}
		all = append(all, event{share, r.killWithSIGHUP})
	}
	for i := range p.Kills {
		all = append(all, event{watchFrom + (watchUntil-watchFrom)*(float64(i)+0.5)/float64(p.Kills), r.kill})
	}
	slices.SortFunc(all, func(a, b event) int { return cmp.Compare(a.share, b.share) })
	return all
}

// disturb runs the events until ctx ends. It completes an event that it has begun.
func (r *run) disturb(ctx context.Context) {
	for _, e := range r.events() {
		at := r.tally.begin.Add(time.Duration(e.share * float64(r.options.Plan.Length)))
		if !rig.Sleep(ctx, time.Until(at)) {
			return
		}
		if err := e.do(context.WithoutCancel(ctx)); err != nil && ctx.Err() == nil {
			r.tally.addProblem(failedCall, "%v", err)
		}
	}
}

// restart ends pmcd in the regular way and starts it again.
func (r *run) restart(ctx context.Context) error {
	resume, err := r.editor.pauseRepaired(ctx)
	defer resume()
	if err != nil {
		return err
	}
	if err := r.stopAndStart(); err != nil {
		return err
	}
	// A new process that reads a wrong edit does not serve the definition before it.
	return rig.Await(ctx, "the new process serves", func() (bool, error) {
		_, err := rig.ReadFigures(ctx, r.pmcd, atName)
		return err == nil, nil
	})
}

// stopAndStart ends pmcd and starts it again.
func (r *run) stopAndStart() error {
	r.tally.logf("pmcd is restarted")
	gone := r.disturbances.begin(pmcdGone)
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
	r.countedDrops += after - before
	r.collectLog()
	r.autoRestarts, r.lastAutoRestart = 0, time.Time{}
	return r.pmcd.Restart()
}

// kill ends wave with SIGKILL. pmcd starts it again when it notices.
func (r *run) kill(ctx context.Context) error {
	for {
		if err := r.readAutoRestarts(); err != nil {
			return err
		}
		if time.Since(r.lastAutoRestart) >= autoRestartInterval {
			break
		}
		rig.Sleep(ctx, time.Second)
	}
	return r.killAndAwait(ctx, func() error { return nil })
}

// killWithSIGHUP ends wave with SIGKILL and makes pmcd start it again with a SIGHUP.
func (r *run) killWithSIGHUP(ctx context.Context) error {
	resume, err := r.editor.pauseRepaired(ctx)
	defer resume()
	if err != nil {
		return err
	}
	told := r.disturbances.begin(pmcdSIGHUP)
	defer told()
	var at time.Time
	err = r.killAndAwait(ctx, func() error {
		rig.Sleep(ctx, deadTime)
		at = time.Now()
		return r.pmcd.Signal(syscall.SIGHUP)
	})
	if err != nil {
		return err
	}
	if err := r.awaitServed(ctx); err != nil {
		return err
	}
	r.longestReturn = max(r.longestReturn, time.Since(at))
	n, err := r.drops()
	if n > r.countedDrops {
		r.collectOwnLog("derived.log.prev")
	}
	r.dropped += n - r.countedDrops
	r.countedDrops = n
	return err
}

// drops returns the number of times that pmcd has dropped the daemon since pmcd was started.
func (r *run) drops() (int, error) {
	found, err := rig.Matching(r.pmcd.LogFile, dropLine())
	return len(found), err
}

// killAndAwait kills wave, calls then, and waits until wave runs again.
func (r *run) killAndAwait(ctx context.Context, then func() error) error {
	pid, ok := r.pmcd.PidOf(waveName)
	if !ok {
		return fmt.Errorf("%s does not run", waveName)
	}
	r.tally.logf("%s is killed", waveName)
	gone := r.disturbances.begin(agentGone)
	defer gone()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	if err := then(); err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < restartLimit; rig.Sleep(ctx, 10*time.Millisecond) {
		if now, ok := r.pmcd.PidOf(waveName); ok && now != pid {
			return r.readAutoRestarts()
		}
	}
	return fmt.Errorf("%s is not started again", waveName)
}

// readAutoRestarts updates the time of pmcd's last automatic restart of agents from its log. pmcd also does one a
// minute after a drop, although a SIGHUP has already repaired that.
func (r *run) readAutoRestarts() error {
	found, err := rig.Matching(r.pmcd.LogFile, regexp.MustCompile("Auto-restarting agents"))
	if len(found) != r.autoRestarts {
		r.autoRestarts, r.lastAutoRestart = len(found), time.Now()
	}
	return err
}

// awaitServed waits until the value of an operand is served. If pmcd does not start the daemon, it sends another
// SIGHUP, as an administrator would.
func (r *run) awaitServed(ctx context.Context) error {
	var err error
	var gone time.Time
	for begin := time.Now(); time.Since(begin) < restartLimit; rig.Sleep(ctx, 10*time.Millisecond) {
		if _, err = rig.ReadFigures(ctx, r.pmcd, atName); err == nil {
			return nil
		}
		switch _, runs := r.pmcd.PidOf(daemonName); {
		case runs:
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > signalAgainAfter:
			gone = time.Time{}
			r.signalledAgain++
			if err := r.pmcd.Signal(syscall.SIGHUP); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("not served: %w", err)
}

// collectLog stores the complaints in pmcd's log, which its next start empties.
func (r *run) collectLog() {
	drops, departures := r.countedDrops, r.countedDrops*ownConnections
	for _, line := range r.matching("pmcd.log", complaint()) {
		switch {
		case excuse().MatchString(line):
		case drops > 0 && dropLine().MatchString(line):
			drops--
		case departures > 0 && departure().MatchString(line):
			departures--
		default:
			r.complaints = append(r.complaints, line)
		}
	}
	r.countedDrops = 0
	r.collectOwnLog("derived.log")
}

// collectOwnLog stores warnings and counts panics in a log of the daemon. A restarted daemon keeps the log before as
// derived.log.prev.
func (r *run) collectOwnLog(name string) {
	r.panics += len(r.matching(name, regexp.MustCompile(`panic`)))
	for _, line := range r.matching(name, warning()) {
		if !ofEdits().MatchString(line) {
			r.warnings = append(r.warnings, line)
		}
	}
}

// matching returns the lines of a log that match; none if the log does not exist.
func (r *run) matching(log string, match *regexp.Regexp) []string {
	found, err := rig.Matching(filepath.Join(filepath.Dir(r.pmcd.LogFile), log), match)
	if err != nil && !os.IsNotExist(err) {
		r.tally.addProblem(failedCall, "%v", err)
	}
	return found
}

// warning matches warnings and errors in the daemon's log; ofEdits matches those about definitions: some edits are
// mistakes on purpose.
func warning() *regexp.Regexp { return regexp.MustCompile(` level=(warning|error) `) }
func ofEdits() *regexp.Regexp { return regexp.MustCompile(`derived metric | metric=`) }

// dropLine matches the line of pmcd's log about a dropped daemon, which may have ended by then: docs/reliability.md has
// the reason.
func dropLine() *regexp.Regexp {
	return regexp.MustCompile(`Cleanup "derived" agent \(dom 510\): protocol failure for fd=\d+(, exit\(0\))?\s*$`)
}

// departure matches the line about a client that disconnects before pmcd sends it an error. The daemon does so when
// pmcd has dropped it during a lookup.
func departure() *regexp.Regexp {
	return regexp.MustCompile(`HandleClientInput: error sending Error PDU to client\[\d+\] IPC protocol failure\s*$`)
}

// complaint matches lines of pmcd's log about errors of agents and clients.
func complaint() *regexp.Regexp {
	return regexp.MustCompile(`(?i)error|warning|protocol|time-?d? ?out|cleanup|ipc|` +
		`unexpected|illegal|refus|bad|broken|reset`)
}

// excuse matches complaints that have a cause in the run: wave, which is killed; agents of the rig at the end of
// pmcd; liars; agents that ended on demand; a host that does not know its own name.
func excuse() *regexp.Regexp {
	return regexp.MustCompile(`rig-agent: .*broken pipe|wave|evil|vile|stuck|active agent dom|client connection from|` +
		`__pmGetAddrInfo|CleanupAgent \.\.\.|terminated, exit\(0\)`)
}

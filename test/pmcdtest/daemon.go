package pmcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// daemon is one run of pmcd. It has left its parent and leads a session of its own, which its
// agents belong to.
type daemon struct {
	pid  int  // of the session too
	told bool // to end, by Signal
}

// startDaemon runs a program that puts itself into the background and returns when it is there. mark
// is an argument that nobody else's command line contains.
func startDaemon(cmd *exec.Cmd, mark string, deadline time.Time) (*daemon, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd.Path, err, out.Bytes())
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		// Right after the fork it still belongs to our session; later its children look like it until
		// they have become agents.
		candidates := marked(mark)
		for _, pid := range candidates {
			if stat, ok := readStat(pid); ok && stat.session == pid && stat.living() {
				return &daemon{pid: pid}, nil
			}
		}
		if len(candidates) == 0 || time.Now().After(deadline) {
			return nil, fmt.Errorf("%s ended while starting\n%s", cmd.Path, out.Bytes())
		}
		<-tick.C
	}
}

// awaitFile waits until the daemon has made a file.
func (d *daemon) awaitFile(file string, deadline time.Time) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		if !alive(d.pid) {
			return errors.New("pmcd ended while starting")
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("pmcd is not ready after %v", startTimeout)
		}
		<-tick.C
	}
}

func (d *daemon) signal(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v: not a signal number", sig)
	}
	switch number {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL, syscall.SIGABRT, syscall.SIGSEGV:
		d.told = true
	}
	return syscall.Kill(d.pid, number)
}

// end sends sig, waits for the whole session to end, and kills what is left after the timeout.
func (d *daemon) end(sig os.Signal, timeout time.Duration) error {
	var problem error
	switch {
	case alive(d.pid):
		if err := d.signal(sig); err != nil {
			problem = fmt.Errorf("end pmcd: %w", err)
		}
	case !d.told:
		problem = errors.New("pmcd had ended by itself")
	}
	left := awaitEmptySession(d.pid, time.Now().Add(timeout))
	if len(left) == 0 {
		return problem
	}
	return errors.Join(problem,
		fmt.Errorf("still there %v after %v, killed: %v", timeout, sig, left),
		killSession(d.pid, time.Now().Add(killTimeout)))
}

// killSession kills until nobody is left: a process may have forked while it was being killed.
func killSession(session int, deadline time.Time) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		left := processes(session)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not even SIGKILL ends %v", left)
		}
		for _, process := range left {
			_ = syscall.Kill(process.Pid, syscall.SIGKILL) // it may have ended by now, which is as good
		}
		<-tick.C
	}
}

// awaitEmptySession waits until no process of the session is left and returns those that are at
// the deadline.
func awaitEmptySession(session int, deadline time.Time) []Process {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		left := processes(session)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		<-tick.C
	}
}

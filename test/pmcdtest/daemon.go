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
	pid       int  // of the session too
	signalled bool // by Signal, to end it
}

// poll calls done until it returns true, and returns false at the deadline.
func poll(deadline time.Time, done func() bool) bool {
	for !done() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pollInterval)
	}
	return true
}

// startDaemon runs a program that puts itself into the background, and returns when the daemon is there. mark
// is an argument that no other command line contains.
func startDaemon(cmd *exec.Cmd, mark string, deadline time.Time) (d *daemon, err error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd.Path, err, out.Bytes())
	}
	poll(deadline, func() bool {
		// Right after the fork it still belongs to our session; later its children look like it until
		// they have become agents.
		candidates := marked(mark)
		for _, pid := range candidates {
			if stat, ok := readStat(pid); ok && stat.session == pid && stat.living() {
				d = &daemon{pid: pid}
			}
		}
		return d != nil || len(candidates) == 0
	})
	if d == nil {
		return nil, fmt.Errorf("%s ended while starting\n%s", cmd.Path, out.Bytes())
	}
	return d, nil
}

// awaitFile waits until the daemon has made a file.
func (d *daemon) awaitFile(file string, deadline time.Time) error {
	made := func() bool {
		_, err := os.Stat(file)
		return err == nil
	}
	switch in := poll(deadline, func() bool { return made() || !alive(d.pid) }); {
	case made():
		return nil
	case in:
		return errors.New("pmcd ended while starting")
	}
	return fmt.Errorf("pmcd is not ready after %v", startTimeout)
}

func (d *daemon) signal(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal %v: not a signal number", sig)
	}
	switch number {
	case syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL, syscall.SIGABRT, syscall.SIGSEGV:
		d.signalled = true
	}
	return syscall.Kill(d.pid, number)
}

// end sends sig, waits for the whole session to end, and kills the remaining processes after the timeout.
func (d *daemon) end(sig os.Signal, timeout time.Duration) error {
	var problem error
	switch {
	case alive(d.pid):
		if err := d.signal(sig); err != nil {
			problem = fmt.Errorf("end pmcd: %w", err)
		}
	case !d.signalled:
		problem = errors.New("pmcd had ended by itself")
	}
	if awaitEmpty(d.pid, time.Now().Add(timeout), 0) {
		return problem
	}
	problem = errors.Join(problem, fmt.Errorf("still there %v after %v, killed: %v", timeout, sig, processes(d.pid)))
	if !awaitEmpty(d.pid, time.Now().Add(killTimeout), syscall.SIGKILL) {
		problem = errors.Join(problem, fmt.Errorf("not even SIGKILL ends %v", processes(d.pid)))
	}
	return problem
}

// awaitEmpty waits until no process of a session is left. Meanwhile it sends a signal to each of them again and
// again: a process may have forked while it was being killed.
func awaitEmpty(session int, deadline time.Time, sig syscall.Signal) bool {
	return poll(deadline, func() bool {
		left := processes(session)
		for _, process := range left {
			_ = syscall.Kill(process.Pid, sig) // it may have ended by now, which is as good
		}
		return len(left) == 0
	})
}

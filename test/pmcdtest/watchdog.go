package pmcdtest

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// watchdog is a process that ends a private pmcd when the program that started it has died, for
// example at a test's time limit, when no clean-up runs.
type watchdog struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser // end of file tells the watchdog that we are gone
}

// watchdogScript reads the number of each new pmcd, which is that of its process group too, until
// the pipe ends.
const watchdogScript = `
trap '' HUP INT TERM
group=
while read -r line; do group=$line; done
[ -z "$group" ] || kill -s KILL -- "-$group" 2>/dev/null
rm -rf -- "$1"
`

func startWatchdog(dir string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "watchdog", dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of reach of the terminal's signals
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &watchdog{cmd: cmd, pipe: pipe}, nil
}

// guard makes pid the pmcd to end.
func (w *watchdog) guard(pid int) error {
	_, err := fmt.Fprintln(w.pipe, pid)
	return err
}

// dismiss ends the watchdog before it acts.
func (w *watchdog) dismiss() {
	_ = w.cmd.Process.Kill() // it cannot have ended: it waits for the pipe
	_ = w.cmd.Wait()         // its status is our signal
	_ = w.pipe.Close()
}

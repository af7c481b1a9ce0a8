package rig

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"pmdaderived/test/pmcdtest"
)

// Line is a line of a tool's output and the time of its arrival.
type Line struct {
	At   time.Time
	Text string
}

// Tool is a stock program that runs as a client of a private pmcd.
type Tool struct {
	Cmd    *exec.Cmd
	stderr strings.Builder
	read   chan struct{} // closed at the end of its output
}

// toolEndLimit limits the time from SIGTERM to the end of a tool.
const toolEndLimit = 5 * time.Second

// Start runs a tool. line is called with each line of its output, in another goroutine. env is added to the environment
// of the private pmcd. At the end of ctx the tool gets SIGTERM.
func Start(ctx context.Context, p *pmcdtest.PMCD, line func(Line), env []string, args ...string) (*Tool, error) {
	t := &Tool{Cmd: p.Command(ctx, args[0], args[1:]...), read: make(chan struct{})}
	// Otherwise tools in Python buffer their output.
	t.Cmd.Env = append(append(t.Cmd.Env, "PYTHONUNBUFFERED=1", "TZ=UTC"), env...)
	t.Cmd.Cancel = func() error { return t.Cmd.Process.Signal(syscall.SIGTERM) }
	t.Cmd.WaitDelay = toolEndLimit
	t.Cmd.Stderr = &t.stderr
	stdout, err := t.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.Cmd.Start(); err != nil {
		return nil, err
	}
	go t.follow(stdout, line)
	return t, nil
}

// follow reads lines until the end of the tool closes its output.
func (t *Tool) follow(stdout io.Reader, line func(Line)) {
	defer close(t.read)
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		line(Line{time.Now(), lines.Text()})
	}
}

// Wait waits for the end of the tool and returns an error if it did not succeed.
func (t *Tool) Wait() error {
	<-t.read
	if err := t.Cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w %s", strings.Join(t.Cmd.Args, " "), err, strings.TrimSpace(t.stderr.String()))
	}
	return nil
}

// Matching returns the lines of a file that match, without white space around them.
func Matching(path string, match *regexp.Regexp) (found []string, err error) {
	text, err := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if match.MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, err
}

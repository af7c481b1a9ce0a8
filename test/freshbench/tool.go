package freshbench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"pmdaderived/test/pmcdtest"
)

// line is one line of a tool's output and when it came.
type line struct {
	at   time.Time
	text string
}

// tool is a running client.
type tool struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	lines  []line // until read has been closed, those of the goroutine that fills it
	first  chan struct{}
	read   chan struct{}
}

// start runs a tool that uses the private pmcd. env is in addition to what that needs.
func start(ctx context.Context, p *pmcdtest.PMCD, env []string, args ...string) (*tool, error) {
	t := &tool{cmd: p.Command(ctx, args[0], args[1:]...), first: make(chan struct{}), read: make(chan struct{})}
	// Tools in Python keep their output back otherwise.
	t.cmd.Env = append(append(t.cmd.Env, "PYTHONUNBUFFERED=1", "TZ=UTC"), env...)
	t.cmd.Stderr = &t.stderr
	stdout, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if t.stdin, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go t.follow(stdout)
	return t, nil
}

// follow ends when the tool does, which closes its output.
func (t *tool) follow(stdout io.Reader) {
	defer close(t.read)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		t.lines = append(t.lines, line{time.Now(), lines.Text()})
		if len(t.lines) == 1 {
			close(t.first)
		}
	}
}

// wait returns the output of a tool that ends by itself.
func (t *tool) wait() ([]line, error) {
	<-t.read
	err := t.cmd.Wait()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(t.cmd.Args, " "), err, t.stderr.Bytes())
	}
	return t.lines, nil
}

// awaitLine waits for the first line.
func (t *tool) awaitLine() error {
	select {
	case <-t.first:
		return nil
	case <-t.read:
		_, err := t.wait()
		return errors.Join(err, fmt.Errorf("%s ended without a line", t.cmd.Path))
	}
}

// run starts a tool and waits for its end.
func run(ctx context.Context, p *pmcdtest.PMCD, env []string, args ...string) ([]line, error) {
	t, err := start(ctx, p, env, args...)
	if err != nil {
		return nil, err
	}
	return t.wait()
}

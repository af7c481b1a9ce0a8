package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// client is a running c/client: a program that uses libpcp.
type client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// result is what a command of a client took; see c/client.c.
type result struct {
	cpu                             time.Duration
	wall, median, least, p99, most  time.Duration
	quarter                         time.Duration
	n, values, errors, code, memory int64
	lines                           []string // before the "ok"
}

// keepMemory keeps malloc from giving memory back to the kernel and taking it again for the next fetch. Where
// a part of a client's cost is to be found as a difference, that would hide it.
const keepMemory = "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824"

// newClient starts a client of the arena. Its own derived metrics are those of the file, if any.
func (a *arena) newClient(ctx context.Context, derivedFile string, env ...string) (*client, error) {
	cmd := a.pmcd.Command(ctx, a.b.path("client"), "unix:"+a.pmcd.Socket)
	cmd.Env = append(cmd.Env, "PCP_DERIVED_CONFIG="+derivedFile)
	cmd.Env = append(cmd.Env, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = &a.b.log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &client{cmd: cmd, in: in, out: bufio.NewReader(out)}
	a.clients = append(a.clients, c)
	_, err = c.answer()
	return c, err
}

// send gives a command without waiting for the answer.
func (c *client) send(format string, args ...any) error {
	_, err := fmt.Fprintf(c.in, format+"\n", args...)
	return err
}

// do gives a command and returns the answer.
func (c *client) do(format string, args ...any) (result, error) {
	if err := c.send(format, args...); err != nil {
		return result{}, err
	}
	r, err := c.answer()
	if err != nil {
		err = fmt.Errorf(format+": %w", append(args, err)...)
	}
	return r, err
}

// names makes the metrics those of later commands. All must exist.
func (c *client) names(names []string) (result, error) {
	r, err := c.do("names %d\n%s", len(names), strings.Join(names, "\n"))
	switch {
	case err != nil:
		return r, fmt.Errorf("names: %w", errors.Unwrap(err))
	case r.errors > 0:
		return r, fmt.Errorf("%d of %d names are unknown, %s the first", r.errors, len(names), names[0])
	}
	return r, nil
}

// answer reads the answer to a command.
func (c *client) answer() (result, error) {
	var r result
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return r, fmt.Errorf("client ended: %w", err)
		}
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "ok":
			return r, r.parse(rest)
		case "error":
			return r, errors.New(rest)
		}
		r.lines = append(r.lines, line)
	}
}

func (r *result) parse(pairs string) error {
	for pair := range strings.FieldsSeq(pairs) {
		name, text, _ := strings.Cut(pair, "=")
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("client says %q", pair)
		}
		switch name {
		case "cpu":
			r.cpu = time.Duration(v)
		case "wall":
			r.wall = time.Duration(v)
		case "median":
			r.median = time.Duration(v)
		case "least":
			r.least = time.Duration(v)
		case "quarter":
			r.quarter = time.Duration(v)
		case "p99":
			r.p99 = time.Duration(v)
		case "most":
			r.most = time.Duration(v)
		case "n":
			r.n = v
		case "values":
			r.values = v
		case "errors":
			r.errors = v
		case "code":
			r.code = v
		case "bytes":
			r.memory = v
		}
	}
	return nil
}

// fetch fetches n times with the period and fails unless there are want values in each.
func (c *client) fetch(n int, period time.Duration, want int) (result, error) {
	r, err := c.do("fetch %d %d", n, period.Microseconds())
	if err != nil {
		return r, err
	}
	return r, r.check(want)
}

// anyNumber of values will do, where it varies.
const anyNumber = -1

// check fails unless each fetch had so many values.
func (r *result) check(want int) error {
	if want == anyNumber && r.errors == 0 && r.values > 0 {
		return nil
	}
	if r.errors > 0 || r.values != r.n*int64(want) {
		return fmt.Errorf("%d fetches of %d values: got %d values, %d metrics with an error, the last %d",
			r.n, want, r.values, r.errors, r.code)
	}
	return nil
}

// close ends the client and waits for it.
func (c *client) close() {
	if c.in == nil {
		return
	}
	_ = c.in.Close() // it ends at the end of its input
	c.in = nil
	_ = c.cmd.Wait() // its status says nothing
}

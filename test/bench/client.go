package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"pmdaderived/test/rig"
)

// client is a running c/client, a program that uses libpcp. The clients of package rig do not serve here: both sides of
// a comparison must have the same client.
type client struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// result is the answer to a command of a client: the numbers of its last line, by the names in c/client.c, and the
// lines before that.
type result struct {
	numbers map[string]int64 // times are ns
	lines   []string
}

// newClient starts a client of the testbed. Its own derived metrics are those of the file, if any.
func (a *testbed) newClient(ctx context.Context, derivedFile string) (*client, error) {
	cmd := a.pmcd.Command(ctx, a.b.folder.Path("client"), "unix:"+a.pmcd.Socket)
	cmd.Env = append(cmd.Env, "PCP_DERIVED_CONFIG="+derivedFile)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &client{cmd: cmd, in: in, out: bufio.NewReader(out)}
	a.clients = append(a.clients, c)
	_, err = c.answer()
	return c, err
}

// send sends a command without waiting for the answer.
func (c *client) send(format string, args ...any) error {
	_, err := fmt.Fprintf(c.in, format+"\n", args...)
	return err
}

// do sends a command and returns the answer.
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

// names sets the metrics of later commands. All must exist.
func (c *client) names(names []string) error {
	r, err := c.do("names %d\n%s", len(names), strings.Join(names, "\n"))
	switch {
	case err != nil:
		return fmt.Errorf("names: %w", errors.Unwrap(err))
	case r.numbers["errors"] > 0:
		return fmt.Errorf("%d of %d names are unknown, %s the first", r.numbers["errors"], len(names), names[0])
	}
	return nil
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
	r.numbers = make(map[string]int64)
	for pair := range strings.FieldsSeq(pairs) {
		name, text, _ := strings.Cut(pair, "=")
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("client says %q", pair)
		}
		r.numbers[name] = v
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

// check returns an error unless each fetch had want values.
func (r *result) check(want int) error {
	n, values, failed := r.numbers["n"], r.numbers["values"], r.numbers["errors"]
	if failed > 0 || values != n*int64(want) {
		return fmt.Errorf("%d fetches of %d values: got %d values, %d metrics with an error, the last %d", n, want, values,
			failed, r.numbers["code"])
	}
	return nil
}

// most returns the longest operation in ms.
func (r *result) most() float64 { return float64(r.numbers["most"]) / 1e6 }

// longest makes the client fetch without a pause for n periods while something else happens. It returns the longest
// fetch of each period in ms.
func (f *fetcher) longest(b *bench, meanwhile string, n int, period time.Duration) ([]float64, error) {
	r, err := f.do("longest %d %d", n, period.Microseconds())
	if err != nil {
		return nil, err
	}
	longest := make([]float64, len(r.lines))
	for i, line := range r.lines {
		if longest[i], err = strconv.ParseFloat(line, 64); err != nil {
			return nil, err
		}
		longest[i] /= 1e6
	}
	b.Log.Verbosef("longest in each %v with %s: median %.2f ms, p99 %.2f ms, most %.2f ms; of all %d fetches median %.0f µs",
		period, meanwhile, rig.Median(longest), rig.Quantile(longest, 0.99), r.most(), r.numbers["n"],
		float64(r.numbers["median"])/1e3)
	return longest, nil
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

// fetcher is a client and the number of values that it fetches.
type fetcher struct {
	*client
	want int // values in each fetch
}

// fetcher starts a client of the metrics and fetches until all have values. The client then disconnects, unless it has
// derived metrics of its own: see join.
func (a *testbed) fetcher(ctx context.Context, derivedFile string, names []string, want int) (*fetcher, error) {
	c, err := a.newClient(ctx, derivedFile)
	if err != nil {
		return nil, err
	}
	if err := c.names(names); err != nil {
		return nil, err
	}
	for range 100 {
		if _, err = c.fetch(1, 50*time.Millisecond, want); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: never all values: %w", names[0], err)
	}
	f := &fetcher{c, want}
	if derivedFile == "" {
		return f, f.leave() // a client that evaluates itself would have to bind again
	}
	return f, nil
}

// join connects the client and fetches a few times at the period, until the agent predicts its fetches.
func (f *fetcher) join(warm int, period time.Duration) error {
	if _, err := f.do("contexts 1"); err != nil {
		return err
	}
	_, err := f.do("fetch %d %d", warm, period.Microseconds())
	return err
}

// leave disconnects the client, so that it costs nothing while others are measured.
func (f *fetcher) leave() error {
	_, err := f.do("contexts 0")
	return err
}

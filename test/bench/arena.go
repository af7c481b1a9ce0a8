package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"pmdaderived/test/pmcdtest"
)

// Domains of the agents.
const (
	bulkDomain    = 401
	peerDomain    = 402
	pythonDomain  = 403
	derivedDomain = 510
	pythonScalars = 1000
)

// arena is a private pmcd with the agents to compare. Several can run; those that are not being
// measured do nothing.
type arena struct {
	b       *bench
	dir     string
	pmcd    *pmcdtest.PMCD
	clients []*client
	control *client // asks for the agent's own metrics

	profiles string // folder that a profiled agent writes to
	reports  int    // that it was asked for

	derived, bulk, peer int // processes
	python              []int
	all                 []int // that work for clients of ours: pmcd and the first two

	bindTook time.Duration // from the start of the agent until all definitions were bound
}

// arenaConfig says what an arena has besides the source of operands.
type arenaConfig struct {
	definitions []definition
	profiled    bool // the agent writes profiles and memory figures when told
	peer        bool // the C agent
	python      bool // the Python agent
	env         []string
}

// The agent's own metrics that are used, in the order in which control asks for them.
const (
	ctlBound = iota
	ctlFailed
	ctlOperands
	ctlRequestLongest
	ctlReloadTime
	ctlEvaluations
)

func controlNames() []string {
	return []string{
		"derived.control.bound", "derived.control.failed", "derived.control.upstream.metrics", "derived.control.request_longest",
		"derived.control.reload_time", "derived.control.evaluations",
	}
}

// bindTimeout is how long the agent may take to look up its operands.
const bindTimeout = time.Minute

// bindPoll is how often it is asked whether it has.
const bindPoll = 10 * time.Millisecond

// arena starts one and waits until all definitions are bound.
func (b *bench) arena(ctx context.Context, c arenaConfig) (a *arena, err error) {
	a = &arena{b: b}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	// The agent gives up root's rights, and must still read its definitions.
	if a.dir, err = os.MkdirTemp(b.dir, "arena"); err != nil {
		return a, err
	}
	if err := os.Chmod(a.dir, 0o755); err != nil {
		return a, err
	}
	if err := os.Mkdir(a.file("definitions"), 0o755); err != nil {
		return a, err
	}
	if err := a.define(c.definitions); err != nil {
		return a, err
	}
	program := "pmdaderived"
	if c.profiled {
		program = "pmdaderived-profiled"
	}
	config := pmcdtest.Config{
		Env: c.env,
		Agents: []pmcdtest.Agent{
			{
				Name: "bulk", Domain: bulkDomain, PMNS: nameSpace("bulk", singular, true),
				Command: []string{b.path("bulk"), "-d", strconv.Itoa(bulkDomain), b.path("layout")},
			},
			{
				Name: "derived", Domain: derivedDomain,
				Command: []string{
					b.path(program), "-d", strconv.Itoa(derivedDomain), "-c", a.file("definitions"), "--interval", "0",
				},
			},
		},
	}
	if c.peer {
		config.Agents = append(config.Agents, pmcdtest.Agent{
			Name: "peer", Domain: peerDomain, PMNS: nameSpace("peer", singular, true),
			Command: []string{b.path("peer"), "-o", "-d", strconv.Itoa(peerDomain), b.path("layout")},
		})
	}
	if c.python {
		config.Agents = append(config.Agents, pmcdtest.Agent{
			Name: "pyder", Domain: pythonDomain, PMNS: nameSpace("pyder", pythonScalars, false),
			Command: []string{
				"/usr/bin/python3", b.path("pmda.py"), strconv.Itoa(pythonDomain), strconv.Itoa(pythonScalars), "unix:",
			},
		})
	}
	if a.pmcd, err = pmcdtest.Launch(config); err != nil {
		return a, err
	}
	a.findProcesses()
	return a, a.awaitBound(ctx, len(c.definitions))
}

func (a *arena) findProcesses() {
	for _, p := range a.pmcd.Processes() {
		switch p.Name {
		case "bulk":
			a.bulk = p.Pid
		case "peer":
			a.peer = p.Pid
		case "python3":
			a.python = append(a.python, p.Pid) // the agent, then its sampler
		case "pmdaderived", "pmdaderived-pro":
			a.derived = p.Pid
		}
	}
	a.all = []int{a.pmcd.Pid(), a.bulk, a.derived}
}

// awaitBound waits until n definitions are served.
func (a *arena) awaitBound(ctx context.Context, n int) (err error) {
	if a.control, err = a.newClient(ctx, ""); err != nil {
		return err
	}
	if _, err := a.control.names(controlNames()); err != nil {
		return err
	}
	deadline := time.Now().Add(bindTimeout)
	for {
		v, err := a.counters()
		switch {
		case err != nil:
			return err
		case int(v[ctlBound]) >= n:
			age, err := ageOf(a.derived)
			a.bindTook = age
			return err
		case v[ctlFailed] > 0 || time.Now().After(deadline):
			return fmt.Errorf("%v of %d definitions bound after at most %v\n%s", v[ctlBound], n, bindTimeout, a.pmcd.Log())
		}
		time.Sleep(bindPoll)
	}
}

// settle lets happen what happens once after a start: pmcd tells each of the agent's connections with its first
// answer that there are new agents, and the agent looks its operands up again a second later.
func (a *arena) settle(ctx context.Context, defs []definition) error {
	c, err := a.newClient(ctx, "")
	if err != nil {
		return err
	}
	defer a.drop(c)
	if _, err := c.names(names("derived.", defs[:min(len(defs), 16)])); err != nil { // at once, so on all connections
		return err
	}
	const gap, quiet = 1300 * time.Millisecond, 200 * time.Millisecond
	time.Sleep(gap)
	for range 50 {
		before, err := cpuOf(a.derived)
		if err != nil {
			return err
		}
		time.Sleep(quiet)
		after, err := cpuOf(a.derived)
		if err != nil || after-before < quiet/100 {
			return err
		}
	}
	return errors.New("the agent does not come to rest")
}

// counters are the agent's own metrics, in the order of controlNames.
func (a *arena) counters() ([]float64, error) {
	r, err := a.control.do("values")
	if err != nil {
		return nil, err
	}
	if len(r.lines) != len(controlNames()) {
		return nil, fmt.Errorf("the agent's own metrics: %q", r.lines)
	}
	values := make([]float64, len(r.lines))
	for i, line := range r.lines {
		if values[i], err = strconv.ParseFloat(line, 64); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (a *arena) file(name string) string { return filepath.Join(a.dir, name) }

// define replaces the definitions, as an editor that renames does.
func (a *arena) define(defs []definition) error {
	file := a.file("definitions/bench.conf")
	aside := a.file("aside")
	if err := os.WriteFile(aside, []byte(text(defs)), 0o644); err != nil {
		return err
	}
	return os.Rename(aside, file)
}

// derivedFile writes a file for clients that compute the definitions themselves and returns its path.
func (a *arena) derivedFile(name string, defs []definition) (string, error) {
	file := a.file(name)
	return file, os.WriteFile(file, []byte(text(defs)), 0o644)
}

// drop ends a client before its arena.
func (a *arena) drop(c *client) {
	c.close()
	a.clients = slices.DeleteFunc(a.clients, func(other *client) bool { return other == c })
}

// close ends the arena and all its clients.
func (a *arena) close() error {
	for _, c := range a.clients {
		c.close()
	}
	a.clients = nil
	if a.pmcd == nil {
		return nil
	}
	p := a.pmcd
	a.pmcd = nil
	return errors.Join(p.Stop(), p.Remove())
}

// logBuffer collects what programs say that nobody expects to say anything.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

package freshbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"pmdaderived/test/pmcdtest"
)

// Options are what a run is made with.
type Options struct {
	Daemon string // path of pmdaderived
	Helper string // path of a program that calls [Helper]; "": this one
	Plan   Plan
	Only   []string  // names of the measurements to make, see [Names]; empty: all of the plan
	Log    io.Writer // what is being done and what tools say; nil: nothing is written
}

// Plan says how much of everything is measured. What is 0 is left out.
type Plan struct {
	OneShots int   // pminfo runs for each load
	Loads    []int // how many other clients fetch without pause meanwhile

	Periodic  time.Duration // how long the periodic tools run
	Irregular time.Duration // how long the irregular clients run
	Coincide  time.Duration // how long the clients that fetch at the same moments run

	Rates        int           // samples of rate() for the comparison with libpcp
	RateInterval time.Duration // between them

	Sums time.Duration // over which delta() is added up
	Warm time.Duration // how long the daemon is up before the very first fetch
	Idle time.Duration // without clients

	Slow time.Duration // how long an operand is slow
	Nap  time.Duration // how slow, for each fetch

	// Conformance is the source tree whose conformance test is run; "": it is not.
	Conformance string
}

// Full is the plan of what docs/freshness.md promises. periodic is how long the periodic tools run, 3 min there.
func Full(periodic time.Duration, source string) Plan {
	return Plan{
		OneShots: 1000, Loads: []int{0, 10, 50},
		Periodic: periodic, Irregular: periodic / 2, Coincide: 30 * time.Second,
		Rates: 100, RateInterval: time.Second,
		Sums: time.Minute, Warm: 15 * time.Second, Idle: time.Minute,
		Slow: 2 * time.Minute, Nap: 4 * time.Second,
		Conformance: source,
	}
}

// measurement is one part of a run.
type measurement struct {
	name  string
	quiet bool // the machine has next to nothing to do, so that its own delays are of interest
	run   func(context.Context, *bench) ([]Row, error)
}

func measurements() []measurement {
	return []measurement{
		{"oneshot", false, oneShots},
		{"periodic", true, periodic},
		{"irregular", true, irregular},
		{"coincide", true, coincide},
		{"rate", true, rates},
		{"sums", false, sums},
		{"warm", false, warm},
		{"slow", true, slowOperand},
		{"idle", false, idle},
		{"conformance", false, conformanceCases},
		{"requests", false, requests}, // last: about the run as a whole
	}
}

// Names lists the measurements in their order.
func Names() []string {
	var names []string
	for _, m := range measurements() {
		names = append(names, m.name)
	}
	return names
}

// Run makes the measurements, one after the other, on a private pmcd that ends with it.
func Run(ctx context.Context, o Options) (*Table, error) {
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("no measurement %q, only %q", name, Names())
		}
	}
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // tools of a measurement that failed may still run
	table, err := b.run(ctx)
	return table, errors.Join(err, b.end(err != nil))
}

// bench is the scene of a run: a pmcd with the daemon, the clock and the slow agent.
type bench struct {
	options Options
	dir     string // readable for everybody
	pmcd    *pmcdtest.PMCD

	machine func() durations // how late sleeps of the whole run ended; it ends the watch

	// Of pmcds that have ended:
	longest  time.Duration // request of their daemons
	timeouts []string      // lines of their logs
}

// keptContexts is how many clients keep a context and fetch at their own times, each its own metric: those of one
// metric would keep it fresh for each other.
const keptContexts = 8

// definitions are what the daemon serves.
func definitions() string {
	text := `now = clock.now
seldom = clock.now
counter = clock.ticks
step = delta(clock.ticks)
rate.ticks = rate(clock.ticks)
rate.swing = rate(clock.swing)
slow = slow.value
`
	for i := range keptContexts {
		text += fmt.Sprintf("kept.k%d = clock.now\n", i)
	}
	return text
}

func newBench(o Options) (b *bench, err error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Helper == "" {
		if o.Helper, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	// pmcd and its agents are another user, who may not be able to look into a home directory.
	dir, err := os.MkdirTemp("/tmp", "freshbench-")
	if err != nil {
		return nil, err
	}
	b = &bench{options: o, dir: dir}
	if err = b.prepare(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

func (b *bench) prepare() error {
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return err
	}
	for from, to := range map[string]string{b.options.Daemon: b.file("pmdaderived"), b.options.Helper: b.file("helper")} {
		if err := copyProgram(from, to); err != nil {
			return err
		}
	}
	if err := os.WriteFile(b.file("derived.conf"), []byte(definitions()), 0o644); err != nil {
		return err
	}
	// Agents that are started again are no longer root.
	for _, name := range []string{"arrivals", "naps"} {
		if err := os.WriteFile(b.file(name), nil, 0o644); err != nil {
			return err
		}
		if err := os.Chmod(b.file(name), 0o666); err != nil {
			return err
		}
	}
	p, err := pmcdtest.Launch(pmcdtest.Config{Agents: []pmcdtest.Agent{
		{Name: "clock", Domain: clockDomain, PMNS: clockPMNS, Command: []string{b.file("helper"), clockHelper, b.file("arrivals")}},
		{Name: "slow", Domain: slowDomain, PMNS: slowPMNS, Command: []string{
			b.file("helper"), slowHelper, b.file("trigger"), b.file("naps"), b.options.Plan.Nap.String(),
		}},
		b.derived("--interval=0", "-c", b.file("derived.conf")),
	}})
	if err != nil {
		return err
	}
	b.pmcd = p
	return nil
}

// derived is the agent under test.
func (b *bench) derived(options ...string) pmcdtest.Agent {
	return pmcdtest.Agent{
		Name: "derived", Domain: derivedDomain,
		Command: append([]string{b.file("pmdaderived"), "-d", strconv.Itoa(derivedDomain)}, options...),
	}
}

const derivedDomain = 510

func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }
func (b *bench) host() string            { return "unix:" + b.pmcd.Socket }

func (b *bench) logf(format string, args ...any) {
	fmt.Fprintf(b.options.Log, format+"\n", args...)
}

func (b *bench) run(ctx context.Context) (*Table, error) {
	if err := b.awaitValue(ctx, b.host(), "derived.now"); err != nil {
		return nil, err
	}
	b.machine = sync.OnceValue(watchMachine())
	defer b.machine()
	var t Table
	for _, m := range measurements() {
		if len(b.options.Only) > 0 && !slices.Contains(b.options.Only, m.name) {
			continue
		}
		b.logf("== %s", m.name)
		stop := watchMachine()
		rows, err := m.run(ctx, b)
		late := stop()
		if err != nil {
			return &t, fmt.Errorf("%s: %w", m.name, err)
		}
		if m.quiet && len(rows) > 0 {
			rows = append(rows, machineRow(m.name, late))
		}
		for _, r := range rows {
			b.logf("%s: %s (%s) %s", r.What, r.Measured, r.Target, r.verdict())
		}
		t.Rows = append(t.Rows, rows...)
	}
	return &t, nil
}

// end stops pmcd and removes everything. The logs are shown if something has gone wrong.
func (b *bench) end(failed bool) error {
	err := b.pmcd.Stop()
	if failed || err != nil {
		b.logf("%s", b.pmcd.Log())
	}
	return errors.Join(err, b.pmcd.Remove(), os.RemoveAll(b.dir))
}

func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

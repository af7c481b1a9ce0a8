package freshbench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// Options are what a run is made with.
type Options struct {
	Daemon string // path of pmdaderived
	Plan   Plan
	Only   []string // texts in the names of the parts to run; empty: all of the plan
	Log    *rig.Log
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
}

// Full is the plan of what docs/freshness.md promises. periodic is how long the periodic tools run, 3 min there.
func Full(periodic time.Duration) Plan {
	return Plan{
		OneShots: 1000, Loads: []int{0, 10, 50},
		Periodic: periodic, Irregular: periodic / 2, Coincide: 30 * time.Second,
		Rates: 100, RateInterval: time.Second,
		Sums: time.Minute, Warm: 15 * time.Second, Idle: time.Minute,
		Slow: 2 * time.Minute, Nap: 4 * time.Second,
	}
}

// Short is the plan of a test.
func Short() Plan {
	return Plan{
		OneShots: 25, Loads: []int{0, 3},
		Periodic: 4 * time.Second, Irregular: time.Second, Coincide: 2 * time.Second,
		Rates: 3, RateInterval: 200 * time.Millisecond, Sums: 4 * time.Second, Idle: 2 * time.Second,
		Slow: 3 * time.Second, Nap: 300 * time.Millisecond,
	}
}

// bench is the scene of a run: a pmcd with the daemon and the agent, and another agent that can be slow.
type bench struct {
	plan   Plan
	log    *rig.Log
	folder rig.Folder
	pmcd   *pmcdtest.PMCD
	agent  rig.AgentSpec
	slow   rig.AgentSpec

	// Of pmcds that have ended:
	longest  time.Duration // request of their daemons
	timeouts []string      // lines of their logs
}

// parts are in their order; the last one is about the run as a whole, during which machine watches.
func (b *bench) parts(machine func() rig.Wakes) (all []rig.Part) {
	p := b.plan
	add := func(planned, quiet bool, name string, run func(context.Context) ([]rig.Row, error)) {
		if planned {
			all = append(all, rig.Part{Name: name, Quiet: quiet, Run: run})
		}
	}
	add(len(p.Loads) > 0, false, "oneshot", b.oneShots)
	add(p.Periodic > 0, true, "periodic", b.periodic)
	add(p.Irregular > 0, true, "irregular", b.irregular)
	add(p.Coincide > 0, true, "coincide", b.coincide)
	add(p.Rates > 0, true, "rate", b.rates)
	add(p.Sums > 0, false, "sums", b.sums)
	add(p.Warm > 0, false, "warm", b.warm)
	add(p.Slow > 0, true, "slow", b.slowOperand)
	add(p.Idle > 0, false, "idle", b.idle)
	add(true, false, "requests", func(ctx context.Context) ([]rig.Row, error) { return b.requests(ctx, machine()) })
	return all
}

// Run makes the measurements, one after the other, on a private pmcd that ends with it.
func Run(ctx context.Context, o Options) (table *rig.Table, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder, err := rig.NewFolder(map[string]string{"pmdaderived": o.Daemon, "wave": self, "slow": self})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	b := &bench{plan: o.Plan, log: o.Log, folder: folder}
	if err := b.launch(); err != nil {
		return nil, err
	}
	defer func() {
		stopped := b.pmcd.Stop()
		if err != nil || stopped != nil {
			b.log.Tellf("%s", b.pmcd.Log())
		}
		err = errors.Join(err, stopped, b.pmcd.Remove())
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // tools of a measurement that failed may still run
	if err := rig.Await(ctx, "derived.now has a value", func() (bool, error) {
		f, err := rig.ReadFigures(ctx, b.pmcd, "derived.now")
		return err == nil && f.Numbers["derived.now"] > 0, nil
	}); err != nil {
		return nil, err
	}
	machine := sync.OnceValue(rig.WatchMachine())
	defer machine()
	return rig.Run(ctx, b.log, o.Only, b.parts(machine))
}

// keptContexts is how many clients keep a context and fetch at their own times, each its own metric: those of one
// metric would keep it fresh for each other.
const keptContexts = 8

// definitions are what the daemon serves.
func definitions() string {
	text := `now = wave.now
seldom = wave.now
counter = wave.ticks
step = delta(wave.ticks)
rate.ticks = rate(wave.ticks)
rate.swing = rate(wave.swing)
slow = slow.now
`
	for i := range keptContexts {
		text += fmt.Sprintf("kept.k%d = wave.now\n", i)
	}
	return text
}

func (b *bench) launch() error {
	conf, err := b.folder.Write("derived.conf", definitions())
	if err != nil {
		return err
	}
	b.agent = rig.AgentSpec{Name: "wave", Domain: 400, Orders: rig.None}
	if b.agent.Journal, err = b.folder.Shared("journal"); err != nil {
		return err
	}
	b.slow = rig.AgentSpec{Name: "slow", Domain: 401, Orders: b.folder.Path("orders")}
	if b.slow.Journal, err = b.folder.Shared("slow-journal"); err != nil {
		return err
	}
	b.pmcd, err = pmcdtest.Launch(pmcdtest.Config{Agents: []pmcdtest.Agent{
		b.agent.In(b.folder), b.slow.In(b.folder), b.derived("--interval=0", "-c", conf),
	}})
	return err
}

// derived is the daemon.
func (b *bench) derived(options ...string) pmcdtest.Agent {
	return pmcdtest.Agent{
		Name: "derived", Domain: derivedDomain,
		Command: append([]string{b.folder.Path("pmdaderived"), "-d", strconv.Itoa(derivedDomain)}, options...),
	}
}

const derivedDomain = 510

// The figures that are read: fetches that the daemon has sent to pmcd, metrics refused because no sample was young enough,
// the longest request in ms, and the ages of samples at the reply. The fetches of a context that are told apart are the first,
// the second, the later ones that could be foretold, and the rest.
const (
	upstreamFetches = "derived.control.upstream.fetches"
	stale           = "derived.control.sample.stale"
	longestRequest  = "derived.control.request_longest"
	firstFetch      = "derived.control.sample.age.first"
	secondFetch     = "derived.control.sample.age.second"
	regularFetch    = "derived.control.sample.age.regular"
	irregularFetch  = "derived.control.sample.age.irregular"
)

func (b *bench) figures(ctx context.Context) (rig.Figures, error) {
	return rig.ReadFigures(ctx, b.pmcd, upstreamFetches, stale, longestRequest, firstFetch, secondFetch, regularFetch, irregularFetch)
}

// during is what the daemon says about a time in which something is done.
func (b *bench) during(ctx context.Context, do func() error) (rig.Figures, error) {
	before, err := b.figures(ctx)
	if err != nil {
		return before, err
	}
	if err := do(); err != nil {
		return before, err
	}
	after, err := b.figures(ctx)
	return after.Since(before), err
}

// perFetch is a row about the fetches that the daemon has sent for those of its clients.
func perFetch(what string, f rig.Figures, fetches uint64, most float64) rig.Row {
	each := f.Numbers[upstreamFetches] / float64(max(1, fetches))
	r := rig.Row{
		What:     what + ": upstream fetches for a client's fetch",
		Measured: fmt.Sprintf("%.0f / %d = %s", f.Numbers[upstreamFetches], fetches, rig.Digits(each)), OK: true,
	}
	if most > 0 {
		r.Target, r.OK, r.Timed = fmt.Sprintf("≤ %g", most), each <= most, true
	}
	return r
}

// allOf is a row about a number of which none may be missing.
func allOf(what string, n, all int) rig.Row {
	return rig.Row{What: what, Measured: fmt.Sprintf("%d of %d", n, all), Target: "all", OK: n == all}
}

// mostRequest is how long any request may take.
const mostRequest = 50 * time.Millisecond

// requests looks back at the whole run.
func (b *bench) requests(ctx context.Context, late rig.Wakes) ([]rig.Row, error) {
	if err := b.lookBack(ctx, b.pmcd); err != nil {
		return nil, err
	}
	for _, l := range b.timeouts {
		b.log.Notef("%s", l)
	}
	return []rig.Row{
		rig.Times("longest request of the run", rig.Durations{b.longest}, rig.Limit{Q: 1, Most: mostRequest}),
		rig.MachineRow("the whole run", late),
		rig.Equal("time-outs in pmcd's log", len(b.timeouts), 0),
	}, nil
}

// lookBack takes from a pmcd that ends what is to be told of it: the longest request of its daemon, and complaints about agents
// and clients that were waited for in vain.
func (b *bench) lookBack(ctx context.Context, p *pmcdtest.PMCD) error {
	f, err := rig.ReadFigures(ctx, p, longestRequest)
	if err != nil {
		return err
	}
	b.longest = max(b.longest, time.Duration(f.Numbers[longestRequest]*1e6))
	timeouts, err := rig.Matching(p.LogFile, regexp.MustCompile(`(?i)time-?d? ?out`))
	b.timeouts = append(b.timeouts, timeouts...)
	return err
}

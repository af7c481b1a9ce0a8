package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pmdaderived/internal/agent/reloadtest"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

const derivedDomain = 510

// One process of the daemon is watched for growth between these shares of the run.
const (
	watchFrom  = 0.2
	watchUntil = 0.9
)

// Options are the parameters of a run.
type Options struct {
	Daemon string // path of pmdaderived
	Seed   uint64
	Plan   Plan
	Log    io.Writer // a line for each interval, and the first problems; nil: nothing is written
}

// Plan has the number and times of all parts of a run.
type Plan struct {
	Length      time.Duration
	Interval    time.Duration // between two lines
	Definitions int           // besides the 43 that are edited

	Periodic     int           // clients at intervals of 0.1 to 10 s
	Irregular    int           // clients with pauses of 0.05 to 20 s
	Reconnecting int           // clients that connect anew after a few fetches
	Wide         int           // clients that fetch all definitions of the model
	Readers      int           // clients of the definitions that are edited
	Tools        int           // of each: pminfo, pmval, pmrep, pmlogger
	Flood        time.Duration // between two fetches of the client that floods
	LookUps      int           // connections that look up and never fetch

	Edit     time.Duration // pause between two edits
	Kills    int           // of wave, which pmcd starts again by itself; 61 s apart at least
	Hangups  int           // of wave, which pmcd starts again on a SIGHUP
	Restarts int           // of pmcd
	Liars    int           // agents that lie
	Lie      time.Duration // longest time of one lie

	Ages time.Duration // time of the measurement of ages

	Warm         time.Duration // time of the clients before the connections
	Connections  int           // connections at once; each is two contexts
	Reconnects   int           // connects and disconnects in a row
	MemoryReturn time.Duration // longest time until memory is returned
}

// Least is the least length of a full plan: pmcd starts an agent again by itself once a minute.
const Least = 2 * time.Minute

// Full returns the plan of `make soak`: 60 clients, of which 13 are stock programs.
func Full(length time.Duration, liars int) Plan {
	return Plan{
		Length: length, Interval: max(time.Second, length/60), Definitions: 1943,
		Periodic: 15, Irregular: 8, Reconnecting: 6, Wide: 2, Readers: 6, Tools: 3, Flood: 10 * time.Millisecond, LookUps: 200,
		Edit: time.Second, Kills: max(1, int(float64(length)*(watchUntil-watchFrom)/float64(65*time.Second))-1),
		Hangups: 5, Restarts: 4, Liars: liars, Lie: 5 * time.Second,
		Ages: min(time.Minute, length/10),
		Warm: time.Minute, Connections: 900, Reconnects: 10_000, MemoryReturn: 5 * time.Minute,
	}
}

// Short returns the plan of a test.
func Short() Plan {
	return Plan{
		Length: 10 * time.Second, Interval: time.Second, Definitions: 150,
		Periodic: 4, Irregular: 2, Reconnecting: 2, Wide: 1, Readers: 2, Tools: 1, Flood: time.Millisecond, LookUps: 20,
		Edit: 200 * time.Millisecond, Kills: 1, Hangups: 1, Restarts: 1, Liars: 2, Lie: time.Second, Ages: 2 * time.Second,
		Warm: time.Second, Connections: 40, Reconnects: 100, MemoryReturn: 6 * time.Second,
	}
}

// Lies returns the plan of a test in which two agents tell every lie of the table, without other disturbances.
func Lies() Plan {
	return Plan{
		Length: time.Minute, Interval: 10 * time.Second, Definitions: 3 * len(forms()),
		Periodic: 3, Irregular: 1, Reconnecting: 1, Wide: 1, Readers: 1, Tools: 1, Flood: 5 * time.Millisecond, LookUps: 20,
		Edit: time.Second, Liars: 2, Lie: time.Second, Ages: time.Second,
	}
}

// clients returns the number of clients at the same time, with the one that stands still and those of births.
func (p Plan) clients() int {
	return p.Periodic + p.Irregular + p.Reconnecting + p.Wide + 1 + p.Readers + 4*p.Tools + len(birthIntervals()) + 1
}

// run is the state of a run.
type run struct {
	*shared
	options Options
	folder  rig.Folder
	editor  *editor
	lies    lies

	deceptions *tally         // of the client of stuck
	misled     []*client      // of definitions with faults of earlier versions
	misborn    []*birthClient // of definitions of births that are wrong on purpose
	late       rig.Durations  // ages of the samples of clients that come while another one floods
	clients    atomic.Uint64  // that have a source of random numbers

	autoRestarts    int           // automatic restarts of agents by this pmcd
	lastAutoRestart time.Time     // time of the last one
	countedDrops    int           // drops that are in pmcd's log and have been counted
	dropped         int           // drops of the daemon by pmcd because of a SIGHUP
	signalledAgain  int           // of these, after which pmcd needed another SIGHUP
	longestReturn   time.Duration // longest time from a SIGHUP until the daemon served again

	complaints     []string // of pmcd
	warnings       []string // of the daemon
	panics         int
	series         []figures
	latest         figures
	longestRequest time.Duration // request of any process
	slow           []slowRequests
	wakes          rig.Wakes // delays of the machine
}

// Run makes a run on a private pmcd that ends with it. A table can come with an error.
func Run(ctx context.Context, o Options) (table *rig.Table, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	programs := map[string]string{daemonName: o.Daemon, waveName: self, stuckName: self}
	for i := range o.Plan.Liars {
		programs[liarOf(i)] = self
	}
	folder, err := rig.NewFolder(programs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	r := &run{
		options: o, folder: folder, lies: newLies(rand.New(rand.NewPCG(o.Seed, 0))), deceptions: &tally{log: io.Discard},
		shared: &shared{
			model: newModel(o.Plan.Definitions), tally: &tally{begin: time.Now(), log: o.Log}, disturbances: &disturbances{},
			lying: o.Plan.Liars > 0, births: &birthTally{},
		},
	}
	if err := r.launch(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.tally.logf("%s", r.pmcd.Log())
		}
		err = errors.Join(err, r.pmcd.Stop(), r.pmcd.Remove())
	}()
	return r.execute(ctx)
}

func (r *run) random() *rand.Rand { return rand.New(rand.NewPCG(r.options.Seed, r.clients.Add(1))) }

func (r *run) launch() error {
	conf, err := r.folder.Sub("conf")
	if err != nil {
		return err
	}
	text, agents := r.model.file(), []pmcdtest.Agent{rig.AgentSpec{
		Name: waveName, Domain: 401,
		Lies: rig.None,
	}.In(r.folder)}
	for i := range r.options.Plan.Liars {
		name := liarOf(i)
		text += liarDefinitions(name)
		agents = append(agents, rig.AgentSpec{Name: name, Domain: 402 + i, Lies: r.folder.Path("lie-" + name)}.In(r.folder))
	}
	agents = append(agents, rig.AgentSpec{
		Name: stuckName, Domain: 402 + r.options.Plan.Liars,
		Lies: r.folder.Path("lie-" + stuckName),
	}.In(r.folder))
	if _, err := r.folder.Write("lie-"+stuckName, stuckLie); err != nil {
		return err
	}
	if _, err := conf.Write("model.conf", text+windowDefinitions(stuckName)+faultDefinitions()+birthDefinitions()); err != nil {
		return err
	}
	r.editor = &editor{
		shared: r.shared, site: reloadtest.NewSite(r.options.Seed, siteOperands()), folder: conf, pause: r.options.Plan.Edit,
	}
	if err := r.editor.write(); err != nil {
		return err
	}
	r.pmcd, err = pmcdtest.Launch(pmcdtest.Config{Agents: append(agents, pmcdtest.Agent{
		Name: "derived", Domain: derivedDomain, Command: []string{
			r.folder.Path(daemonName), "-d",
			strconv.Itoa(derivedDomain), "-c", string(conf),
		},
	})})
	return err
}

// definitions returns the number of definitions that are served before the first edit.
func (r *run) definitions() int {
	n := len(r.model.metrics) + len(r.editor.site.Names()) + strings.Count(windowDefinitions(stuckName), "\n") + len(faults()) +
		strings.Count(birthDefinitions(), "\n")
	for i := range r.options.Plan.Liars {
		n += len(liarNames(liarOf(i)))
	}
	for _, t := range tracks() {
		n += len(t.roles())
	}
	return n
}

// execute runs everything from the start of pmcd to the table.
func (r *run) execute(ctx context.Context) (*rig.Table, error) {
	late := sync.OnceValue(rig.WatchMachine())
	defer late()
	if err := r.awaitServing(ctx); err != nil {
		return nil, err
	}
	if err := r.readFirstGeneration(ctx); err != nil {
		return nil, err
	}
	if err := r.awaitCollection(ctx); err != nil {
		return nil, err
	}
	fresh, err := r.measureAges(ctx)
	if err != nil {
		return nil, err
	}
	before, err := r.idleFigures(ctx, figures{})
	if err != nil {
		return nil, err
	}
	r.tally.begin = time.Now()
	r.tally.logf("%d definitions, %d clients\n%s", before.bound, r.options.Plan.clients(), heading)
	if err := r.runAll(ctx); err != nil {
		return nil, err
	}
	after, err := r.idleFigures(ctx, before)
	if err != nil {
		return nil, err
	}
	records := r.archives(ctx)
	born, err := r.birthArchives(ctx)
	if err != nil {
		return nil, err
	}
	crowds, err := r.memoryRows(ctx)
	if err != nil {
		return nil, err
	}
	last, err := r.figures(ctx)
	if err != nil {
		return nil, err
	}
	r.addRequests(last)
	r.wakes = late()
	r.tally.judgeSkews(r.wakes)
	for _, c := range r.misborn {
		c.tally.judgeSkews(r.wakes)
	}
	r.collectLog()
	for _, line := range r.complaints {
		r.tally.logf("pmcd: %s", line)
	}
	if len(r.complaints) > 0 {
		r.tally.logf("%s", r.pmcd.Log())
	}
	table := &rig.Table{Rows: slices.Concat(fresh, r.rows(before, after, records), r.birthRows(born), crowds)}
	if !table.OK() {
		for _, line := range r.warnings {
			r.tally.logf("daemon: %s", line)
		}
	}
	return table, nil
}

// awaitServing waits until all definitions are served and windows have ticks.
func (r *run) awaitServing(ctx context.Context) error {
	var f figures
	want := r.definitions()
	err := rig.Await(ctx, fmt.Sprintf("%d definitions are served", want), func() (bool, error) {
		var err error
		f, err = r.figures(ctx)
		return err == nil && f.bound == want, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %d are, and %d have failed", err, f.bound, f.failed)
	}
	var windows []string
	for _, t := range tracks() {
		if t.ticks() {
			windows = append(windows, t.metric(atRole))
		}
	}
	return rig.Await(ctx, "there have been ticks", func() (bool,
		error,
	) {
		return len(r.lackingValues(ctx, windows)) == 0, nil
	})
}

// readFirstGeneration makes readers read generation 0 of the site, from which they learn the metadata.
func (r *run) readFirstGeneration(ctx context.Context) error {
	for i := range uint64(8) {
		c := &reader{
			shared: r.shared, name: "first reader", client: r.editor.site.NewClient(1000 + i),
			pace: rig.Every(time.Millisecond),
		}
		if err := r.withConnection(ctx, c.fetchChosen); err != nil {
			return err
		}
	}
	return nil
}

// awaitCollection connects clients until the daemon has collected garbage once, as its heap shows. From then on Go's
// runtime has two more goroutines, and /etc/pcp.conf is closed, which speed leaves to the collector.
func (r *run) awaitCollection(ctx context.Context) error {
	heap := 0.0
	for begin := time.Now(); ; {
		f, err := r.figures(ctx)
		if err != nil || f.heap < heap {
			return err
		}
		heap = f.heap
		if time.Since(begin) > quietTime {
			return fmt.Errorf("no garbage collection in %v", quietTime)
		}
		if err := r.reconnectOften(ctx, 50); err != nil {
			return err
		}
	}
}

// quietTime is the longest time until the daemon has released the resources of clients.
const quietTime = 20 * time.Second

// ownContexts is the greatest number of contexts with a history when no client is connected: the daemon tells pmcd of
// changes by fetching a metric of its own, over any free one of its five connections for samples, and the reader of the
// number has a context, too.
const ownContexts = 6

// steady is the number of equal readings in a row: a daemon that has just connected to pmcd has a connection too many
// or too few for a moment.
const steady = 3

// idleFigures returns the figures without clients. It waits until they stay the same and are not greater than before.
func (r *run) idleFigures(ctx context.Context, before figures) (f figures, err error) {
	same := 0
	for begin := time.Now(); ; {
		if !rig.Sleep(ctx, mmvAge) {
			return f, ctx.Err()
		}
		last := f
		if f, err = r.figures(ctx); err != nil {
			return f, err
		}
		r.addRequests(f)
		if same++; f.goroutines != last.goroutines || f.Files != last.Files {
			same = 1
		}
		less := f.contexts <= ownContexts && (before.pid == 0 || f.goroutines <= before.goroutines && f.Files <= before.Files)
		if less && same >= steady || time.Since(begin) > quietTime {
			return f, nil
		}
	}
}

// runAll runs the clients, the edits and the disturbances at the same time.
func (r *run) runAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx) // with a deadline calls would fail before ctx is done
	defer cancel()
	defer time.AfterFunc(r.options.Plan.Length, cancel).Stop()
	tools, err := r.tools()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for _, c := range r.everyClient() {
		running.Go(func() { c(ctx) })
	}
	for _, t := range tools {
		running.Go(func() { t.run(ctx) })
	}
	running.Go(func() { r.editor.run(ctx) })
	running.Go(func() { r.disturb(ctx) })
	for i := range r.options.Plan.Liars {
		running.Go(func() { r.lie(ctx, liarOf(i)) })
	}
	running.Go(func() { r.late = r.newcomers(ctx) })
	running.Go(func() { r.deceived().run(ctx) })
	births, misborn := r.birthClients()
	r.misborn = misborn
	for _, c := range slices.Concat(births, misborn) {
		running.Go(func() { c.run(ctx) })
	}
	r.misled = r.clientsOfFaults()
	for _, c := range r.misled {
		running.Go(func() { c.run(ctx) })
	}
	r.watch(ctx)
	running.Wait()
	return nil
}

func (r *run) everyClient() (all []func(context.Context)) {
	p := r.options.Plan
	add := func(name string, metrics, fetches int, pace func(*rand.Rand) rig.Pace) {
		random := r.random()
		c := &client{shared: r.shared, name: name, rand: random, metrics: metrics, pace: pace(random), fetches: fetches}
		for i := range p.Liars {
			c.unchecked = append(c.unchecked, liarNames(liarOf(i))...)
		}
		all = append(all, c.run)
	}
	every := func(interval time.Duration) func(*rand.Rand) rig.Pace {
		return func(*rand.Rand) rig.Pace { return rig.Every(interval) }
	}
	between := func(least, most time.Duration) func(*rand.Rand) rig.Pace {
		return func(r *rand.Rand) rig.Pace { return rig.Anytime(r, least, most) }
	}
	for i := range p.Periodic {
		share := float64(i) / float64(max(1, p.Periodic-1))
		interval := time.Duration(float64(100*time.Millisecond) * math.Pow(100, share))
		add(fmt.Sprintf("client every %v", interval.Round(10*time.Millisecond)), 5+10*i, 0, every(interval))
	}
	for i := range p.Irregular {
		add(fmt.Sprintf("irregular client %d", i), 10+5*i, 0, between(50*time.Millisecond, 20*time.Second))
	}
	for i := range p.Reconnecting {
		add(fmt.Sprintf("reconnecting client %d", i), 5, 1+2*i, between(50*time.Millisecond, time.Second))
	}
	for i := range p.Wide {
		add(fmt.Sprintf("wide client %d", i), p.Definitions, 0, every(time.Duration(2+3*i)*time.Second))
	}
	all = append(all, (&client{
		shared: r.shared, name: "client that stands still", list: windows(), pace: rig.Every(3 * time.Second),
		windows: &r.tally.stillWindows,
	}).run)
	for i := range p.Readers {
		c := &reader{
			shared: r.shared, name: fmt.Sprintf("reader %d", i), client: r.editor.site.NewClient(uint64(i)),
			pace: rig.Every(time.Duration(20+30*i) * time.Millisecond),
		}
		all = append(all, c.run)
	}
	return append(all, (&flood{shared: r.shared, rand: r.random(), interval: p.Flood}).run,
		(&lookUps{shared: r.shared, connections: p.LookUps}).run)
}

// watch prints a line at each interval until ctx ends.
func (r *run) watch(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		f, err := r.figures(ctx)
		if err != nil {
			if ctx.Err() == nil && !r.disturbances.affect(asked, time.Now(), pmcdGone, pmcdSIGHUP) {
				r.tally.addProblem(failedCall, "figures: %v", err)
			}
			continue
		}
		r.series = append(r.series, f)
		r.addRequests(f)
		if time.Since(told) >= r.options.Plan.Interval-tickSlack {
			told = time.Now()
			r.tellInterval(f)
		}
	}
}

// tickSlack is how much earlier than the interval a tick may come.
const tickSlack = 100 * time.Millisecond

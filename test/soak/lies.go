package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/liar"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// LieOptions are what a run of lies is made with.
type LieOptions struct {
	Daemon string // path of pmdaderived
	Plan   LiePlan
	Only   []string // texts in the orders of the lies that are told; empty: all
	Log    *rig.Log
}

// LiePlan says how long an agent lies.
type LiePlan struct {
	Honest   time.Duration // before it begins
	Lying    time.Duration // at least: until an edit that needs nothing of it is served
	Patience time.Duration // how long anything may take that is waited for
	Recorded time.Duration // interval of pmlogger; 0: it does not run
	Every    bool          // lies with arguments are told with each of them; else with the first
	Parallel int           // how many are told at a time, each on a pmcd of its own
}

// FullLies is the plan of `make lies`.
func FullLies(each, recorded time.Duration) LiePlan {
	return LiePlan{Honest: 5 * time.Second, Lying: each, Patience: 3 * time.Minute, Recorded: recorded, Every: true, Parallel: 4}
}

// ShortLies is the plan of a test.
func ShortLies() LiePlan {
	return LiePlan{Honest: 500 * time.Millisecond, Lying: 1500 * time.Millisecond, Patience: 60 * time.Second, Parallel: 8}
}

const (
	liarName = "evil" // the agent that lies
	plainBad = liarName + ".nanos"

	// revival is how long pmcd may take to start an agent again.
	revival = time.Minute

	// fastest is the interval of the fastest client.
	fastest = 200 * time.Millisecond
)

// lies are what all lies of a run share.
type lies struct {
	LieOptions
	folder rig.Folder
}

// Lies has an agent tell each lie, with a correct one beside it, and judges what becomes of the definitions that do not need it.
func Lies(ctx context.Context, o LieOptions) (table *rig.Table, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	folder, err := rig.NewFolder(map[string]string{daemonName: o.Daemon, waveName: self, liarName: self})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	all := &lies{LieOptions: o, folder: folder}
	chosen := slices.DeleteFunc(liar.Lies(o.Plan.Every), func(l liar.Lie) bool {
		return len(o.Only) > 0 && !slices.ContainsFunc(o.Only, func(text string) bool { return strings.Contains(l.Order, text) })
	})
	rows := make([]rig.Row, len(chosen))
	free := make(chan struct{}, o.Plan.Parallel)
	var running sync.WaitGroup
	for i, l := range chosen {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			row, err := all.tell(ctx, i, l)
			if err != nil {
				row = rig.Row{What: l.Order, Measured: "not measured", Target: strings.ReplaceAll(err.Error(), "\n", " ")}
			}
			o.Log.Tellf("%s: %s %s", row.What, row.Measured, row.Verdict())
			rows[i] = row
		})
	}
	running.Wait()
	return &rig.Table{Rows: rows}, ctx.Err()
}

// told is the run of one lie.
type told struct {
	*scene
	lie    liar.Lie
	plan   LiePlan
	conf   rig.Folder
	orders rig.Folder // of a folder of its own
	log    strings.Builder

	compared int // values with libpcp's
}

func (all *lies) tell(ctx context.Context, n int, l liar.Lie) (row rig.Row, err error) {
	conf, err := all.folder.Sub("conf" + strconv.Itoa(n))
	if err != nil {
		return row, err
	}
	orders, err := all.folder.Sub("orders" + strconv.Itoa(n))
	if err != nil {
		return row, err
	}
	t := &told{lie: l, plan: all.Plan, conf: conf, orders: orders}
	t.scene = &scene{model: newModel(2 * len(forms())), tally: &tally{begin: time.Now(), log: io.Discard}, weather: &weather{}, lying: true}
	t.tally.log = &t.log
	if _, err := conf.Write("model.conf", t.model.file()+badDefinitions(liarName)+fmt.Sprintf(besideText, ourBeside)); err != nil {
		return row, err
	}
	if l.Cost == liar.Nothing { // what makes pmcd wait or drop an agent would do so before there is anybody to see it
		if err := t.lies(l.Order); err != nil {
			return row, err
		}
	}
	t.pmcd, err = pmcdtest.Launch(pmcdtest.Config{Agents: []pmcdtest.Agent{
		rig.AgentSpec{Name: waveName, Domain: 401, Journal: rig.None, Orders: rig.None}.In(all.folder),
		rig.AgentSpec{Name: liarName, Domain: 402, Journal: rig.None, Orders: rig.None, Lies: orders.Path("lie")}.In(all.folder),
		{Name: "derived", Domain: derivedDomain, Command: []string{
			all.folder.Path(daemonName), "-d", strconv.Itoa(derivedDomain), "-c", string(conf),
		}},
	}})
	if err != nil {
		return row, err
	}
	row, err = t.whole(ctx)
	if err != nil || !row.OK {
		own, _ := os.ReadFile(filepath.Join(filepath.Dir(t.pmcd.LogFile), "derived.log"))
		all.Log.Notef("%s\n%s%s", l.Order, t.log.String(), own)
	}
	return row, errors.Join(err, t.pmcd.Stop(), t.pmcd.Remove())
}

// badDefinitions need an agent that lies, and begin with its name.
func badDefinitions(agent string) string {
	text := `at = evil.nanos
pace = rate(evil.nanos)
step = delta(evil.ticks)
member = evil.member * 2
picked = evil.member[m3]
matched = matchinst(/m[12]/, evil.load)
surge = rate(evil.surge)
sum = sum(evil.load)
word = evil.dyn.word + evil.dyn.share
words = evil.dyn.words[m1]
mixed = evil.phase + wave.phase
choice = defined(evil.dyn.n30) ? evil.dyn.n30 : wave.nanos
`
	for i := range 20 {
		text += fmt.Sprintf("n%d = evil.dyn.n%d\n", i, i)
	}
	var all strings.Builder
	for line := range strings.Lines(text) {
		all.WriteString(agent + "." + strings.ReplaceAll(line, liarName+".", agent+"."))
	}
	return all.String()
}

func badNames(agent string) (names []string) {
	for line := range strings.Lines(badDefinitions(agent)) {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, "derived."+name)
	}
	return names
}

// goodNames need nothing of it.
func (t *told) goodNames() (names []string) {
	for i := range t.model.metrics {
		names = append(names, t.model.metrics[i].name)
	}
	return names
}

// lateDefinitions come while the agent lies: the first one needs nothing of it.
func lateDefinitions() string {
	text := "late.good = wave.word + wave.share\n"
	for i := range 20 {
		text += fmt.Sprintf("late.bad%d = evil.dyn.n%d\n", i, 100+i)
	}
	return text
}

// whole is a run from when pmcd serves to the verdict.
func (t *told) whole(ctx context.Context) (rig.Row, error) {
	problems := []error{t.await(ctx, "all that needs nothing of the agent is served while it lies", t.goodNames()...)}
	if err := t.lies(""); err != nil {
		return rig.Row{}, err
	}
	problems = append(problems, t.await(ctx, "all that needs the agent is served", badNames(liarName)...))
	clients, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	for i, c := range []*client{
		{name: "client every 200ms", pace: rig.Every(fastest), beside: badNames(liarName)},
		{name: "client every 1s", pace: rig.Every(time.Second), beside: badNames(liarName)},
		{name: "reconnecting client", pace: rig.Every(100 * time.Millisecond), fetches: 3},
	} {
		c.scene, c.rand, c.metrics = t.scene, rand.New(rand.NewPCG(0, uint64(i))), len(t.model.metrics)
		running.Go(func() { c.run(clients) })
	}
	recorded, err := t.record(func(l *tool) { running.Go(func() { l.run(clients) }) })
	if err != nil {
		return rig.Row{}, err
	}
	compared, err := t.beside(func(l *tool) { running.Go(func() { l.run(clients) }) })
	if err != nil {
		return rig.Row{}, err
	}
	var stands []rig.Fetched
	running.Go(func() { stands = t.stand(clients) })
	rig.Sleep(ctx, t.plan.Honest)

	begin, order := time.Now(), t.lie.Order
	if t.lie.Cost == liar.Dropped && t.plan.Lying < revival {
		order = liar.Once + order // a second loss would take that long
	}
	if err := t.lies(order); err != nil {
		return rig.Row{}, err
	}
	rig.Sleep(ctx, t.plan.Lying/4)
	if _, err := t.conf.Write("late.conf", lateDefinitions()); err != nil {
		return rig.Row{}, err
	}
	problems = append(problems, t.await(ctx, "a new definition that needs nothing of it is served", "derived.late.good"))
	rig.Sleep(ctx, time.Until(begin.Add(t.plan.Lying)))
	end := time.Now()
	if err := t.lies(""); err != nil {
		return rig.Row{}, err
	}
	problems = append(problems, t.await(ctx, "pmcd has the agent again", plainBad),
		t.await(ctx, "all that needs the agent is served again", badNames(liarName)...))
	back := time.Since(end)
	rig.Sleep(ctx, t.plan.Honest)
	cancel()
	running.Wait()
	recorded(ctx)
	compared(ctx)
	return t.row(standing(stands, begin, end), back, errors.Join(problems...)), ctx.Err()
}

// record has pmlogger record what needs nothing of the agent, and returns what judges the archive. A pmlogger that records more ends
// by itself when pmcd tells it an error, or nonsense, of the agent's own instances.
func (t *told) record(run func(*tool)) (judge func(context.Context), err error) {
	if t.plan.Recorded == 0 {
		return func(context.Context) {}, nil
	}
	names := []string{plainName, tracks()[0].metric(atRole), tracks()[0].metric(stepRole), tracks()[0].metric(paceRole)}
	config, err := t.orders.Write("pmlogger.config", fmt.Sprintf("log mandatory on %d sec { %s }\n", t.plan.Recorded/time.Second,
		strings.Join(slices.Concat(names, t.goodNames()), " ")))
	if err != nil {
		return nil, err
	}
	archive := filepath.Join(filepath.Dir(t.pmcd.LogFile), "archive"+startMark)
	run(&tool{scene: t.scene, args: []string{"pmlogger", "-c", config, "-l", archive + ".log", archive}, pause: redial, line: func(string) string { return "" }})
	return func(ctx context.Context) {
		reader := &tool{scene: t.scene, line: t.recordLine(), args: slices.Concat(
			[]string{"pmrep", "-a", strings.ReplaceAll(archive, startMark, "1"), "-u", "-ocsv", "-r"}, names)}
		if err := reader.once(ctx); err != nil {
			t.tally.problem(failedTool, "%v", err)
		}
	}, nil
}

// recordLine judges what pmrep prints of an archive: the time, an operand, and the track of it.
func (t *told) recordLine() func(string) string {
	var last float64 // when the sample before was taken; 0: there is none
	return func(text string) string {
		cells := strings.Split(text, ",")
		if len(cells) != 5 || strings.HasPrefix(text, "Time") {
			return ""
		}
		number := func(i int) float64 {
			x, _ := strconv.ParseFloat(cells[i], 64) // an empty one is 0
			return x
		}
		plain, at, step := number(1), number(2), number(3)
		before := last
		last = at
		switch {
		case plain == 0: // pmcd had no value itself
		case at == 0, before != 0 && step == 0, before != 0 && number(4) == 0:
			t.tally.problem(missingValue, "pmlogger: %s", text)
		case plain-at < -1e9 || plain-at > float64(oldest):
			return "it is of another time"
		case before != 0 && math.Abs(at-step-before) > 1e6:
			return fmt.Sprintf("the step has to be since %.0f", before)
		default:
			t.tally.values.Add(3)
		}
		return ""
	}
}

// lies gives an order.
func (t *told) lies(order string) error {
	_, err := t.orders.Write("lie", order)
	return err
}

// row is the verdict.
func (t *told) row(standing float64, back time.Duration, problem error) rig.Row {
	y := t.tally
	if problem != nil {
		y.tell("%v", problem)
	}
	row := rig.Row{
		What: t.lie.Order, Target: "0 wrong, 0 missing, 0 failed",
		Measured: fmt.Sprintf("%d wrong, %d missing, %d failed of %d values in %d fetches; others' samples at most %.2f s older than plain values; pmcd stood still %.0f %%; its own back after %.1f s",
			y.problems[wrongValue].Load(), y.problems[missingValue].Load(), y.problems[failedCall].Load()+y.problems[failedTool].Load(),
			y.values.Load(), y.fetches.Load(), time.Duration(y.older.Load()).Seconds(), 100*standing, back.Seconds()),
		OK: y.bad() == 0 && problem == nil,
	}
	if t.plan.Recorded > 0 {
		row.Measured += fmt.Sprintf("; %d recorded beside libpcp's", t.compared)
		row.OK = row.OK && (t.compared > 0 || t.plan.Lying < 2*t.plan.Recorded)
	}
	return row
}

// standing is the part of a time in which pmcd stood still: it took longer than usual to answer one who asks it all the time. What an agent costs is only
// known when it has been asked: the time begins with the end of the first one.
func standing(fetches []rig.Fetched, begin, end time.Time) float64 {
	const usual = 50 * time.Millisecond
	var sum time.Duration
	var first time.Time
	for _, f := range fetches {
		took := f.Answered.Sub(f.Sent)
		switch {
		case took < usual || f.Sent.Before(begin) || f.Answered.After(end):
		case first.IsZero():
			first = f.Answered
		default:
			sum += took
		}
	}
	if first.IsZero() {
		return 0
	}
	return float64(sum) / float64(end.Sub(first))
}

// stand fetches a metric of pmcd itself every 10 ms.
func (t *told) stand(ctx context.Context) (all []rig.Fetched) {
	t.persist(ctx, "client of pmcd", func(ctx context.Context, conn *pmapi.Conn) error {
		c, err := rig.LookUp(ctx, conn, "pmcd.numagents")
		if err != nil {
			return err
		}
		return c.FetchAt(ctx, rig.Every(10*time.Millisecond), func(f rig.Fetched) bool {
			all = append(all, rig.Fetched{Sent: f.Sent, Answered: f.Answered})
			return true
		})
	})
	return all
}

// await waits until metrics have values.
func (t *told) await(ctx context.Context, what string, names ...string) error {
	var err error
	for begin := time.Now(); time.Since(begin) < t.plan.Patience && ctx.Err() == nil; rig.Sleep(ctx, 50*time.Millisecond) {
		if err = t.served(ctx, names); err == nil {
			return nil
		}
	}
	return fmt.Errorf("not within %v: %s: %w", t.plan.Patience, what, errors.Join(err, ctx.Err()))
}

// served tells what has no value.
func (t *told) served(ctx context.Context, names []string) error {
	return t.connected(ctx, func(ctx context.Context, conn *pmapi.Conn) error {
		c, err := rig.LookUp(ctx, conn, names...)
		if err != nil {
			return err
		}
		lack := make(map[string]pdu.Code)
		for n := range 2 { // a first fetch may have no delta(), and one right after it has none where there is no newer sample
			f, err := c.Fetch(ctx)
			if err != nil {
				return err
			}
			for i := range f.Sets {
				if _, lacked := lack[names[i]]; len(f.Sets[i].Values) > 0 {
					delete(lack, names[i])
				} else if n == 0 || lacked {
					lack[names[i]] = f.Sets[i].Code
				}
			}
		}
		for name, code := range lack {
			return fmt.Errorf("%s: %w", name, code)
		}
		return nil
	})
}

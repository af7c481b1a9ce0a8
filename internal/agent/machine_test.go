package agent

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/control"
	"pmdaderived/internal/agent/reload"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda"
)

// machine is an agent whose every step is chosen by a test: what clients do, what pmcd does, when samples
// come and when definitions change. It knows from the documentation alone what each fetch must say.
type machine struct {
	*bench
	window  time.Duration // of a first fetch; 0: it has none
	tick    time.Time     // when samples to be kept are asked for next
	again   time.Time     // and when of those of which one is kept at most; zero: never
	cleared time.Time     // when old ones were last forgotten

	generation int
	session    int           // of connections to pmcd
	count      uint64        // what up.count says
	ahead      time.Duration // of pmcd's clock, ours behind it
	bins       int           // bit i: up.bin has the instance i
	asked      *taken        // on its way
	newest     *taken        // that has arrived
	kept       []*taken      // for first fetches, all of them
	keep       bool          // the next one that arrives
	ids        map[string]pdu.PMID
	seen       map[string]*recollection
}

// taken is a sample as the model sees it.
type taken struct {
	count     uint64
	bins      int
	at, taken time.Time
	ahead     time.Duration
	session   int
}

func (s *taken) continues(old *taken) bool { return s.session == old.session && s.ahead == old.ahead }

// recollection is what one context has seen of up.count.
type recollection struct {
	client    pmda.Client
	cur, prev *taken
}

// deed is one step: what, and how much of it.
type deed struct{ what, much byte }

const (
	doFetch = iota
	doEnd
	doPass
	doCount
	doSample
	doAsk
	doArrive
	doReload
	doRestart
	doDisconnect
	doSetClock
	doLook
	doBins
	doCheck
	doWarm
	deeds
)

func (d deed) String() string {
	return fmt.Sprintf("%s %d", [deeds]string{
		"fetch", "end", "pass", "count", "sample", "ask", "arrive", "reload", "restart", "disconnect",
		"set clock", "look", "bins", "check", "warm",
	}[d.what%deeds], d.much)
}

// pauses are what time may do at once, around all that the agent measures time by.
var pauses = [...]time.Duration{
	0, time.Millisecond, freshness.MinStep - 1, freshness.MinStep, 50 * ms, 200 * ms, time.Second, time.Second + 1,
	3 * time.Second, 10 * time.Second, 100 * time.Second,
}

// play does all deeds with a new agent and returns what is wrong.
func play(t *testing.T, warm bool, all []deed) error {
	t.Helper()
	var window time.Duration
	if warm {
		window = 4 * time.Second
	}
	m := &machine{
		bench:  newBench(t, served.Config{}, func(o *Options) { o.Interval = window }),
		window: window, count: 1000, bins: 0b111,
		ids: make(map[string]pdu.PMID), seen: make(map[string]*recollection),
	}
	m.reload(0)
	for i, d := range all {
		if err := m.do(d); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, d, err)
		}
	}
	return nil
}

func (m *machine) do(d deed) error {
	switch d.what % deeds {
	case doFetch:
		return m.fetchAll(pmda.Client(d.much%4), pdu.ContextID(d.much>>2%2), d.much>>3%4)
	case doEnd:
		c := pmda.Client(d.much % 4)
		m.agent.EndContext(c)
		for key, seen := range m.seen {
			if seen.client == c {
				delete(m.seen, key)
			}
		}
		_, known := m.agent.clients[c]
		for key := range m.agent.contexts.byKey {
			known = known || key.client == c
		}
		if known {
			return errors.New("the client is remembered")
		}
	case doPass:
		m.pass(pauses[int(d.much)%len(pauses)])
	case doCount:
		m.count += uint64(d.much) << (d.much % 8)
	case doSample:
		m.ask()
		m.arrive()
	case doAsk:
		m.ask()
	case doArrive:
		m.arrive()
	case doReload:
		m.reload(d.much)
	case doRestart: // what was answered before has arrived before: pmcd does one thing after the other
		m.arrive()
		m.count = uint64(d.much)
	case doDisconnect:
		m.asked = nil
		m.session++
		m.maker.Reset()
	case doSetClock:
		m.ahead = time.Duration(int8(d.much)) * time.Hour //nolint:gosec // wraps on purpose
	case doLook:
		return m.fetchControl(d.much)
	case doBins:
		m.bins = int(d.much % 8)
	case doCheck:
		m.keepWarm()
		m.agent.Before(0, pdu.KindFetch, m.now)
	case doWarm:
		m.keepWarm()
	}
	return nil
}

// keepWarm does what is due, and asks for a sample to be kept, if it is time for that.
func (m *machine) keepWarm() {
	m.agent.upstream.RunDue(m.now)
	if m.now.Sub(m.cleared) >= freshness.ForgetInterval {
		m.cleared = m.now
		oldest := m.now.Add(-freshness.NeverServed - freshness.Reach(m.window))
		m.kept = slices.DeleteFunc(m.kept, func(s *taken) bool { return s.taken.Before(oldest) })
	}
	switch {
	case m.window == 0:
	case !m.now.Before(m.tick):
		m.tick = m.now.Add(m.window / 2)
		m.retain(math.MaxInt)
	case !m.again.IsZero() && !m.now.Before(m.again):
		m.again = time.Time{}
		m.retain(2)
	}
}

// retain has a sample kept if fewer are: the newest one if it is new, else the next.
func (m *machine) retain(fewer int) {
	switch {
	case len(m.kept) >= fewer:
	case m.newest != nil && m.now.Sub(m.newest.taken) < freshness.MinAge:
		if n := len(m.kept); n == 0 || m.kept[n-1] != m.newest {
			m.kept = append(m.kept, m.newest)
		}
		m.keep = false
	default:
		m.keep = true
		m.ask()
	}
}

// reload serves another generation of definitions. c, v and mix are always there, r and d come and go.
func (m *machine) reload(variant byte) {
	m.generation++
	lines := []string{
		fmt.Sprint("first = ", m.generation),
		"c = up.count",
		fmt.Sprint("v = 0 * instant(up.count) + ", m.generation),
		"mix = up.bin - instant(up.count)",
		"bin = up.bin",
		fmt.Sprint("last = ", m.generation),
	}
	if variant%4 != 1 {
		lines = append(lines, "d = delta(up.count)")
	}
	if variant%4 != 2 {
		lines = append(lines, "r = rate(up.count)")
	}
	if variant&4 != 0 {
		slices.Reverse(lines)
	}
	if variant&8 != 0 {
		lines = append(lines, "broken = 1 +", "unbound = no.such")
	}
	m.serve(conf(lines...))
	if m.window > 0 {
		asked := m.asked
		m.again = m.now.Add(100 * ms)
		m.retain(1)
		m.keep, m.asked = false, asked // newBench wants that
	}
	for _, found := range m.site.before.Served {
		m.ids[found.Def.Name] = found.ID
	}
}

func (m *machine) ask() {
	if m.asked == nil {
		m.asked = &taken{count: m.count, bins: m.bins, at: m.now.Add(m.ahead), taken: m.now, ahead: m.ahead}
	}
}

// arrive makes what was asked for a sample, for all series. A pmcd that takes too long is given up.
func (m *machine) arrive() {
	s := m.asked
	m.asked = nil
	if s == nil || m.now.Sub(s.taken) > time.Minute {
		return
	}
	s.session = m.session
	count := pdu.ValueSet{PMID: countID, Format: pdu.Block, Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, s.count)}}
	bins := pdu.ValueSet{PMID: binID, Format: pdu.InSitu}
	for i := range 3 {
		if s.bins>>i&1 != 0 {
			bins.Values = append(bins.Values, pdu.Int32Value(pdu.Inst(i+1), int32(s.count)+int32(i+1))) //nolint:gosec // small
		}
	}
	asked := operand.NewList(m.site.catalog["up.count"], m.site.catalog["up.bin"])
	made := sampleOf(m.maker, result(m.tb, s.at, count, bins), s.taken, m.now, asked)
	m.agent.upstream.Store(made, m.site.before.Series...)
	m.newest = s
	if m.keep {
		m.keep, m.kept = false, append(m.kept, s)
	}
}

// fetchLists are what clients fetch together.
var fetchLists = [4]string{"first c d r v mix last", "last d v first", "d", "mix r bin c"}

// fetchAll fetches one list and compares the answer with the model.
func (m *machine) fetchAll(client pmda.Client, ctx pdu.ContextID, list byte) error {
	names := strings.Fields(fetchLists[list%4])
	names = slices.DeleteFunc(names, func(name string) bool { return m.ids[name] == 0 })
	req := pmda.FetchRequest{Client: client, Context: ctx, Profile: &pdu.Profile{}, Arrived: m.now}
	for _, name := range names {
		req.PMIDs = append(req.PMIDs, m.ids[name])
	}
	sets := m.fetchRequest(&req)
	for i, name := range names {
		key := fmt.Sprint(client, ctx, req.PMIDs, name)
		if err := m.judge(client, key, name, sets[i]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (m *machine) judge(client pmda.Client, key, name string, set pdu.ValueSet) error {
	metric := m.site.before.ServedState(set.PMID)
	if metric == nil {
		delete(m.seen, key)
		if len(set.Values) > 0 {
			return errors.New("a value of what is not defined any more")
		}
		return nil
	}
	if name == "first" || name == "last" {
		return m.is(metric, set, float64(m.generation))
	}
	stale := m.newest == nil || m.now.Sub(m.newest.taken) > freshness.AlwaysServed
	switch {
	case set.Code == pdu.ErrAgain && stale:
		return nil
	case set.Code < 0:
		return set.Code
	case m.newest == nil || m.now.Sub(m.newest.taken) > freshness.NeverServed:
		return errors.New("a value without a sample that is young enough")
	}
	switch name {
	case "c":
		return m.is(metric, set, float64(m.newest.count))
	case "v":
		return m.is(metric, set, float64(m.generation))
	case "mix", "bin":
		return m.judgeBins(metric, name, set)
	}
	return m.judgeChange(client, key, name, metric, set)
}

func (m *machine) judgeBins(of *reload.ServedState, name string, set pdu.ValueSet) error {
	bins := 0
	for _, v := range set.Values {
		if v.Inst < 1 || v.Inst > 3 || bins>>(v.Inst-1)&1 != 0 {
			return fmt.Errorf("instance %d", v.Inst)
		}
		bins |= 1 << (v.Inst - 1)
		want := float64(v.Inst)
		if name == "bin" {
			want += float64(m.newest.count)
		}
		if got := v.TypeOr(of.Served.Desc.Type).Float64(v.Bits); got != want {
			return fmt.Errorf("instance %d is %v instead of %v", v.Inst, got, want)
		}
	}
	if bins != m.newest.bins {
		return fmt.Errorf("instances %03b instead of %03b", bins, m.newest.bins)
	}
	return nil
}

// judgeChange is the model of delta() and rate(): pmRegisterDerived(3), for each context on its own.
func (m *machine) judgeChange(client pmda.Client, key, name string, of *reload.ServedState, set pdu.ValueSet) error {
	seen := m.seen[key]
	if seen == nil {
		seen = &recollection{client: client}
		m.seen[key] = seen
	}
	n := m.newest
	switch {
	case seen.cur == nil || !n.continues(seen.cur):
		seen.cur, seen.prev = n, m.older(n)
	case n.at.After(seen.cur.at):
		seen.cur, seen.prev = n, seen.cur
	case name == "d": // what it counts it has counted
		return m.none(set)
	}
	if seen.prev == nil {
		return m.none(set)
	}
	if name == "r" && seen.cur.count < seen.prev.count { // it was restarted
		return m.none(set)
	}
	return m.is(of, set, change(name, seen.cur, seen.prev))
}

// older is the sample that a first value after one is computed from, nil if there is none: the youngest of those kept
// that is a window older, or, where none is, the oldest.
func (m *machine) older(cur *taken) (older *taken) {
	for _, s := range m.kept {
		switch gap := cur.at.Sub(s.at); {
		case !cur.continues(s) || gap < freshness.MinStep || gap > time.Minute || m.window == 0:
		case gap >= m.window || older == nil:
			older = s
		}
	}
	return older
}

// change is how much up.count has grown, which is negative after a restart, for rate in a second.
func change(name string, cur, prev *taken) float64 {
	grown := float64(int64(cur.count - prev.count)) //nolint:gosec // wraps on purpose
	if name == "r" {
		return grown / cur.at.Sub(prev.at).Seconds()
	}
	return grown
}

func (m *machine) none(set pdu.ValueSet) error {
	if len(set.Values) > 0 {
		return fmt.Errorf("%v instead of no value", set.Values)
	}
	return nil
}

func (m *machine) is(of *reload.ServedState, set pdu.ValueSet, want float64) error {
	if len(set.Values) != 1 {
		return fmt.Errorf("%d values, %w, instead of %v", len(set.Values), set.Code, want)
	}
	v := set.Values[0]
	got := v.TypeOr(of.Served.Desc.Type).Float64(v.Bits)
	if v.Inst != pdu.NoInst || math.Abs(got-want) > 1e-9*math.Abs(want) {
		return fmt.Errorf("%v instead of %v", got, want)
	}
	return nil
}

// fetchControl fetches a control metric and checks that each of its instances has a name.
func (m *machine) fetchControl(item byte) error {
	all := m.agent.snapshot.Load()
	id := pdu.NewPMID(testDomain, control.Cluster, int(item))
	desc, err := m.agent.Desc(0, id)
	if err != nil || desc.InDom == pdu.NoInDom {
		return nil
	}
	sets := m.fetchRequest(&pmda.FetchRequest{Client: 9, Profile: &pdu.Profile{}, PMIDs: []pdu.PMID{id}, Arrived: m.now})
	named, err := m.agent.Instances(0, desc.InDom)
	if err != nil {
		return err
	}
	for _, v := range sets[0].Values {
		i := slices.IndexFunc(named, func(in pdu.Instance) bool { return in.ID == v.Inst })
		if i < 0 || named[i].Name == "" {
			return fmt.Errorf("instance %d of %s has no name, of %d definitions", v.Inst, id, len(all.ServedStates))
		}
	}
	return nil
}

// shrunk leaves out all deeds that a failure does not need.
func shrunk(t *testing.T, warm bool, all []deed) []deed {
	t.Helper()
	for size := len(all) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(all); {
			less := slices.Concat(all[:at], all[at+size:])
			if play(t, warm, less) != nil {
				all = less
			} else {
				at += size
			}
		}
	}
	return all
}

// check plays and, where something is wrong, says how little it takes.
func check(t *testing.T, warm bool, all []deed) {
	t.Helper()
	if play(t, warm, all) == nil {
		return
	}
	all = shrunk(t, warm, all)
	lines := make([]string, len(all))
	for i, d := range all {
		lines[i] = d.String()
	}
	require.NoError(t, play(t, warm, all), "older samples used: %v\n%s", warm, strings.Join(lines, "\n"))
}

// Whatever clients, pmcd and the administrator do in whatever order: no fetch mixes definitions of two
// times, no metric mixes samples, no delta or rate is wrong, and no instance of ours is without a name.
func TestMachine(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test
		all := make([]deed, 200)
		for i := range all {
			d := deed{byte(rng.IntN(deeds)), byte(rng.Uint32())}
			if rng.IntN(2) == 0 { // what happens most
				d.what = [...]byte{doFetch, doPass, doSample, doCount}[rng.IntN(4)]
			}
			all[i] = d
		}
		check(t, seed%2 == 0, all)
	}
}

// FuzzMachine is TestMachine with steps that the fuzzer thinks of.
func FuzzMachine(f *testing.F) {
	f.Add(false, []byte{doSample, 0, doFetch, 0, doPass, 6, doCount, 7, doSample, 0, doFetch, 0})
	f.Add(
		true,
		[]byte{doSample, 0, doPass, 8, doCount, 9, doSample, 0, doFetch, 0, doReload, 1, doFetch, 0, doReload, 0, doFetch, 0},
	)
	f.Add(false, []byte{
		doSample, 0, doFetch, 8, doRestart, 3, doPass, 4, doSample, 0, doFetch, 8, doPass, 4, doCount, 1, doSample, 0,
		doFetch, 8,
	})
	f.Add(true, []byte{
		doAsk, 0, doPass, 5, doSetClock, 255, doArrive, 0, doFetch, 1, doSample, 0, doPass, 3, doFetch, 1, doEnd, 1,
		doFetch, 1,
	})
	f.Add(false, []byte{
		doSample, 0, doFetch, 16, doReload, 1, doFetch, 16, doPass, 5, doCount, 9, doSample, 0, doReload, 0, doFetch,
		16,
	})
	f.Add(
		false,
		[]byte{doReload, 15, doLook, 4, doBins, 5, doSample, 0, doFetch, 24, doDisconnect, 0, doPass, 10, doFetch, 24},
	)
	f.Add(
		true,
		[]byte{doSample, 0, doFetch, 0, doPass, 10, doCheck, 0, doFetch, 0, doSample, 0, doFetch, 0, doEnd, 8, doFetch, 0},
	)
	f.Fuzz(func(t *testing.T, warm bool, steps []byte) {
		var all []deed
		for steps = steps[:min(len(steps), 2000)]; len(steps) > 1; steps = steps[2:] {
			all = append(all, deed{steps[0], steps[1]})
		}
		check(t, warm, all)
	})
}

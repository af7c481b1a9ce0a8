package slow

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/pdu"
)

const (
	ms     = time.Millisecond
	second = time.Second
)

func agent(domain int) Budget { return AgentBudget(Values, domain) }

// Agents are slow when several requests in a row were, that they had alone, and get a tenth of pmcd's time then.
func TestAgents(t *testing.T) {
	type fetch struct {
		agents []int
		took   time.Duration
		silent bool
	}
	one, both := []int{1}, []int{1, 2}
	for _, row := range []struct {
		name        string
		fetches     []fetch
		quarantined []int         // suspects afterwards
		rest        time.Duration // of agent 1; 0: none
	}{
		{"quick", []fetch{{both, Long - 1, false}}, nil, 0},
		{"slow once", []fetch{{both, Long, false}}, both, 0},
		{"slow once, then quick", []fetch{{both, second, false}, {one, 0, false}}, []int{2}, 0},
		{"slow once, then silent", []fetch{{both, second, false}, {one, 0, true}}, both, 0},
		{"slow twice", []fetch{{one, second, false}, {one, 3 * second, false}}, one, 36 * second},
		{"slow together, then alone", []fetch{{both, 2 * second, false}, {one, 2 * second, false}}, both, 35*second + 10},
		{"slow again after a rest", []fetch{{one, second, false}, {one, 3 * second, false}, {one, 2 * second, false}}, one, 18 * second},
		{"slow after silence", []fetch{{one, 5 * second, false}, {one, 0, true}, {one, 5 * second, false}}, one, 90 * second},
		{"one incident", []fetch{{one, Long, false}, {one, incidentTime - 1, false}}, one, 0},
		{"several in one", []fetch{{one, second, false}, {one, second / 2, false}, {one, second/2 - 1, false}}, one, 0},
		{"too long for one", []fetch{{one, second, false}, {one, second / 2, false}, {one, second / 2, false}}, one, 18 * second},
		{"one, then quick", []fetch{{one, second, false}, {one, 0, false}}, nil, 0},
		{"slow, quick, slow", []fetch{{one, second, false}, {one, 0, false}, {one, second, false}}, one, 0},
		{"too often", []fetch{{one, 2 * second, false}, {one, 0, false}, {one, 2 * second, false}}, one, 36 * second},
		{"never alone", []fetch{{both, 2 * second, false}, {both, 2 * second, false}, {both, 2 * second, false}}, both, 0},
		{"slow, then quick", []fetch{{one, second, false}, {one, second, false}, {one, ms, false}}, nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := make(States)
			now := time.Now()
			slow := map[Budget]bool{}
			for _, f := range row.fetches {
				r := Request{AgentTime: f.took, Mixed: len(f.agents) > 1}
				for _, d := range f.agents {
					r.Budgets = append(r.Budgets, agent(d))
				}
				for s.Resting(now, r.Budgets...) {
					now = now.Add(ms)
				}
				s.SetOutstanding(r.Budgets)
				now = now.Add(f.took)
				r.Ended = now
				if !f.silent {
					r.HaveValues = f.agents
				}
				slowed, recovered := s.Charge(r)
				for _, of := range slowed {
					slow[of] = true
				}
				for _, of := range recovered {
					slow[of] = false
				}
				if slow[agent(1)] {
					assert.True(t, s.Resting(now.Add(time.Hour), agent(1)), "nobody knows how long it will take")
				}
				s.ClearOutstanding(r.Budgets)
			}
			var quarantined []int
			for d := range 4 {
				if s.Suspected(agent(d)) {
					quarantined = append(quarantined, d)
				}
			}
			assert.Equal(t, row.quarantined, quarantined)
			assert.Equal(t, row.rest > 0, slow[agent(1)])
			if row.rest > 0 {
				assert.True(t, s.Resting(now.Add(row.rest-10), agent(1), agent(3)))
				assert.Positive(t, s.CountSlowAgents())
			} else {
				assert.Zero(t, s.CountSlowAgents())
			}
			assert.False(t, s.Resting(now.Add(row.rest), agent(1), agent(3)))
			assert.False(t, s.Resting(now, agent(2)), "it was never slow alone")
		})
	}
}

// In the long run an agent that is slow gets a tenth of pmcd's time, also one that is quick now and then.
func TestShareOfPMCD(t *testing.T) {
	for _, row := range []struct {
		took  []time.Duration // by turns
		every time.Duration
	}{
		{[]time.Duration{200 * ms}, 0},
		{[]time.Duration{500 * ms}, second},
		{[]time.Duration{4 * second}, second},
		{[]time.Duration{400 * ms, 400 * ms, ms}, 100 * ms},
		{[]time.Duration{300 * ms, 300 * ms, 300 * ms, ms}, 200 * ms},
		{[]time.Duration{450 * ms, 450 * ms, ms}, 500 * ms},
		{[]time.Duration{300 * ms, 300 * ms, 300 * ms, 300 * ms, ms}, 333 * ms},
		{[]time.Duration{900 * ms, ms}, second},
	} {
		s, one := make(States), agent(1)
		begin := time.Now()
		now, n, busy := begin, 0, time.Duration(0)
		for now.Sub(begin) < 20*time.Minute {
			if s.Resting(now, one) {
				now = now.Add(max(row.every, ms))
				continue
			}
			took := row.took[n%len(row.took)]
			n++
			s.SetOutstanding([]Budget{one})
			now, busy = now.Add(took), busy+took
			s.Charge(Request{Budgets: []Budget{one}, HaveValues: []int{1}, AgentTime: took, Ended: now})
			s.ClearOutstanding([]Budget{one})
			now = now.Add(max(0, row.every-took))
		}
		assert.InDelta(t, 0.1, float64(busy)/float64(now.Sub(begin)), 0.015, "%v every %v", row.took, row.every)
	}
}

// asker has operands of some agents.
type asker struct {
	name    string
	domains []int
	wants   time.Duration // how often it is wanted

	budgets []Budget
	due     time.Duration
	waiting bool
	longest time.Duration // without a sample
	sampled time.Duration // the last time
}

func (a *asker) Budgets() []Budget { return a.budgets }
func (a *asker) Width() int        { return len(a.domains) }

// collector is a pmcd that does one thing at a time for askers. What an operand of an agent takes is told by who asks.
type collector struct {
	States
	askers []*asker
	takes  func(a *asker, domains []int, n int) time.Duration // the nth time
	now    time.Duration
	asked  int
	busy   time.Duration // with long requests
}

// run lets askers ask for some time as package upstream does it: all that wait together, those in quarantine
// quarantined.
func (c *collector) run(length time.Duration) {
	start := time.Now()
	for _, a := range c.askers {
		a.budgets = Budgets(a.domains)
	}
	for c.now < length {
		var together, quarantined []*asker
		for _, a := range c.askers {
			if c.now >= a.due {
				a.due = c.now + a.wants
				a.waiting = a.waiting || !c.Resting(start.Add(c.now), a.budgets...)
			}
			switch {
			case !a.waiting:
			case c.Resting(start.Add(c.now), a.budgets...):
				a.waiting = false
			case c.Suspected(a.budgets...):
				quarantined = append(quarantined, a)
			default:
				together = append(together, a)
			}
		}
		r := Request{}
		served, probe := together, false
		switch {
		case len(together) > 0:
			for _, a := range together {
				r.AddBudgets(a.budgets)
			}
		case len(quarantined) > 0:
			served, r.Budgets, probe = ChooseNext(c.States, quarantined, 4000)
			c.SetOutstanding(r.Budgets)
		default:
			c.now += ms
			continue
		}
		c.asked++
		r.AgentTime = ms / 10
		for _, a := range served {
			asked := a.domains
			if probe {
				asked = []int{r.Budgets[0].Domain}
			}
			r.AgentTime = max(r.AgentTime, c.takes(a, asked, c.asked))
			r.HaveValues = append(r.HaveValues, asked...)
		}
		c.now += r.AgentTime
		if r.AgentTime >= Long {
			c.busy += r.AgentTime
		}
		r.Ended = start.Add(c.now)
		c.Charge(r)
		c.ClearOutstanding(r.Budgets)
		if probe && r.AgentTime < Long {
			c.RecordProbe(served[0].budgets)
			continue
		}
		for _, a := range served {
			a.waiting = false
			if !probe {
				a.longest = max(a.longest, c.now-a.sampled)
				a.sampled = c.now
			}
		}
	}
}

// eachThirdTime returns the times of agent 1, which takes 0.9 s for each third of its fetches.
func eachThirdTime() func(a *asker, domains []int, n int) time.Duration {
	asked := 0
	return func(_ *asker, domains []int, _ int) time.Duration {
		if !slices.Contains(domains, 1) {
			return 0
		}
		if asked++; asked%3 > 0 {
			return 0
		}
		return 900 * ms
	}
}

// Whoever is slow, others are sampled as if it were quick, but while pmcd stands still, and that is a tenth of its
// time.
func TestOthersAreNotSlow(t *testing.T) {
	type takes = func(a *asker, domains []int, n int) time.Duration
	slow := func(took time.Duration, domain int) takes {
		return func(_ *asker, domains []int, _ int) time.Duration {
			if slices.Contains(domains, domain) {
				return took
			}
			return 0
		}
	}
	for _, row := range []struct {
		name   string
		askers []*asker
		takes  takes
		share  float64 // of pmcd's time
	}{
		{
			"in one definition with a fast one", []*asker{
				{name: "mixed", domains: []int{1, 2}, wants: second},
				{name: "fast", domains: []int{2}, wants: second},
			}, slow(2*second, 1), 0.11,
		},
		{
			"alone and with fast ones", []*asker{
				{name: "slow", domains: []int{1}, wants: second},
				{name: "mixed", domains: []int{1, 2}, wants: second},
				{name: "mixed", domains: []int{1, 3}, wants: second / 5},
				{name: "fast", domains: []int{2}, wants: second},
				{name: "fast", domains: []int{3}, wants: 10 * second},
				{name: "fast", domains: []int{2, 3}, wants: 10 * second},
			}, slow(2*second, 1), 0.11,
		},
		{
			"never alone, with each of others", []*asker{
				{name: "mixed", domains: []int{1, 2}, wants: second},
				{name: "mixed", domains: []int{1, 3}, wants: second},
				{name: "mixed", domains: []int{1, 4}, wants: second},
				{name: "mixed", domains: []int{1, 5}, wants: second},
				{name: "fast", domains: []int{2}, wants: second},
				{name: "fast", domains: []int{2, 3}, wants: second},
			}, slow(2*second, 1), 0.11,
		},
		{
			"with some of its metrics only", []*asker{
				{name: "mixed", domains: []int{1, 2}, wants: second},
				{name: "fast", domains: []int{1}, wants: second / 3},
				{name: "fast", domains: []int{2}, wants: second},
			}, func(a *asker, domains []int, _ int) time.Duration {
				if slices.Contains(domains, 1) && a.name == "mixed" {
					return 2 * second
				}
				return 0
			}, 0.11,
		},
		{
			"only with another one", []*asker{
				{name: "mixed", domains: []int{1, 2}, wants: second},
				{name: "fast", domains: []int{1}, wants: second},
				{name: "fast", domains: []int{2}, wants: second},
			}, func(_ *asker, domains []int, _ int) time.Duration { return time.Duration(len(domains)-1) * 2 * second }, 0.11,
		},
		{
			"now and then, with others above all", []*asker{
				{name: "mixed", domains: []int{1, 2}, wants: second},
				{name: "slow", domains: []int{1}, wants: second},
				{name: "fast", domains: []int{2}, wants: second},
			}, func(_ *asker, domains []int, n int) time.Duration {
				if slices.Contains(domains, 1) && n%3 == 0 {
					return second
				}
				return 0
			}, 0.11,
		},
		{
			"each third time, with others", []*asker{
				{name: "slow", domains: []int{1}, wants: second},
				{name: "fast", domains: []int{2}, wants: second},
			}, eachThirdTime(), 0.11,
		},
		{
			"each third time, in several definitions with others", []*asker{
				{name: "mixed", domains: []int{1, 2}, wants: second},
				{name: "mixed", domains: []int{1, 3}, wants: second},
				{name: "fast", domains: []int{2}, wants: second},
			}, eachThirdTime(), 0.12,
		},
		{
			"each third time, alone", []*asker{{name: "slow", domains: []int{1}, wants: second}}, eachThirdTime(), 0.11,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &collector{States: make(States), askers: row.askers, takes: row.takes}
			c.run(10 * time.Minute)
			assert.LessOrEqual(t, float64(c.busy)/float64(c.now), row.share)
			for _, a := range c.askers {
				most := a.wants + 2*2*second // the first fetch, and one that pmcd is busy with
				if a.name != "fast" {
					most = 100 * second
				}
				assert.LessOrEqual(t, a.longest, most, "%s %v", a.name, a.domains)
				assert.Positive(t, a.longest)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	const long = Long
	for _, row := range []struct {
		name      string
		asked     []time.Duration // when pmcd asked for something
		sent, now time.Duration
		want      time.Duration
	}{
		{"never asked", nil, 0, 3 * long, 3 * long},
		{"asked before", []time.Duration{0}, long, 3 * long, 2 * long},
		{"asked all the time", []time.Duration{0, long / 2, long, 3 * long / 2}, 0, 2 * long, 0},
		{"asked in the middle", []time.Duration{0, 3 * long}, 0, 5 * long, 3 * long},
		{"not much of the busy interval", []time.Duration{0, 3 * long}, 5 * long / 2, 7 * long / 2, 0},
		{"enough of it", []time.Duration{0, 3 * long}, 2 * long, 7 * long / 2, long},
		{"since it asked", []time.Duration{0, long}, 0, 9 * long, 8 * long},
		{"a longer one before the last", []time.Duration{0, 3 * long, 3*long + 1}, 0, 4 * long, 3 * long},
		{"asked since", []time.Duration{0, 3 * long, 3*long + 1}, 0, 3 * long, 3 * long},
		{"of two long ones the last", []time.Duration{0, 3 * long, 4 * long}, 0, 5 * long, long},
		{"short", []time.Duration{0}, long, 2*long - 1, long - 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			begin := time.Now()
			var b BlockedTimes
			for _, at := range row.asked {
				b.RecordRequest(begin.Add(at))
			}
			b.StartLookup(begin.Add(row.sent))
			stood := b.BlockedBy(begin.Add(row.now))
			assert.Equal(t, row.want, b.EndLookup(begin.Add(row.now)))
			assert.Equal(t, b.Blocked, stood, "known before the answer is noted")
		})
	}
}

// What is looked up is charged to who has to answer it. Who is slow with that may not be asked, and suspects not for
// several items at once.
func TestTracker(t *testing.T) {
	names := func(names ...string) pdu.Message { return &pdu.PMNSNames{Names: names} }
	desc := func(domain int) pdu.Message { return &pdu.DescReq{PMID: pdu.NewPMID(domain, 0, 0)} }
	instances := func(domain int) pdu.Message { return &pdu.InstanceReq{InDom: pdu.NewInDom(domain, 0)} }
	labels := &pdu.LabelReq{Ident: uint32(pdu.NewInDom(1, 0)), Type: pdu.LabelInstances}
	descs := &pdu.DescIDs{PMIDs: []pdu.PMID{pdu.NewPMID(1, 0, 0), pdu.NewPMID(3, 0, 0)}}
	for _, row := range []struct {
		name    string
		slow    []pdu.Message // each takes a second
		refused []pdu.Message
		allowed []pdu.Message
	}{
		{"nobody", nil, nil, []pdu.Message{names("a.x", "b.x"), desc(1), descs, instances(1)}},
		{"instances", []pdu.Message{instances(1), instances(1)}, []pdu.Message{instances(1)}, []pdu.Message{instances(2), desc(1), descs, names("a", "b")}},
		{"labels", []pdu.Message{labels, labels}, []pdu.Message{labels, instances(1)}, []pdu.Message{instances(2), desc(1)}},
		{"descriptors", []pdu.Message{desc(1), desc(1)}, []pdu.Message{desc(1), descs}, []pdu.Message{desc(2), instances(1)}},
		{"one of several descriptors", []pdu.Message{descs}, []pdu.Message{descs}, []pdu.Message{desc(1), desc(3), instances(1)}},
		{"names", []pdu.Message{names("a.x"), names("a.y")}, []pdu.Message{names("a.z"), names("a"), names("b", "a")}, []pdu.Message{names("b", "ab"), desc(1)}},
		{"one of several names", []pdu.Message{names("a.x", "b.x")}, []pdu.Message{names("c", "a.x"), names("b.x", "b.y")}, []pdu.Message{names("a.x"), names("b.y"), names("c", "d")}},
		{"fetches", nil, nil, []pdu.Message{&pdu.Profile{}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := Tracker{States: make(States)}
			now := time.Now()
			ask := func(req pdu.Message, took time.Duration) {
				require.Zero(t, l.AdmitLookup(req, now), req)
				now = now.Add(took)
				l.RecordReply(req, 0, now)
			}
			for _, req := range row.slow {
				ask(req, second)
			}
			for _, req := range row.refused {
				assert.Equal(t, pdu.ErrAgain, l.AdmitLookup(req, now), req)
			}
			for _, req := range row.allowed {
				assert.Zero(t, l.AdmitLookup(req, now), req)
			}
			now = now.Add(time.Minute)
			for _, req := range row.slow {
				if of, _ := budgetsOf(req); len(of) == 1 {
					ask(req, 0)
				}
			}
			for _, req := range row.slow {
				assert.Equal(t, len(row.slow) == 1, l.AdmitLookup(req, now) < 0, "that are not asked again remain suspects")
			}
		})
	}
}

// Who has not just answered quickly is asked for one item, then for twice as many as it has answered.
func TestTrust(t *testing.T) {
	l := Tracker{States: make(States)}
	now := time.Now()
	subtree := func(name string, items int) *pdu.PMNSNames {
		return &pdu.PMNSNames{Names: slices.Repeat([]string{name + ".x"}, items)}
	}
	both := &pdu.PMNSNames{Names: append(subtree("a", 8).Names, subtree("b", 2).Names...)}
	assert.Equal(t, pdu.ErrAgain, l.AdmitLookup(subtree("a", 2), now))
	for _, items := range []int{1, 2, 4} {
		require.Zero(t, l.AdmitLookup(subtree("a", items), now))
		l.RecordReply(subtree("a", items), 0, now)
		assert.Equal(t, pdu.ErrAgain, l.AdmitLookup(subtree("a", 2*items+1), now))
	}
	assert.Equal(t, pdu.ErrAgain, l.AdmitLookup(both, now), "of the other one nothing is known")
	require.Zero(t, l.AdmitLookup(subtree("b", 1), now))
	l.RecordReply(subtree("b", 1), 0, now)
	assert.Zero(t, l.AdmitLookup(both, now))
	assert.Equal(t, pdu.ErrAgain, l.AdmitLookup(subtree("a", 2), now.Add(quickTime)), "it may be another one by now")
	assert.Zero(t, l.AdmitLookup(subtree("pmcd", 1000), now), "pmcd answers these by itself")
}

// A quick answer clears agents together only with values of each of them, and an agent only with values of its own,
// whoever else is charged for the request.
func TestWhoIsCleared(t *testing.T) {
	of := Budgets([]int{1, 2})
	both := of[2]
	for _, row := range []struct {
		name    string
		charged []Budget
		values  []int
		cleared []Budget
	}{
		{"all have values", of, []int{1, 2}, of},
		{"all have values, others not", append(of[:3:3], agent(3)), []int{1, 2}, of},
		{"one has none", of, []int{1}, of[:1]},
		{"one has none, and they are charged together", of[2:], []int{1}, nil},
		{"nobody has any", of, nil, nil},
		{"they are charged together", of[2:], []int{1, 2}, of[2:]},
		{"one is asked alone", of[:1], []int{1}, of[:1]},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := make(States)
			now := time.Now()
			for _, b := range append(of, agent(3)) {
				for range 2 {
					now = now.Add(incidentTime)
					s.Charge(Request{Budgets: []Budget{b}, AgentTime: Long, Ended: now})
				}
			}
			require.Equal(t, of, s.SlowOf(of...))
			_, recovered := s.Charge(Request{Budgets: row.charged, HaveValues: row.values, Ended: now})
			assert.Equal(t, row.cleared, recovered)
			assert.Equal(t, slices.Contains(row.cleared, both), s.SlowOf(both) == nil)
		})
	}
}

// A code does not clear: pmcd has one at once for an agent that it has given up.
func TestCodesClearNobody(t *testing.T) {
	l := Tracker{States: make(States)}
	req := &pdu.InstanceReq{InDom: pdu.NewInDom(1, 0)}
	now := time.Now()
	for range 2 {
		l.AdmitLookup(req, now)
		now = now.Add(5 * second)
		l.RecordReply(req, pdu.ErrAgain, now)
	}
	assert.Equal(t, 1, l.CountSlowAgents())
	now = now.Add(time.Hour)
	assert.Zero(t, l.AdmitLookup(req, now))
	l.RecordReply(req, pdu.ErrNoAgent, now)
	assert.Equal(t, 1, l.CountSlowAgents())
}

// While a fetch and something that is looked up wait for each other, the time is put down to the one that pmcd was busy
// with, in whatever order the answers are noted.
func TestWhatPMCDWasBusyWith(t *testing.T) {
	begin := time.Now()
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	pmcd := begin.Add(time.Hour) // its clock
	type request struct{ sent, complete, noted time.Duration }
	for _, row := range []struct {
		name            string
		fetch, lookedUp request
		want            [2]time.Duration // what is put down to them
	}{
		{"fetch first", request{0, 2 * second, 2*second + ms}, request{second, 2*second + ms, 2*second + 2*ms}, [2]time.Duration{2*second + ms, ms}},
		{"lookup first", request{second, 2*second + ms, 2*second + 2*ms}, request{0, 2 * second, 2*second + ms}, [2]time.Duration{ms, 2*second + ms}},
		{"lookup first, and noted last", request{second, 2*second + ms, 2*second + 2*ms}, request{0, 2 * second, 2*second + 3*ms}, [2]time.Duration{0, 2*second + 3*ms}},
		{"apart", request{0, second, second}, request{3 * second, 5 * second, 5 * second}, [2]time.Duration{second, 2 * second}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b BlockedTimes
			b.RecordFetch(at(-second), pmcd.Add(-second), at(-second))
			var got [2]time.Duration
			var began time.Time
			fetch := func() {
				began, _, got[0] = b.RecordFetch(at(row.fetch.sent), pmcd.Add(row.fetch.complete), at(row.fetch.noted))
			}
			b.StartLookup(at(row.lookedUp.sent))
			if row.fetch.noted < row.lookedUp.noted {
				fetch()
			}
			got[1] = b.EndLookup(at(row.lookedUp.noted))
			if row.fetch.noted > row.lookedUp.noted {
				fetch()
			}
			assert.Equal(t, row.want, got)
			if row.fetch.sent > 0 {
				assert.Less(t, at(2*second).Sub(began), 10*ms, "it is no older")
			}
		})
	}
}

// A sample that had to wait for another one is as old as it is, and not as old as its request. None is older than it
// seems.
func TestBeganNotBefore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	begin := time.Now()
	at := func(d time.Duration) time.Time { return begin.Add(d) }
	var b BlockedTimes
	free, offset := time.Duration(0), time.Hour // when pmcd has time; by how much its clock is ahead
	waited := 0
	for n := range 5000 {
		sent := free + time.Duration(random.Int64N(int64(ms)))
		if n%10 == 9 { // while pmcd is busy with another one, whose answer comes in time
			sent = free - min(free, 2*second)/2
		}
		began := max(sent, free)
		took := ms/5 + time.Duration(random.Int64N(int64(ms)))
		if n%10 == 8 {
			took = 2 * second
		}
		if n == 2500 {
			offset -= 10 * time.Minute
		}
		free = began + took
		read := free + time.Duration(random.Int64N(int64(ms)))
		got, _, _ := b.RecordFetch(at(sent), at(free+offset), at(read))
		assert.False(t, got.After(at(began+ms/100)), "taken earlier than that")
		assert.False(t, got.Before(at(sent)))
		if began-sent > second/2 && at(began).Sub(got) < 20*ms {
			waited++
		}
	}
	assert.Greater(t, waited, 490)
}

// An agent counts once, whatever it is slow with, and with whom.
func TestSlowAgentCountsOnce(t *testing.T) {
	s := make(States)
	begin := time.Now()
	slow := func(of ...Budget) {
		for i := range 2 {
			s.Charge(Request{Budgets: of, AgentTime: second, Ended: begin.Add(time.Duration(i) * time.Minute)})
		}
	}
	slow(Budgets([]int{1, 2})...)
	assert.Equal(t, 1, s.CountSlowAgents())
	slow(agent(2))
	slow(AgentBudget(Instances, 2))
	assert.Equal(t, 1, s.CountSlowAgents())
	slow(agent(3))
	assert.Equal(t, 2, s.CountSlowAgents())
}

// A quick answer does not pay a debt: only time does.
func TestDebtIsPaidByTime(t *testing.T) {
	s, begin := make(States), time.Now()
	fetch := func(after, took time.Duration) {
		s.Charge(Request{Budgets: []Budget{agent(1)}, HaveValues: []int{1}, AgentTime: took, Ended: begin.Add(after)})
	}
	fetch(0, 2*second)
	fetch(2*second, 2*second)
	assert.True(t, s.Resting(begin.Add(3*second), agent(1)))
	fetch(3*second, 0) // it was on its way
	fetch(5*second, 2*second)
	assert.True(t, s.Resting(begin.Add(40*second), agent(1)))
	assert.False(t, s.Resting(begin.Add(60*second), agent(1)))
}

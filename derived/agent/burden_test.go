package agent

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

const second = time.Second

// Agents are slow when several fetches in a row were, and get a tenth of pmcd's time then.
func TestBurdens(t *testing.T) {
	type fetch struct {
		agents []int
		took   time.Duration
		silent bool
	}
	one, both := []int{1}, []int{1, 2}
	for _, row := range []struct {
		name    string
		fetches []fetch
		apart   []int         // suspects afterwards
		rest    time.Duration // of agent 1; 0: none
	}{
		{"quick", []fetch{{both, burdensome - 1, false}}, nil, 0},
		{"slow once", []fetch{{both, burdensome, false}}, both, 0},
		{"slow once, then quick", []fetch{{both, second, false}, {one, 0, false}}, []int{2}, 0},
		{"slow once, then silent", []fetch{{both, second, false}, {one, 0, true}}, both, 0},
		{"slow twice", []fetch{{one, second, false}, {one, 3 * second, false}}, one, 36 * second},
		{"slow again after a rest", []fetch{{one, second, false}, {one, 3 * second, false}, {one, 2 * second, false}}, one, 18 * second},
		{"slow after silence", []fetch{{one, 5 * second, false}, {one, 0, true}, {one, 5 * second, false}}, one, 90 * second},
		{"a hiccup", []fetch{{one, burdensome, false}, {one, hiccup - 1, false}}, one, 0},
		{"several in one", []fetch{{one, second, false}, {one, second / 2, false}, {one, second/2 - 1, false}}, one, 0},
		{"too long for one", []fetch{{one, second, false}, {one, second / 2, false}, {one, second / 2, false}}, one, 18 * second},
		{"one, then quick", []fetch{{one, second, false}, {one, 0, false}}, nil, 0},
		{"several in one, then quick", []fetch{{one, second, false}, {one, second / 2, false}, {one, 0, false}}, one, 0},
		{
			"quick now and then",
			[]fetch{{one, second, false}, {one, second / 2, false}, {one, second / 4, false}, {one, 0, false}, {one, second / 4, false}},
			one, 18 * second,
		},
		{"two that share", []fetch{{both, second, false}, {both, second, false}}, both, 36 * second},
		{"slow, then quick", []fetch{{one, second, false}, {one, second, false}, {one, ms, false}}, nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := make(burdens)
			now := time.Now()
			slow := map[int]bool{}
			for _, f := range row.fetches {
				b.begin(f.agents)
				now = now.Add(f.took)
				b.end(f.agents, f.took, now, func(int) bool { return f.silent }, func(d int, is bool) { slow[d] = is })
				if slow[1] {
					assert.True(t, b.resting([]int{1}, now.Add(time.Hour)), "nobody knows how long it will take")
				}
				b.answered(f.agents)
			}
			assert.Equal(t, row.apart, b.of([]int{1, 2, 3}))
			assert.Equal(t, row.rest > 0, slow[1])
			if row.rest > 0 {
				assert.True(t, b.resting([]int{1, 3}, now.Add(row.rest-1)))
				assert.Positive(t, b.slow())
			} else {
				assert.Zero(t, b.slow())
			}
			assert.False(t, b.resting([]int{1, 3}, now.Add(row.rest)))
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
	} {
		b, agent := make(burdens), []int{1}
		begin := time.Now()
		now, n, busy := begin, 0, time.Duration(0)
		for now.Sub(begin) < time.Hour {
			if b.resting(agent, now) {
				now = now.Add(max(row.every, ms))
				continue
			}
			took := row.took[n%len(row.took)]
			n++
			b.begin(agent)
			now, busy = now.Add(took), busy+took
			b.end(agent, took, now, func(int) bool { return false }, func(int, bool) {})
			b.answered(agent)
			now = now.Add(max(0, row.every-took))
		}
		assert.InDelta(t, 0.1, float64(busy)/float64(now.Sub(begin)), 0.01, "%v every %v", row.took, row.every)
	}
}

// A slow agent is found among others that were asked in the same fetch, and then left alone.
func TestSlowAgentIsSampledApart(t *testing.T) {
	quickID, slowID := loadID, procID
	u := newUpstream(t)
	s := newSampling(t, u.address, 0)
	var clock atomic.Int64
	start := time.Now()
	s.now = func() time.Time { return start.Add(time.Duration(clock.Load())) }
	u.onRequest(func(_ int, f pdu.Frame) bool {
		var req pdu.HighResFetch
		if f.Kind == pdu.KindHighResFetch && req.Decode(f.Body) == nil && slices.Contains(req.PMIDs, slowID) {
			clock.Add(int64(second))
		}
		u.Update(func() { u.Time = s.now() })
		return true
	})
	s.attach(t.Context(), &s.readers, link{dialUnix(t, u.address), 0}, link{dialUnix(t, u.address), 1})
	feedFor := func(ids ...pdu.PMID) *feed {
		f := feedOf(ids...)
		for i := range f.descs {
			if f.descs[i].PMID == slowID {
				f.descs[i].Type, f.descs[i].InDom = pdu.TypeU64, procDom
			}
		}
		return f
	}
	quick, slow, mixed := feedFor(quickID), feedFor(slowID), feedFor(quickID, slowID)
	fetched := func(feeds ...*feed) [][]pdu.PMID {
		t.Helper()
		before := len(u.fetched())
		s.want(s.now(), need{}, feeds...)
		eventually(t, "nothing under way", func() bool { return s.idle(feeds...) })
		return u.fetched()[before:]
	}
	assert.Equal(t, [][]pdu.PMID{{quickID, slowID}}, fetched(quick, slow, mixed), "nobody knows yet")
	assert.Equal(t, [][]pdu.PMID{{quickID}, {slowID}}, fetched(quick, slow), "either may be to blame")
	assert.Equal(t, [][]pdu.PMID{{quickID}}, fetched(quick, slow, mixed), "left alone, whoever asks")
	assert.EqualValues(t, 1, s.figures.SlowAgents.Load())
	require1(t, s.log.AllEntries())
	clock.Add(int64(18*second) - 1)
	assert.Empty(t, fetched(slow))
	clock.Add(1)
	assert.Equal(t, [][]pdu.PMID{{slowID, quickID}}, fetched(slow, mixed), "after nine times as long as it took")
	assert.Empty(t, fetched(slow))
	u.onRequest(func(int, pdu.Frame) bool {
		u.Update(func() { u.Time = s.now() })
		return true
	})
	clock.Add(int64(9 * second))
	assert.Len(t, fetched(slow), 1)
	assert.Equal(t, [][]pdu.PMID{{slowID}}, fetched(slow), "quick now")
	assert.Zero(t, s.figures.SlowAgents.Load())
	assert.Len(t, s.log.AllEntries(), 2)
}

// What a fetch has to wait for another one of ours is not its fault.
func TestFetchBehindASlowOne(t *testing.T) {
	s := newSampling(t, newUpstream(t).address, 0)
	now := time.Now()
	feeds := []*feed{{}}
	l := &lane{sent: now, feeds: feeds}
	result := func(domain int, at time.Duration) *pmapi.Columns {
		return &pmapi.Columns{Time: now.Add(at), Sets: []pdu.Column{{PMID: pdu.NewPMID(domain, 0, 0)}}}
	}
	arrived := now.Add(4*second + burdensome) // both, since nobody has looked before
	s.charge(l, result(1, 4*second), arrived)
	s.charge(l, result(2, 4*second+burdensome-1), arrived)
	assert.Equal(t, []int{1}, s.burdens.of([]int{1, 2}))
	s.charge(&lane{sent: arrived, feeds: feeds}, result(3, -time.Hour), arrived.Add(ms))
	s.charge(&lane{sent: arrived, feeds: feeds}, result(4, time.Hour), arrived.Add(ms))
	assert.Equal(t, []int{1}, s.burdens.of([]int{1, 2, 3, 4}), "pmcd's clock may be set")
}

// Answers are taken in the order in which pmcd has given them, after those that refuse.
func TestAnswersInTheOrderOfTime(t *testing.T) {
	at := func(n int) answer { return answer{res: &pmapi.Columns{Time: time.Unix(int64(n), 0)}} }
	refusal := answer{err: pdu.ErrAgain}
	answers := []answer{at(3), at(1), refusal, at(2)}
	slices.SortFunc(answers, answer.before)
	assert.Equal(t, []answer{refusal, at(1), at(2), at(3)}, answers)
}

// Two metrics of one slow agent that are wanted by turns, each while the other is under way, get no more of pmcd's
// time than one.
func TestSlowAgentRestsWhateverIsWanted(t *testing.T) {
	other := pdu.NewPMID(procID.Domain(), 0, 2)
	u := newUpstream(t)
	s := newSampling(t, u.address, 0)
	var clock atomic.Int64
	start := time.Now()
	s.now = func() time.Time { return start.Add(time.Duration(clock.Load())) }
	gate := make(chan struct{}, 2)
	u.onRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResFetch {
			<-gate
			clock.Add(int64(4 * second))
		}
		u.Update(func() { u.Time = s.now() })
		return true
	})
	s.attach(t.Context(), &s.readers, link{dialUnix(t, u.address), 0}, link{dialUnix(t, u.address), 1})
	a, b := feedOf(procID), feedOf(other)
	a.descs[0].Type, a.descs[0].InDom = pdu.TypeU64, procDom
	gate <- struct{}{}
	gate <- struct{}{}
	for range 2 { // slow twice
		s.want(s.now(), need{}, a)
		eventually(t, "nothing under way", func() bool { return s.idle(a) })
	}
	clock.Add(int64(time.Hour))
	s.want(s.now(), need{}, a)
	s.want(s.now(), need{}, b)
	gate <- struct{}{}
	eventually(t, "nothing under way", func() bool { return s.idle(a, b) })
	s.want(s.now(), need{}, b)
	s.want(s.now(), need{}, a)
	assert.True(t, s.idle(a, b))
	assert.Len(t, u.fetched(), 3)
}

// What the agent announces itself makes nobody a suspect, and what nobody uses any more is forgotten.
func TestOnlyOperandsAreBurdens(t *testing.T) {
	s := newSampling(t, newUpstream(t).address, 0)
	now := time.Now()
	own := &pmapi.Columns{Time: now, Sets: []pdu.Column{{PMID: pdu.NewPMID(testDomain, 0, 0)}}}
	s.charge(&lane{sent: now.Add(-second)}, own, now)
	assert.Empty(t, s.burdens)
	s.burdens[7], s.burdens[60] = &burden{strikes: 2}, &burden{strikes: 2}
	s.deepen(&snapshot{feeds: []*feed{feedOf(loadID)}})
	assert.Nil(t, s.burdens.of([]int{7}))
	assert.NotNil(t, s.burdens.of([]int{60}))
	assert.EqualValues(t, 1, s.figures.SlowAgents.Load())
}

package upstream

import (
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/pool"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/internal/await"
	"pmdaderived/internal/freshness"
	"pmdaderived/internal/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// A slow agent is found among others that were asked in the same fetch, and then left alone.
func TestSlowAgentIsSampledApart(t *testing.T) {
	for _, row := range []struct {
		name          string
		quickID, slow pdu.PMID
		found         [][]pdu.PMID // what is fetched for both when it is not known who is slow
	}{
		{"asked first", loadID, procID, [][]pdu.PMID{{procID}}},
		{"asked last", procID, loadID, [][]pdu.PMID{{procID}, {loadID}}},
	} {
		t.Run(row.name, func(t *testing.T) { slowAgentIsSampledApart(t, row.quickID, row.slow, row.found) })
	}
}

func slowAgentIsSampledApart(t *testing.T, quickID, slowID pdu.PMID, found [][]pdu.PMID) {
	u := newRelay(t)
	s := newFetching(t, u.Address, 0)
	var clock atomic.Int64
	start := time.Now()
	s.clock = func() time.Time { return start.Add(time.Duration(clock.Load())) }
	u.OnRequest(func(_ int, f pdu.Frame) bool {
		var req pdu.HighResFetch
		if f.Kind == pdu.KindHighResFetch && req.Decode(f.Body) == nil && slices.Contains(req.PMIDs, slowID) {
			clock.Add(int64(second))
		}
		u.Update(func() { u.Time = s.now() })
		return true
	})
	s.join(u.Address, 0, 1)
	seriesFor := func(ids ...pdu.PMID) *Series {
		f := seriesOf(ids...)
		for i := range f.descs {
			if f.descs[i].PMID == procID {
				f.descs[i].Type, f.descs[i].InDom = pdu.TypeU64, procDom
			}
		}
		return f
	}
	quick, slow, mixed := seriesFor(quickID), seriesFor(slowID), seriesFor(quickID, slowID)
	fetched := func(series ...*Series) [][]pdu.PMID {
		t.Helper()
		before := len(u.Fetched())
		s.Want(s.now(), freshness.Need{}, series...)
		await.Until(t, "nothing under way", func() bool { return s.idle(series...) })
		return u.Fetched()[before:]
	}
	assert.Equal(t, [][]pdu.PMID{{quickID, slowID}}, fetched(mixed), "nobody knows yet")
	assert.Equal(t, found, fetched(mixed), "either may be to blame")
	assert.Empty(t, fetched(mixed), "left alone")
	assert.Equal(t, [][]pdu.PMID{{quickID}}, fetched(quick, slow, mixed), "whoever asks")
	assert.EqualValues(t, 1, s.figures.SlowAgents.Load())
	assert.Len(t, s.log.AllEntries(), 1)
	clock.Add(int64(9*second) - 10)
	assert.Empty(t, fetched(slow))
	clock.Add(10)
	assert.Equal(t, [][]pdu.PMID{{slowID, quickID}}, fetched(slow, mixed), "after nine times as long as it took")
	assert.Empty(t, fetched(slow))
	u.OnRequest(func(int, pdu.Frame) bool {
		u.Update(func() { u.Time = s.now() })
		return true
	})
	clock.Add(int64(9 * second))
	assert.Len(t, fetched(slow), 1)
	assert.Equal(t, [][]pdu.PMID{{slowID}}, fetched(slow), "quick now")
	assert.Zero(t, s.figures.SlowAgents.Load())
	assert.Len(t, s.log.AllEntries(), 2)
	before := len(u.Fetched())
	fetched(mixed)
	assert.Equal(t, []pdu.PMID{quickID, slowID}, u.Fetched()[len(u.Fetched())-1], "as a whole, when either was quick")
	assert.LessOrEqual(t, len(u.Fetched())-before, 3)
	assert.Equal(t, [][]pdu.PMID{{quickID, slowID}}, fetched(mixed))
	assert.Empty(t, s.slow, "nobody is a suspect")
}

// When a quick agent answered a fetch that another one took long for nobody knows: what needs the time between samples
// is asked for again, once.
func TestSampleOfAnUnknownTime(t *testing.T) {
	s := newFetching(t, newRelay(t).Address, 0)
	now := time.Now()
	deep, flat, both := seriesOf(pdu.NewPMID(1, 0, 0)), seriesOf(pdu.NewPMID(1, 0, 0)), seriesOf(pdu.NewPMID(1, 0, 0), pdu.NewPMID(3, 0, 0))
	deep.OlderNeeded, both.OlderNeeded = 1, 1
	asked := fetchOf(deep, flat, both)
	answered := func(took time.Duration) {
		now = now.Add(took)
		res := &pmapi.Columns{Time: now, Sets: make([]pdu.Column, len(asked.IDs))}
		for i, id := range asked.IDs {
			res.Sets[i] = pdu.Column{PMID: id, Code: pdu.ErrAgain}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.storeAnswer(asked, pool.Answer{Columns: res, Began: now.Add(-took), Arrived: now, PMCDTime: took, AgentTime: took})
	}
	answered(ms)
	first := deep.Latest
	require.NotNil(t, first)
	answered(slow.Long)
	assert.Same(t, first, deep.Latest)
	assert.NotSame(t, first, flat.Latest, "it is of now")
	assert.Same(t, flat.Latest, both.Latest, "its own agents took long")
	assert.Equal(t, []*Series{deep}, s.ambiguous)
	answered(slow.Long)
	assert.NotSame(t, first, deep.Latest, "better than none")
}

// Two metrics of one slow agent that are wanted by turns, each while the other is under way, get no more of pmcd's
// time than one.
func TestSlowAgentRestsWhateverIsWanted(t *testing.T) {
	other := pdu.NewPMID(procID.Domain(), 0, 2)
	u := newRelay(t)
	s := newFetching(t, u.Address, 0)
	var clock atomic.Int64
	start := time.Now()
	s.clock = func() time.Time { return start.Add(time.Duration(clock.Load())) }
	gate := make(chan struct{}, 2)
	u.OnRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResFetch {
			<-gate
			clock.Add(int64(4 * second))
		}
		u.Update(func() { u.Time = s.now() })
		return true
	})
	s.join(u.Address, 0, 1)
	a, b := seriesOf(procID), seriesOf(other)
	a.descs[0].Type, a.descs[0].InDom = pdu.TypeU64, procDom
	gate <- struct{}{}
	gate <- struct{}{}
	for range 2 { // slow twice
		s.Want(s.now(), freshness.Need{}, a)
		await.Until(t, "nothing under way", func() bool { return s.idle(a) })
	}
	clock.Add(int64(time.Hour))
	s.Want(s.now(), freshness.Need{}, a)
	s.Want(s.now(), freshness.Need{}, b)
	gate <- struct{}{}
	await.Until(t, "nothing under way", func() bool { return s.idle(a, b) })
	s.Want(s.now(), freshness.Need{}, b)
	s.Want(s.now(), freshness.Need{}, a)
	assert.True(t, s.idle(a, b))
	assert.Len(t, u.Fetched(), 3)
}

// A pmcd that comes to our fetch late because its clients look names up, of ours, does not make the agents of the fetch
// suspects. One that is quiet for as long does.
func TestLookupsAreNobodysFault(t *testing.T) {
	u := newRelay(t)
	s := newFetching(t, u.Address, 0)
	var clock atomic.Int64
	var busy atomic.Bool
	start := time.Now()
	s.clock = func() time.Time { return start.Add(time.Duration(clock.Load())) }
	u.OnRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResFetch {
			for range 20 {
				clock.Add(int64(slow.Long / 10))
				if busy.Load() {
					s.RecordRequest(s.now())
				}
			}
		}
		u.Update(func() { u.Time = s.now() })
		return true
	})
	s.join(u.Address, 0, 1)
	f := seriesOf(loadID)
	fetch := func() {
		clock.Add(int64(time.Second))
		s.Want(s.now(), freshness.Need{}, f)
		await.Until(t, "an answer", func() bool { return s.idle(f) })
	}
	suspected := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.slow.Suspected(f.budgets...)
	}
	busy.Store(true)
	for range 3 {
		fetch()
		assert.False(t, suspected(), "pmcd asks for names")
	}
	busy.Store(false)
	fetch()
	assert.True(t, suspected())
	fetch()
	assert.EqualValues(t, 1, s.figures.SlowAgents.Load())
}

// What the agent announces itself makes nobody a suspect, and what nobody uses any more is forgotten.
func TestOnlyOperandsAreSlow(t *testing.T) {
	s := newFetching(t, newRelay(t).Address, 0)
	now := time.Now()
	var charged slow.Request
	charged.AgentTime = second
	(&fetch{Batch: &operand.Batch[*Series]{}}).AddBudgets(&charged)
	assert.Nil(t, charged.Budgets)
	for range 2 {
		now = now.Add(2 * second)
		s.slow.Charge(slow.Request{Budgets: slow.Budgets([]int{7}), AgentTime: second, Ended: now.Add(-time.Hour)})
		for _, d := range []int{60, 70} {
			s.slow.Charge(slow.Request{Budgets: slow.Budgets([]int{d}), AgentTime: second, Ended: now})
		}
	}
	s.SetSeries([]*Series{seriesOf(loadID)}, []int{0})
	left := slices.Collect(maps.Keys(s.slow))
	assert.ElementsMatch(t, []slow.Budget{slow.AgentBudget(slow.Values, 60), slow.AgentBudget(slow.Values, 70)}, left, "70 has to rest first")
	assert.EqualValues(t, 2, s.figures.SlowAgents.Load())
}

package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/internal/agent/slow"
	"pmdaderived/pdu"
)

// wave is a Series for tests.
type wave struct {
	Member
	descs  []pdu.Desc
	values int
	agents []slow.Budget
}

func (w *wave) Operands() []pdu.Desc   { return w.descs }
func (w *wave) Size() int              { return w.values }
func (w *wave) Width() int             { return len(w.descs) }
func (w *wave) Budgets() []slow.Budget { return w.agents }

// waveOf has operands of some agents, one of each.
func waveOf(item, values int, domains ...int) *wave {
	w := &wave{values: values, agents: slow.Budgets(domains)}
	for _, d := range domains {
		w.descs = append(w.descs, pdu.Desc{PMID: pdu.NewPMID(d, 0, item), Type: pdu.TypeU64, InDom: pdu.NoInDom})
	}
	return w
}

func idle(w *wave) bool { return w.Idle() }

const operands = 4000

// What somebody asks for who is about to fetch goes first, and waits for nothing; of many values one fetch's worth is
// on its way.
func TestNext(t *testing.T) {
	q := New[*wave](make(slow.States))
	big, more, half := waveOf(1, MaxValues-1, 60), waveOf(2, MaxValues-1, 60), waveOf(3, MaxUrgent+1, 60)
	one, two := waveOf(4, MaxUrgent, 60), waveOf(5, 1, 60)
	for _, wanted := range [][]*wave{{big, more}, {half}, {one}, {two}} {
		assert.True(t, q.Add(wanted, idle))
	}
	assert.False(t, q.Add([]*wave{big, one}, idle), "they wait already")
	assert.Equal(t, []*wave{one, two, big, more, half}, q.Waiting())

	_, ok := q.Next(false, true, operands)
	assert.False(t, ok, "nothing waits for this connection")
	next := func(want ...*wave) *Fetch[*wave] {
		f, ok := q.Next(true, false, operands)
		require.True(t, ok)
		assert.Equal(t, want, f.Sources)
		for _, w := range want {
			assert.Equal(t, Member{Outstanding: 1}, w.Member)
		}
		return f
	}
	urgent := next(one, two)
	first := next(big)
	_, ok = q.Next(true, false, operands)
	assert.False(t, ok, "too many values are on their way")
	q.EndFetch(urgent)
	assert.True(t, one.Idle() && two.Idle())
	assert.True(t, q.Add([]*wave{two}, idle))
	q.EndFetch(next(two))
	_, ok = q.Next(true, false, operands)
	assert.False(t, ok, "as many still are")
	q.EndFetch(first)
	q.EndFetch(next(more))
	q.EndFetch(next(half))
	assert.Empty(t, q.Waiting())
	_, ok = q.Next(true, true, operands)
	assert.False(t, ok)
}

// An agent that suddenly has many instances does not keep others waiting, however many metrics it has, and they do not
// keep it waiting for ever.
func TestLargeByTurns(t *testing.T) {
	q := New[*wave](make(slow.States))
	var large, others []*wave
	for i := range 60 {
		large = append(large, waveOf(i, MaxValues/2+1, 61))
	}
	for i := range 40 {
		others = append(others, waveOf(i, MaxUrgent, 60))
	}
	beside := waveOf(50, MaxUrgent, 60)
	q.Add(append(slices.Clone(large), beside), idle)
	q.Add(others, idle)
	for i, want := range [][]*wave{{beside}, others[:10], large[:1], others[10:20], large[1:2], others[20:30], large[2:3], others[30:], large[3:4], large[4:5]} {
		f, ok := q.Next(true, false, operands)
		require.True(t, ok, i)
		assert.Equal(t, want, f.Sources, i)
		q.EndFetch(f)
	}
	q.Add(others, idle)
	f, ok := q.Next(true, false, operands)
	require.True(t, ok)
	assert.Equal(t, others[:10], f.Sources, "it is not the turn of those")
	q.Requeue(large[0])
	assert.Equal(t, large[0], q.Waiting()[len(q.Waiting())-1])
}

// What was on a connection that is lost is fetched again, and nothing is when its session has ended.
func TestRequeueAndForget(t *testing.T) {
	q := New[*wave](make(slow.States))
	lost, coming := waveOf(1, 1, 60), waveOf(2, 1, 60)
	coming.Outstanding = 1
	q.Requeue(lost, coming)
	assert.Equal(t, []*wave{lost}, q.Waiting())
	q.Clear()
	assert.Empty(t, q.Waiting())
	assert.True(t, lost.Idle())
}

// suspects knows that a sample of some agents' operands took long.
func suspects(t *testing.T, domains ...int) slow.States {
	t.Helper()
	known := make(slow.States)
	of := slow.Budgets(domains)
	known.Charge(slow.Request{Budgets: of, AgentTime: time.Second, Ended: time.Unix(1_000_000, 0)})
	require.True(t, known.Suspected(of[len(of)-1]))
	return known
}

// Agents in quarantine have a connection to themselves and one fetch each. What needs several of them waits until each
// was quick in a probe; where one was not it does not wait any more.
func TestApart(t *testing.T) {
	q := New[*wave](suspects(t, 60, 61))
	quick, one, other, both := waveOf(1, 1, 62), waveOf(2, 1, 60), waveOf(3, 1, 60), waveOf(4, 1, 60, 61)
	q.Add([]*wave{both, one, quick, other}, idle)
	f, ok := q.Next(true, false, operands)
	require.True(t, ok)
	assert.Equal(t, []*wave{quick}, f.Sources)
	_, ok = q.Next(true, false, operands)
	assert.False(t, ok, "the others wait in quarantine")

	probes := 0
	for range 2 {
		f, ok = q.Next(false, true, operands)
		require.True(t, ok)
		if f.Probes == nil {
			assert.Equal(t, []*wave{one, other}, f.Sources)
			q.EndFetch(f)
			continue
		}
		probes++
		assert.Equal(t, both.agents, f.Probes)
		assert.Empty(t, f.Sources)
		assert.Len(t, f.IDs, 1)
		assert.True(t, both.Waiting, "a probe brings no sample")
		q.EndFetch(f)
		assert.True(t, both.Idle())
	}
	assert.Equal(t, 1, probes)
	assert.Empty(t, q.Waiting())
}

// TestRandomQueues does what may happen in any order: a series waits in one place at most, is fetched once for each
// time that it waited, and in the end nothing waits that somebody may fetch.
func TestRandomQueues(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 17))
		q := New[*wave](suspects(t, 60, 61))
		var all []*wave
		for i := range 12 {
			all = append(all, waveOf(i, rnd.IntN(2*MaxValues/3), 60+rnd.IntN(4)/3, 61+rnd.IntN(2)))
		}
		var under []*Fetch[*wave]
		for range 60 {
			switch rnd.IntN(4) {
			case 0:
				at := rnd.IntN(len(all))
				q.Add(all[at:at+rnd.IntN(len(all)-at+1)], idle)
			case 1:
				if f, ok := q.Next(rnd.IntN(2) == 0, rnd.IntN(2) == 0, 1+rnd.IntN(5)); ok {
					under = append(under, f)
				}
			case 2:
				if len(under) > 0 {
					at := rnd.IntN(len(under))
					q.EndFetch(under[at])
					if rnd.IntN(3) == 0 {
						q.Requeue(under[at].Sources...)
					}
					under = slices.Delete(under, at, at+1)
				}
			case 3:
				q.DropQuarantined(func(*wave) bool { return rnd.IntN(5) == 0 })
			}
			waiting := q.Waiting()
			values := 0
			for _, f := range under {
				values += f.values
			}
			most := MaxValues
			for _, w := range all {
				most = max(most, w.values)
				places := 0
				for _, other := range waiting {
					if other == w {
						places++
					}
				}
				on := 0
				for _, f := range under {
					if slices.Contains(f.Sources, w) {
						on++
					}
				}
				require.Equal(t, w.Waiting, places == 1, "seed %d", seed)
				require.LessOrEqual(t, places, 1, "seed %d", seed)
				require.EqualValues(t, on, w.Outstanding, "seed %d", seed)
			}
			require.LessOrEqual(t, values, most, "seed %d", seed)
		}
		for rounds := 0; len(q.Waiting())+len(under) > 0; rounds++ {
			require.Less(t, rounds, 1000, "seed %d: %d wait for ever", seed, len(q.Waiting()))
			for _, f := range under {
				q.EndFetch(f)
			}
			under = under[:0]
			if f, ok := q.Next(true, true, 3); ok {
				under = append(under, f)
			}
		}
		for _, w := range all {
			require.True(t, w.Idle(), "seed %d", seed)
		}
	}
}

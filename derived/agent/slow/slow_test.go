package slow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

const (
	ms     = time.Millisecond
	second = time.Second
)

// Agents are slow when several fetches in a row were, and get a tenth of pmcd's time then.
func TestAgents(t *testing.T) {
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
		{"quick", []fetch{{both, Long - 1, false}}, nil, 0},
		{"slow once", []fetch{{both, Long, false}}, both, 0},
		{"slow once, then quick", []fetch{{both, second, false}, {one, 0, false}}, []int{2}, 0},
		{"slow once, then silent", []fetch{{both, second, false}, {one, 0, true}}, both, 0},
		{"slow twice", []fetch{{one, second, false}, {one, 3 * second, false}}, one, 36 * second},
		{"slow again after a rest", []fetch{{one, second, false}, {one, 3 * second, false}, {one, 2 * second, false}}, one, 18 * second},
		{"slow after silence", []fetch{{one, 5 * second, false}, {one, 0, true}, {one, 5 * second, false}}, one, 90 * second},
		{"one incident", []fetch{{one, Long, false}, {one, incident - 1, false}}, one, 0},
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
			b := make(Agents)
			now := time.Now()
			slow := map[int]bool{}
			for _, f := range row.fetches {
				b.Begin(f.agents)
				now = now.Add(f.took)
				spoke := f.agents
				if f.silent {
					spoke = nil
				}
				slowed, recovered := b.Note(f.agents, spoke, f.took, now)
				for _, d := range slowed {
					slow[d] = true
				}
				for _, d := range recovered {
					slow[d] = false
				}
				if slow[1] {
					assert.True(t, b.Resting([]int{1}, now.Add(time.Hour)), "nobody knows how long it will take")
				}
				b.Answered(f.agents)
			}
			assert.Equal(t, row.apart, b.Among([]int{1, 2, 3}))
			assert.Equal(t, row.rest > 0, slow[1])
			if row.rest > 0 {
				assert.True(t, b.Resting([]int{1, 3}, now.Add(row.rest-1)))
				assert.Positive(t, b.BackingOff())
			} else {
				assert.Zero(t, b.BackingOff())
			}
			assert.False(t, b.Resting([]int{1, 3}, now.Add(row.rest)))
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
		b, agent := make(Agents), []int{1}
		begin := time.Now()
		now, n, busy := begin, 0, time.Duration(0)
		for now.Sub(begin) < time.Hour {
			if b.Resting(agent, now) {
				now = now.Add(max(row.every, ms))
				continue
			}
			took := row.took[n%len(row.took)]
			n++
			b.Begin(agent)
			now, busy = now.Add(took), busy+took
			b.Note(agent, agent, took, now)
			b.Answered(agent)
			now = now.Add(max(0, row.every-took))
		}
		assert.InDelta(t, 0.1, float64(busy)/float64(now.Sub(begin)), 0.01, "%v every %v", row.took, row.every)
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
		{"short", []time.Duration{0}, long, 2*long - 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			begin := time.Now()
			var b Busy
			for _, at := range row.asked {
				b.Requested(begin.Add(at))
			}
			assert.Equal(t, row.want, b.Most(begin.Add(row.sent), begin.Add(row.now)))
		})
	}
}

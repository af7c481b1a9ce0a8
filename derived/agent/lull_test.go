package agent

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"pmdaderived/pdu"
)

func TestLulls(t *testing.T) {
	const long = burdensome
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
		{"not much of the lull", []time.Duration{0, 3 * long}, 5 * long / 2, 7 * long / 2, 0},
		{"enough of it", []time.Duration{0, 3 * long}, 2 * long, 7 * long / 2, long},
		{"since it asked", []time.Duration{0, long}, 0, 9 * long, 8 * long},
		{"a longer one before the last", []time.Duration{0, 3 * long, 3*long + 1}, 0, 4 * long, 3 * long},
		{"asked since", []time.Duration{0, 3 * long, 3*long + 1}, 0, 3 * long, 3 * long},
		{"of two long ones the last", []time.Duration{0, 3 * long, 4 * long}, 0, 5 * long, long},
		{"short", []time.Duration{0}, long, 2*long - 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			begin := time.Now()
			var l lulls
			for _, at := range row.asked {
				l.end(begin.Add(at))
			}
			assert.Equal(t, row.want, l.most(begin.Add(row.sent), begin.Add(row.now)))
		})
	}
}

// A pmcd that comes to our fetch late because its clients look names up, of ours, does not make the agents of the fetch suspects.
// One that is quiet for as long does.
func TestLookupsAreNobodysFault(t *testing.T) {
	u := newUpstream(t)
	s := newSampling(t, u.address, 0)
	var clock atomic.Int64
	var busy atomic.Bool
	start := time.Now()
	s.now = func() time.Time { return start.Add(time.Duration(clock.Load())) }
	u.onRequest(func(_ int, f pdu.Frame) bool {
		if f.Kind == pdu.KindHighResFetch {
			for range 20 {
				clock.Add(int64(burdensome / 10))
				if busy.Load() {
					s.lulls.end(s.now())
				}
			}
		}
		u.Update(func() { u.Time = s.now() })
		return true
	})
	s.attach(t.Context(), &s.readers, link{dialUnix(t, u.address), 0}, link{dialUnix(t, u.address), 1})
	f := feedOf(loadID)
	fetch := func() {
		clock.Add(int64(hiccup))
		s.want(s.now(), need{}, f)
		eventually(t, "an answer", func() bool { return s.idle(f) })
	}
	slow := func() []int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.burdens.of(f.agents)
	}
	busy.Store(true)
	for range 3 {
		fetch()
		assert.Empty(t, slow(), "pmcd asks for names")
	}
	busy.Store(false)
	fetch()
	assert.Equal(t, f.agents, slow())
	fetch()
	assert.EqualValues(t, 1, s.figures.SlowAgents.Load())
}

// Whatever pmcd asks for ends a lull, also what gets no reply.
func TestRequestsEndLulls(t *testing.T) {
	h := start(t, newUpstream(t), conf("x = 1"))
	last := func() time.Time {
		l := &h.agent.sampler.lulls
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.asked
	}
	begin := time.Now()
	h.pmcd.Request(&pdu.PMNSNames{Names: []string{"derived.x"}})
	first := last()
	assert.False(t, first.Before(begin))
	h.pmcd.Send(&pdu.Profile{}, 0)
	eventually(t, "the profile has come", func() bool { return last().After(first) })
}

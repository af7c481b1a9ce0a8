package upstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pmdaderived/derived/agent/agents"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// restarting is a collector with two agents of domains 60 and 3, which tells about them, and a counter of each.
type restarting struct {
	*fetching
	relay      *pmapitest.Relay
	upID, ioID pdu.PMID
	up, io     *Series
}

const seqnumName, statusName = "pmcd.seqnum", "pmcd.agent.status"

func newRestarting(t *testing.T) *restarting {
	t.Helper()
	indom := pdu.NewInDom(2, 3)
	r := &restarting{relay: newRelay(t), upID: pdu.NewPMID(60, 7, 0), ioID: pdu.NewPMID(3, 7, 0)}
	counter := func(id pdu.PMID) pdu.Desc {
		return pdu.Desc{PMID: id, Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}
	}
	r.relay.Update(func() {
		r.relay.InDoms = map[pdu.InDom]pmapitest.InDom{indom: {Instances: []pdu.Instance{{ID: 3, Name: "proc"}, {ID: 60, Name: "linux"}}}}
		r.relay.Metrics = append(r.relay.Metrics,
			pmapitest.Metric{
				Name: statusName, Desc: pdu.Desc{PMID: pdu.NewPMID(2, 4, 1), Type: pdu.Type32, InDom: indom},
				Values: []pdu.Value{pdu.Int32Value(3, 0), pdu.Int32Value(60, 0)},
			},
			pmapitest.Metric{
				Name: seqnumName, Desc: pdu.Desc{PMID: pdu.NewPMID(2, 0, 21), Type: pdu.TypeU32, InDom: pdu.NoInDom},
				Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 7)},
			},
			pmapitest.Metric{Name: "up.ctr", Desc: counter(r.upID)}, pmapitest.Metric{Name: "proc.ctr", Desc: counter(r.ioID)},
		)
	})
	r.up, r.io = NewSeries([]pdu.Desc{counter(r.upID)}), NewSeries([]pdu.Desc{counter(r.ioID)})
	r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 100))
	r.set("proc.ctr", pdu.Uint64Value(pdu.NoInst, 100))
	r.fetching = newFetching(t, r.relay.Address, 2)
	r.begin(dialUnix(t, r.relay.Address))
	r.Serve([]*Series{r.up, r.io}, []int{1, 1})
	r.look(true)
	return r
}

// set gives a metric other values.
func (r *restarting) set(name string, values ...pdu.Value) {
	r.relay.Update(func() {
		for i := range r.relay.Metrics {
			if m := &r.relay.Metrics[i]; m.Name == name {
				m.Values = values
			}
		}
	})
}

// fail gives a metric a code in place of its values; 0: it has them again.
func (r *restarting) fail(name string, code pdu.Code) {
	r.relay.Update(func() {
		for i := range r.relay.Metrics {
			if m := &r.relay.Metrics[i]; m.Name == name {
				m.Code = code
			}
		}
	})
}

// look looks at the agents, which may make it sample.
func (r *restarting) look(changed bool) {
	r.tb.Helper()
	got, err := r.LookAtAgents(r.tb.Context())
	require.NoError(r.tb, err)
	assert.Equal(r.tb, changed, got)
	eventually(r.tb, "nothing under way", func() bool { return r.idle(r.up, r.io) })
}

// sample samples both.
func (r *restarting) sample() (up, io *operand.Sample) {
	r.tb.Helper()
	r.Want(time.Now(), operand.Need{After: time.Now()}, r.up, r.io)
	eventually(r.tb, "samples", func() bool { return r.idle(r.up, r.io) && r.newest(r.up) != nil && r.newest(r.io) != nil })
	return r.newest(r.up), r.newest(r.io)
}

// A change that pmcd announces concerns nobody unless an agent was restarted; any agent can have it announced.
func TestAnnouncedRestartThatIsNone(t *testing.T) {
	r := newRestarting(t)
	up, io := r.sample()
	for range 3 {
		r.relay.Announce(pdu.ChangeRestartAgent | pdu.ChangeDropAgent | pdu.ChangeAddAgent)
		r.sample()
		assert.True(t, r.Events().Agents)
		r.look(false)
	}
	nextUp, nextIO := r.sample()
	assert.True(t, nextUp.Continues(up, r.up.Domains()))
	assert.True(t, nextIO.Continues(io, r.io.Domains()))
	assert.Zero(t, r.figures.Resets.Load())
}

// Only what is computed from metrics of the agent that was restarted begins anew, and the log says whose that is.
func TestRestartConcernsOneAgent(t *testing.T) {
	for _, row := range []struct {
		name, source string
		restart      func(r *restarting)
	}{
		{"it has ended", "its status", func(r *restarting) {
			r.set(statusName, pdu.Int32Value(3, 0), pdu.Int32Value(60, 2))
			r.relay.Announce(pdu.ChangeDropAgent)
			r.look(true)
		}},
		{"it was restarted at once", "its values", func(r *restarting) {
			r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 1))
			r.relay.Announce(pdu.ChangeDropAgent | pdu.ChangeRestartAgent)
		}},
		{"at once, seen before the next sample", "its values", func(r *restarting) {
			r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 1))
			r.set(seqnumName, pdu.Uint32Value(pdu.NoInst, 9))
			r.look(true) // which samples
			r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 1000))
		}},
		{"it lost its values", "its values", func(r *restarting) {
			r.relay.Announce(pdu.ChangeDropAgent)
			r.fail("up.ctr", pdu.ErrNoAgent)
			r.sample()
			r.fail("up.ctr", 0)
			r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 1000))
		}},
		{"it had no values before", "its values", func(r *restarting) {
			r.fail("up.ctr", pdu.ErrAgain)
			r.sample()
			r.fail("up.ctr", 0)
			r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 5))
			r.set(seqnumName, pdu.Uint32Value(pdu.NoInst, 8))
			r.relay.Announce(pdu.ChangeRestartAgent)
			r.sample()
			r.look(true)
			r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 1000))
		}},
		{"it has none at first", "its values", func(r *restarting) {
			r.relay.Announce(pdu.ChangeRestartAgent)
			r.fail("up.ctr", pdu.ErrAgain)
			r.sample()
			r.fail("up.ctr", 0)
			r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 5))
		}},
		{"nothing was sampled for so long that there is nothing to compare", "its values", func(r *restarting) {
			r.mu.Lock()
			r.up.Latest, r.up.Valued = nil, nil
			r.mu.Unlock()
			r.relay.Announce(pdu.ChangeDropAgent | pdu.ChangeRestartAgent)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := newRestarting(t)
			up, io := r.sample()
			row.restart(r)
			newUp, newIO := r.sample()
			assert.False(t, newUp.Continues(up, r.up.Domains()))
			assert.True(t, newIO.Continues(io, r.io.Domains()))
			nextUp, _ := r.sample()
			assert.True(t, nextUp.Continues(newUp, r.up.Domains()), "once")
			assert.EqualValues(t, 1, r.figures.Resets.Load())
			var told []logrus.Fields
			for _, entry := range r.log.AllEntries() {
				if entry.Data["source"] != nil {
					told = append(told, entry.Data)
				}
			}
			assert.Equal(t, []logrus.Fields{{"domain": 60, "agent": "linux", "source": row.source}}, told)
		})
	}
}

// Metrics of one agent that are sampled one after the other tell of one restart, not of one each.
func TestRestartIsCountedOnce(t *testing.T) {
	r := newRestarting(t)
	late := NewSeries([]pdu.Desc{{PMID: pdu.NewPMID(60, 7, 1), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}})
	r.relay.Update(func() {
		r.relay.Metrics = append(r.relay.Metrics, pmapitest.Metric{
			Name: "up.late", Desc: late.descs[0], Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 100)},
		})
	})
	r.Serve([]*Series{r.up, r.io, late}, []int{1, 1, 1})
	take := func(s *Series) *operand.Sample {
		r.Want(time.Now(), operand.Need{After: time.Now()}, s)
		eventually(t, "a sample", func() bool { return r.idle(s) && r.newest(s) != nil })
		return r.newest(s)
	}
	take(late)
	before := take(r.up)
	r.set("up.ctr", pdu.Uint64Value(pdu.NoInst, 1))
	r.set("up.late", pdu.Uint64Value(pdu.NoInst, 1))
	r.relay.Announce(pdu.ChangeDropAgent | pdu.ChangeRestartAgent)
	first := take(r.up)
	assert.False(t, first.Continues(before, r.up.Domains()))
	take(late)
	assert.True(t, take(r.up).Continues(first, r.up.Domains()), "it has begun anew already")
	assert.EqualValues(t, 1, r.figures.Resets.Load())
}

// A metric that fails now and then costs the others of its agent nothing, also while somebody announces restarts.
func TestAnnouncedRestartBesideFailures(t *testing.T) {
	r := newRestarting(t)
	flaky := NewSeries([]pdu.Desc{{PMID: pdu.NewPMID(3, 7, 1), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter}})
	r.relay.Update(func() {
		r.relay.Metrics = append(r.relay.Metrics, pmapitest.Metric{
			Name: "proc.flaky", Desc: flaky.descs[0], Values: []pdu.Value{pdu.Uint64Value(pdu.NoInst, 9)},
		})
	})
	r.Serve([]*Series{r.up, r.io, flaky}, []int{1, 1, 1})
	_, io := r.sample()
	for _, code := range []pdu.Code{0, pdu.ErrAgain, 0, pdu.ErrAgain} {
		r.fail("proc.flaky", code)
		r.relay.Announce(pdu.ChangeRestartAgent)
		r.Want(time.Now(), operand.Need{After: time.Now()}, flaky)
		eventually(t, "a sample", func() bool { return r.idle(flaky) })
		_, next := r.sample()
		assert.True(t, next.Continues(io, r.io.Domains()))
		r.look(false)
	}
}

// A look that fails is repeated, and compared with what pmcd has said before.
func TestLookThatFails(t *testing.T) {
	r := newRestarting(t)
	_, io := r.sample()
	r.fail(statusName, pdu.ErrAgain)
	r.set(statusName, pdu.Int32Value(3, 0), pdu.Int32Value(60, 2))
	r.relay.Announce(pdu.ChangeDropAgent)
	r.sample()
	_, err := r.LookAtAgents(t.Context())
	require.ErrorIs(t, err, pdu.ErrAgain)
	r.fail(statusName, 0)
	up, _ := r.sample()
	r.look(true)
	next, nextIO := r.sample()
	assert.False(t, next.Continues(up, r.up.Domains()))
	assert.True(t, nextIO.Continues(io, r.io.Domains()))

	r.fail(statusName, pdu.ErrPermission)
	r.look(true)
	_, lastIO := r.sample()
	assert.False(t, lastIO.Continues(nextIO, r.io.Domains()), "nobody tells whose restart it was")
}

// The figures say whose operands have no values, and the log does so once.
func TestFiguresOfAgents(t *testing.T) {
	r := newRestarting(t)
	r.sample()
	r.relay.Update(func() { r.relay.Metrics[len(r.relay.Metrics)-2].Code = pdu.ErrAgain })
	for range 3 {
		r.sample()
	}
	var shown []string
	r.Agents(r.now(), func(a *agents.Agent, resting bool) bool {
		assert.False(t, resting)
		assert.GreaterOrEqual(t, a.Requests, uint64(4))
		shown = append(shown, fmt.Sprintf("%d %s %d %s", a.Domain, a.Name, a.Errors, a.Error()))
		return true
	})
	assert.Equal(t, []string{"3 proc 0 ", fmt.Sprintf("60 linux 3 %v: %v", r.upID, pdu.ErrAgain)}, shown)
	r.Agents(r.now(), func(*agents.Agent, bool) bool { shown = nil; return false })
	assert.Nil(t, shown)
	entries := 0
	for _, entry := range r.log.AllEntries() {
		if entry.Message == "operand has no values" {
			entries++
			assert.Equal(t, logrus.Fields{"domain": 60, "agent": "linux", "pmid": r.upID, logrus.ErrorKey: pdu.ErrAgain}, entry.Data)
		}
	}
	assert.Equal(t, 1, entries)
}

// pmcd is asked again in the next session, since it may be another one.
func TestLookAtAgentsNeedsASession(t *testing.T) {
	r := newRestarting(t)
	up, _ := r.sample()
	r.detach()
	r.readers.Wait()
	_, err := r.LookAtAgents(t.Context())
	assert.ErrorIs(t, err, ErrUnconnected)
	r.relay.Update(func() { r.relay.Metrics[len(r.relay.Metrics)-4].Code = pdu.ErrPermission })
	r.join(r.relay.Address, 0)
	r.begin(dialUnix(t, r.relay.Address))
	for range 2 {
		changed, err := r.LookAtAgents(t.Context())
		assert.NoError(t, err)
		assert.True(t, changed, "for all that is known")
	}
	assert.Len(t, r.log.AllEntries(), 1, "that is said once")
	assert.EqualValues(t, 1, r.figures.Reconnects.Load())
	next, _ := r.sample()
	assert.False(t, next.Continues(up, r.up.Domains()))
	r.detach()
	r.readers.Wait()
}

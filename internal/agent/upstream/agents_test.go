package upstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/assert"

	"pmdaderived/internal/agent/agents"
	"pmdaderived/internal/await"
	"pmdaderived/internal/freshness"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi/pmapitest"
)

// The figures say whose operands have no values, and the log does so once. Agents keep the names that pmcd gave them
// last.
func TestFiguresOfAgents(t *testing.T) {
	relay := newRelay(t)
	s := newFetching(t, relay.Address, 1)
	up := NewSeries([]pdu.Desc{{PMID: countID, Type: pdu.TypeU64, InDom: pdu.NoInDom}})
	io := NewSeries([]pdu.Desc{{PMID: procID, Type: pdu.TypeU64, InDom: procDom}})
	sample := func() {
		t.Helper()
		s.Want(time.Now(), freshness.Need{After: time.Now()}, up, io)
		await.Until(t, "samples", func() bool { return s.idle(up, io) && s.newest(up) != nil })
	}
	shown := func() (all []string) {
		s.Agents(func(a *agents.Agent) bool {
			all = append(all, fmt.Sprintf("%d %s %d %s", a.Domain, a.Name, a.Errors, a.Error()))
			return true
		})
		return all
	}
	s.NameAgents(t.Context()) // there is nobody to ask yet
	s.pool.BeginSession(dialUnix(t, relay.Address))
	s.NameAgents(t.Context()) // and then pmcd does not tell
	sample()
	relay.Update(func() {
		indom := pdu.NewInDom(2, 3)
		relay.InDoms = map[pdu.InDom]pmapitest.InDom{indom: {Instances: []pdu.Instance{{ID: 3, Name: "proc"}, {ID: 60, Name: "linux"}}}}
		for i := range relay.Metrics {
			if m := &relay.Metrics[i]; m.Name == "up.count" {
				m.Code = pdu.ErrAgain
			}
		}
		relay.Metrics = append(relay.Metrics, pmapitest.Metric{
			Name: "pmcd.agent.status", Desc: pdu.Desc{PMID: pdu.NewPMID(2, 4, 1), Type: pdu.Type32, InDom: indom},
		})
	})
	for range 3 {
		sample()
	}
	problem := fmt.Sprintf("3 %v: %v", countID, pdu.ErrAgain)
	assert.Equal(t, []string{"3 3 0 ", "60 60 " + problem}, shown())
	s.NameAgents(t.Context())
	assert.Equal(t, []string{"3 proc 0 ", "60 linux " + problem}, shown())
	s.pool.EndSession()
	s.readers.Wait()
	assert.Equal(t, []string{"3 proc 0 ", "60 linux " + problem}, shown())
	n := 0
	s.Agents(func(*agents.Agent) bool { n++; return false })
	assert.Equal(t, 1, n)
	entries := 0
	for _, entry := range s.log.AllEntries() {
		if entry.Message == "operand has no values" {
			entries++
			assert.Equal(t, logrus.Fields{"domain": 60, "agent": "", "pmid": countID, logrus.ErrorKey: pdu.ErrAgain}, entry.Data)
		}
	}
	assert.Equal(t, 1, entries)
}

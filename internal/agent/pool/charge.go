package pool

import (
	"slices"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/slow"
	"pmdaderived/pdu"
)

// chargeAgents computes the times of an answer, and charges the agents of the request.
func (p *Pool) chargeAgents(c *connection, a *Answer) {
	a.Began, a.PMCDTime, a.AgentTime = p.slow.RecordFetch(c.sent, a.Columns.Time, a.Arrived)
	p.figures.UpstreamBusy.Add(int64(a.PMCDTime))
	r := slow.Request{AgentTime: a.AgentTime, Ended: a.Arrived}
	if c.request.AddBudgets(&r); r.Budgets == nil {
		return
	}
	for i := range a.Columns.Sets {
		set := &a.Columns.Sets[i]
		if domain := set.PMID.Domain(); set.Code >= 0 && !slices.Contains(r.HaveValues, domain) {
			r.HaveValues = append(r.HaveValues, domain)
		}
	}
	slowed, recovered := p.slow.Charge(r)
	p.logSlowAgents(r, slowed, recovered)
}

// lookupGate is the gate of the connection for lookups: it refuses those for resting agents, and charges the others.
type lookupGate struct{ *Pool }

// Ask implements [pmapi.Gate].
func (p lookupGate) Ask(req pdu.Message) pdu.Code {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.slow.AdmitLookup(req, p.now())
}

// Answered implements [pmapi.Gate].
func (p lookupGate) Answered(req pdu.Message, code pdu.Code) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logSlowAgents(p.slow.RecordReply(req, code, p.now()))
}

// logSlowAgents logs which agents are slow from now on, and which are not any more.
func (p *Pool) logSlowAgents(r slow.Request, slowed, recovered []slow.Budget) {
	remark := func(level logrus.Level, of slow.Budget, text string) {
		p.mu.Remark(level, logrus.Fields{"domain": of, "request": of.Kind, "duration": r.AgentTime}, text)
	}
	for _, of := range slowed {
		remark(logrus.WarnLevel, of, "agent is slow, sampling it less often")
	}
	for _, of := range recovered {
		remark(logrus.InfoLevel, of, "agent is no longer slow")
	}
	p.figures.SlowAgents.Store(int64(p.slow.CountSlowAgents()))
}

package upstream

import (
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/internal/agent/slow"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// charge puts down to the agents of a fetch what time of pmcd it took. pmcd does one thing at a time, and does not
// ask us for anything while it works on a fetch. It returns when pmcd began with it, at the earliest, and how long it was busy.
func (u *Upstream) charge(c *connection, res *pmapi.Columns, now time.Time) (began time.Time, busy time.Duration) {
	began, busy, took := u.slow.Fetched(c.sent, res.Time, now)
	u.figures.UpstreamBusy.Add(int64(busy))
	if c.asked.Charged == nil && (took < slow.Long || len(c.asked.Sources) == 0) {
		return began, busy
	}
	r := slow.Request{Of: c.asked.Charged, Took: took, Ended: now}
	if c.asked.Charged == nil {
		for _, s := range c.asked.Sources {
			r.Add(s.agents)
		}
	}
	for i := range res.Sets {
		if domain := res.Sets[i].PMID.Domain(); res.Sets[i].Code >= 0 && !slices.Contains(r.Spoke, domain) {
			r.Spoke = append(r.Spoke, domain)
		}
	}
	if c.asked.Probes != nil && took < slow.Long {
		u.slow.Probed(c.asked.Probes)
		c.asked.Probes = nil // they are asked for now
	}
	slowed, recovered := u.slow.Note(r)
	u.tell(r, slowed, recovered)
	return began, busy
}

// gate is that of the connection that is not for fetches: what is looked up there is charged, too.
type gate struct{ *Upstream }

// Ask implements [pmapi.Gate].
func (u gate) Ask(req pdu.Message) pdu.Code {
	u.mu.Lock()
	defer u.unlock()
	return u.slow.Ask(req, u.now())
}

// Answered implements [pmapi.Gate].
func (u gate) Answered(req pdu.Message, code pdu.Code) {
	u.mu.Lock()
	defer u.unlock()
	u.tell(u.slow.Reply(req, code, u.now()))
}

// tell tells of agents that are slow from now on, and of those that are no more.
func (u *Upstream) tell(r slow.Request, slowed, recovered []slow.Account) {
	remark := func(level logrus.Level, of slow.Account, text string) {
		u.remark(level, logrus.Fields{"domain": of, "request": of.Kind, "duration": r.Took}, text)
	}
	for _, of := range slowed {
		remark(logrus.WarnLevel, of, "agent is slow, sampling it less often")
	}
	for _, of := range recovered {
		remark(logrus.InfoLevel, of, "agent is no longer slow")
	}
	u.figures.SlowAgents.Store(int64(u.slow.BackingOff()))
}

package upstream

import (
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived/agent/slow"
	"pmdaderived/pmda/pmapi"
)

// charge puts down to the agents of a fetch what time of pmcd it took. pmcd does one thing at a time, and does not
// ask us for anything while it works on a fetch.
func (u *Upstream) charge(c *connection, res *pmapi.Columns, now time.Time) {
	busy, took := u.busy.Fetched(c.sent, res.Time, now)
	u.figures.UpstreamBusy.Add(int64(busy))
	if c.agents == nil && (took < slow.Long || len(c.asked.Sources) == 0) {
		return
	}
	r := slow.Request{Of: c.agents, Took: took, Ended: now}
	if c.agents == nil {
		for _, s := range c.asked.Sources {
			r.Add(s.agents)
		}
	}
	for i := range res.Sets {
		if domain := res.Sets[i].PMID.Domain(); res.Sets[i].Code >= 0 && !slices.Contains(r.Spoke, domain) {
			r.Spoke = append(r.Spoke, domain)
		}
	}
	if c.probes != nil && took < slow.Long {
		u.slow.Probed(c.probes)
		c.probes = nil // they are asked for now
	}
	u.note(r)
}

// note charges a request to agents.
func (u *Upstream) note(r slow.Request) {
	slowed, recovered := u.slow.Note(r)
	for _, of := range slowed {
		u.remark(logrus.WarnLevel, logrus.Fields{"domain": of, "duration": r.Took}, "agent is slow, sampled seldom")
	}
	for _, of := range recovered {
		u.remark(logrus.InfoLevel, logrus.Fields{"domain": of, "duration": r.Took}, "agent is no longer slow")
	}
	u.figures.SlowAgents.Store(int64(u.slow.BackingOff()))
}

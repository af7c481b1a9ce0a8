package upstream

import (
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived/agent/predict"
	"pmdaderived/derived/agent/slow"
	"pmdaderived/pmda/pmapi"
)

// charge puts down to the agents of a fetch what time of pmcd it took. pmcd does one thing at a time and
// stamps each answer when it is complete, so the time before the answer before was for that. Nor does it
// ask us for anything while it works on a fetch.
func (u *Upstream) charge(c *connection, res *pmapi.Columns, now time.Time) {
	took := now.Sub(c.sent)
	if since := res.Time.Sub(u.stamped); since >= 0 {
		took = min(took, since)
	}
	u.stamped = res.Time
	u.figures.UpstreamBusy.Add(int64(took))
	if took >= slow.Long {
		u.busy.PMCD = predict.Interval{From: now.Add(-took), To: now}
		took = min(took, u.busy.Most(c.sent, now))
	}
	if took < slow.Long && len(u.slow) == 0 || len(c.asked.Sources) == 0 {
		return
	}
	asked, spoke := c.agents, []int(nil)
	for i := range res.Sets {
		domain := res.Sets[i].PMID.Domain()
		if c.agents == nil && !slices.Contains(asked, domain) {
			asked = append(asked, domain)
		}
		if res.Sets[i].Code >= 0 && !slices.Contains(spoke, domain) {
			spoke = append(spoke, domain)
		}
	}
	slowed, recovered := u.slow.Note(asked, spoke, took, now)
	for _, d := range slowed {
		u.remark(logrus.WarnLevel, logrus.Fields{"domain": d, "duration": took}, "agent is slow, sampled seldom")
	}
	for _, d := range recovered {
		u.remark(logrus.InfoLevel, logrus.Fields{"domain": d, "duration": took}, "agent is no longer slow")
	}
	u.figures.SlowAgents.Store(int64(u.slow.BackingOff()))
}

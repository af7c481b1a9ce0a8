package upstream

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived/agent/agents"
	"pmdaderived/derived/agent/operand"
	"pmdaderived/derived/agent/slow"
	"pmdaderived/pmda/pmapi"
)

// judge finds out whose agents have been restarted, if some may have been since the samples before: theirs begin an epoch
// with this one. It is compared with the last one that had values, and those that follow are, too, as long as it has none. Where the
// samples before are forgotten it is all agents of the series.
func (u *Upstream) judge(made *operand.Sample, of []*Series) {
	evidence := make(operand.Evidence)
	var restarted []int
	for _, s := range of {
		switch {
		case s.judged == u.doubts || s.Older == 0:
		case s.Valued != nil:
			evidence.Compare(s.Valued, made, s.descs)
		case s.Latest == nil && !s.Taken.IsZero():
			restarted = append(restarted, s.domains...)
		}
	}
	if restarted = append(restarted, evidence.Restarted()...); len(restarted) > 0 {
		u.beginEpoch("its values", restarted...)
		made.Begin(u.maker.Epochs())
	}
}

// beginEpoch has the samples to come not compared with those before, those of some domains or all.
func (u *Upstream) beginEpoch(source string, domains ...int) {
	u.maker.BeginEpoch(domains...)
	u.figures.Resets.Add(uint64(max(1, len(domains))))
	for _, d := range domains {
		if !u.asked.Reset(d, u.now()) {
			continue
		}
		u.remark(logrus.InfoLevel, logrus.Fields{"domain": d, "agent": u.agents.Name(d), "source": source},
			"agent was restarted or has exited, rates of its metrics start again")
	}
}

// LookAtAgents asks pmcd which of its agents have been started or have ended since it was asked before: what is computed from their
// metrics begins anew. It waits, and is for the goroutine of LookUp. changed reports whether there was anything, or may have been since pmcd does not tell. After
// an error it is to be asked again.
func (u *Upstream) LookAtAgents(ctx context.Context) (changed bool, err error) {
	err = u.LookUp(func(conn *pmapi.Conn) error {
		u.mu.Lock()
		before := u.agents
		u.unlock()
		now, err := agents.LookAt(ctx, conn, before)
		if conn.Err() != nil {
			return err
		}
		u.mu.Lock()
		defer u.unlock()
		if conn != u.lookups { // it has ended meanwhile
			return nil
		}
		changed = true
		switch {
		case err != nil && !agents.Silent(err):
			return err // what it has said before counts until it tells
		case err != nil && err.Error() != u.untold:
			u.untold = err.Error()
			u.remark(logrus.InfoLevel, logrus.Fields{logrus.ErrorKey: err},
				"pmcd does not tell about its agents, all rates start again after a restart")
		case err == nil && before != nil:
			changed = u.restarted(now.Since(before))
		}
		if u.agents = now; err != nil && before != nil { // why it was asked now nobody knows
			u.beginEpoch("")
		}
		return nil
	})
	return changed, err
}

// restarted does what agents call for that have ended or been started.
func (u *Upstream) restarted(ended []int, restarted, changed bool) bool {
	if len(ended) > 0 {
		u.beginEpoch("its status", ended...)
	}
	if restarted { // it may be one that was not seen to have ended, and has not counted far
		u.doubts++
		deep := slices.DeleteFunc(slices.Clone(u.series), func(s *Series) bool { return s.Older == 0 })
		now := u.now()
		u.ask(now, operand.Need{After: now}, deep...)
	}
	return changed
}

// Agents lists what is known of the agents that were asked for operands, and calls shown with each and whether it is left alone for now until that returns false.
func (u *Upstream) Agents(now time.Time, shown func(a *agents.Agent, resting bool) bool) {
	u.mu.Lock()
	list := u.asked.List(u.agents)
	resting := make([]bool, len(list))
	for i := range list {
		resting[i] = u.slow.Resting(now, slow.Of(slow.Values, list[i].Domain))
	}
	u.unlock()
	for i := range list {
		if !shown(&list[i], resting[i]) {
			return
		}
	}
}

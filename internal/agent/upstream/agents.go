package upstream

import (
	"context"
	"time"

	"pmdaderived/internal/agent/agents"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/pmda/pmapi"
)

// NameAgents asks pmcd for the names of its agents. It waits, and is for the goroutine of LookUp. While pmcd does not tell, they have the
// names that they had.
func (u *Upstream) NameAgents(ctx context.Context) {
	var names map[int]string
	if err := u.LookUp(func(conn *pmapi.Conn) (err error) {
		names, err = agents.LookUpNames(ctx, conn)
		return err
	}); err != nil {
		u.log.WithError(err).Debug("cannot get the names of agents")
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.agentNames = names
}

// Agents lists what is known of the agents that were asked for operands, and calls shown with each and whether it is left alone for now until that returns false.
func (u *Upstream) Agents(now time.Time, shown func(a *agents.Agent, resting bool) bool) {
	u.mu.Lock()
	list := u.agentTable.List(u.agentNames)
	resting := make([]bool, len(list))
	for i := range list {
		resting[i] = u.slow.Resting(now, slow.AgentBudget(slow.Values, list[i].Domain))
	}
	u.mu.Unlock()
	for i := range list {
		if !shown(&list[i], resting[i]) {
			return
		}
	}
}

package upstream

import (
	"context"
	"time"

	"pmdaderived/internal/agent/agents"
	"pmdaderived/internal/agent/slow"
	"pmdaderived/pmda/pmapi"
)

// NameAgents looks up the names of pmcd's agents. It waits, and is for the goroutine of LookUp. If the lookup fails,
// agents keep the names that they have.
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

// Agents calls shown with each agent that has had a request, in order of their domains, and whether it rests, until
// shown returns false. The lock is not held meanwhile.
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

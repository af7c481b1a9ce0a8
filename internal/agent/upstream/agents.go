package upstream

import (
	"context"

	"pmdaderived/internal/agent/agents"
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

// Agents calls shown with each agent that has had a request, in order of their domains, until shown returns false. The
// lock is not held meanwhile.
func (u *Upstream) Agents(shown func(*agents.Agent) bool) {
	u.mu.Lock()
	list := u.agentTable.List(u.agentNames)
	u.mu.Unlock()
	for i := range list {
		if !shown(&list[i]) {
			return
		}
	}
}

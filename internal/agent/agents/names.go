package agents

import (
	"context"

	"pmdaderived/pmda/pmapi"
)

// LookUpNames asks pmcd for the names of its agents, by domain: the instances of pmcd.agent.status.
func LookUpNames(ctx context.Context, conn *pmapi.Conn) (map[int]string, error) {
	found, err := conn.LookupNames(ctx, []string{"pmcd.agent.status"})
	if err != nil {
		return nil, err
	}
	if found[0].Code < 0 {
		return nil, found[0].Code
	}
	desc, err := conn.Desc(ctx, found[0].PMID)
	if err != nil {
		return nil, err
	}
	instances, err := conn.Instances(ctx, desc.InDom)
	if err != nil {
		return nil, err
	}
	names := make(map[int]string, len(instances))
	for _, i := range instances {
		names[int(i.ID)] = i.Name
	}
	return names, nil
}

package freshbench

import (
	"context"
	"fmt"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// dial connects to a pmcd that is named as tools name it. "local:" is the one of the environment.
func dial(ctx context.Context, host string) (*pmapi.Conn, error) {
	network, address, err := pmapi.ParseAddress(host)
	if err != nil {
		return nil, err
	}
	return pmapi.Dial(ctx, network, address)
}

// lookUp finds metrics that have to be there.
func lookUp(ctx context.Context, c *pmapi.Conn, names ...string) ([]pdu.PMID, error) {
	found, err := c.LookupNames(ctx, names)
	if err != nil {
		return nil, err
	}
	ids := make([]pdu.PMID, len(found))
	for i, f := range found {
		if f.Code < 0 {
			return nil, fmt.Errorf("%s: %w", names[i], f.Code)
		}
		ids[i] = f.PMID
	}
	return ids, nil
}

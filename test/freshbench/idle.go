package freshbench

import (
	"context"
	"fmt"
)

// idle has no client for a while and looks whether the daemon asks pmcd for anything.
func idle(ctx context.Context, b *bench) ([]Row, error) {
	length := b.options.Plan.Idle
	if length == 0 {
		return nil, nil
	}
	start, err := b.traffic(ctx)
	if err != nil {
		return nil, err
	}
	// What looking costs.
	before, err := b.traffic(ctx)
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, length); err != nil {
		return nil, err
	}
	after, err := b.traffic(ctx)
	if err != nil {
		return nil, err
	}
	looking, quiet := before.pdus-start.pdus, after.pdus-before.pdus
	what := fmt.Sprintf("%v without clients", length)
	return []Row{
		{
			What: what + ": fetches by the daemon", Measured: fmt.Sprint(after.fetches - before.fetches), Target: "0",
			OK: after.fetches == before.fetches,
		},
		{
			What:     what + ": PDUs that pmcd got",
			Measured: fmt.Sprintf("%d, %d of them for looking", quiet, looking), Target: "all for looking", OK: quiet == looking,
		},
	}, nil
}

// traffic is what pmcd has been asked so far.
type traffic struct {
	fetches uint64 // by the daemon
	pdus    uint64 // by anybody, the answers of agents included
}

func (b *bench) traffic(ctx context.Context) (t traffic, err error) {
	c, err := dial(ctx, b.host())
	if err != nil {
		return t, err
	}
	defer c.Close() //nolint:errcheck // nothing is lost with it
	ids, err := lookUp(ctx, c, "derived.control.upstream.fetches", "pmcd.pdu_in.total")
	if err != nil {
		return t, err
	}
	res, err := c.Fetch(ctx, ids)
	if err != nil {
		return t, err
	}
	for i, n := range []*uint64{&t.fetches, &t.pdus} {
		if set := &res.Sets[i]; len(set.Values) != 1 {
			return t, fmt.Errorf("metric %s: %d values, %w", ids[i], len(set.Values), set.Code)
		}
		*n = res.Sets[i].Values[0].Bits
	}
	return t, nil
}

package soak

import (
	"context"
	"math/rand/v2"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/rig"
)

const (
	// floodMetrics is the number of metrics in the lists of the client that floods. Its lists are permutations of them:
	// more than there can be histories.
	floodMetrics = 8

	// everyUnknown is the number of its fetches of which one is of PMIDs of no metrics, as many as unknownPMIDs.
	everyUnknown = 200
	unknownPMIDs = 16_000

	// floodBurst is the number of fetches without a pause after it has connected: from then on the memory stays the same.
	floodBurst = 5000
)

// flood is a client that fetches another list each time. Nothing of it is checked but that other clients lose nothing.
type flood struct {
	*shared
	rand *rand.Rand
	pace rig.Pace
}

func (c *flood) run(ctx context.Context) { c.reconnect(ctx, "client that floods", c.fetchLists) }

func (c *flood) fetchLists(ctx context.Context, conn *pmapi.Conn) error {
	var names []string
	for _, i := range c.rand.Perm(len(c.model.metrics))[:floodMetrics] {
		names = append(names, c.model.metrics[i].name)
	}
	known, err := rig.LookUp(ctx, conn, names...)
	if err != nil {
		return err
	}
	unknown := make([]pdu.PMID, unknownPMIDs)
	for n := 1; ; n++ {
		list := known.IDs
		if n%everyUnknown == 0 {
			list = unknown
			for i := range list {
				list[i] = pdu.NewPMID(derivedDomain, 4000, c.rand.IntN(1024)) // definitions have lower clusters
			}
		}
		c.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		if _, err := rig.Fetch(ctx, conn, list); err != nil {
			return err
		}
		c.tally.floods.Add(1)
		if n > floodBurst && !rig.Sleep(ctx, time.Until(c.pace(time.Now()))) || ctx.Err() != nil {
			return nil
		}
	}
}

package soak

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/rig"
)

const (
	// floodMetrics is the number of metrics in the lists of the client that floods. Its lists are permutations of them.
	floodMetrics = 8

	// floodLists is the number of lists that it fetches again and again.
	floodLists = 4000

	// A rush is a time in which it fetches each list about every 4 s: more often is more than two processors bear beside
	// all others.
	rushEvery, rushLength, rushInterval = time.Minute, 15 * time.Second, 4 * time.Second / floodLists

	// lookUpPause is the pause between two look-ups of a connection that looks up, and does not fetch.
	lookUpPause = 2 * time.Second

	// everyUnknown is the number of its fetches of which one is of PMIDs of no metrics, as many as unknownPMIDs.
	everyUnknown = 200
	unknownPMIDs = 16_000

	// floodBurst is the number of fetches without a pause after it has connected, of more lists than there can be
	// histories: from then on the memory stays the same.
	floodBurst = 5000
)

// flood is a client that fetches thousands of lists. Nothing of it is checked but that other clients lose nothing.
type flood struct {
	*shared
	rand     *rand.Rand
	interval time.Duration // between two fetches
}

// calm reports whether the last disturbance is so long ago that others have recovered: a flood beside it is more than two
// processors bear.
func (s *shared) calm(at time.Time) bool {
	return !s.disturbances.affect(at.Add(-rushLength), at, agentGone, pmcdGone, pmcdSIGHUP)
}

// pace pauses for the interval, or for less during a rush.
func (c *flood) pace(at time.Time) time.Time {
	if at.Sub(at.Truncate(rushEvery)) < rushLength && c.calm(at) {
		return rig.Every(rushInterval)(at)
	}
	return rig.Every(c.interval)(at)
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
	var lists [][]pdu.PMID
	for n := 1; ; n++ {
		list := unknown
		switch {
		case n%everyUnknown == 0:
			for i := range list {
				list[i] = pdu.NewPMID(derivedDomain, 4000, c.rand.IntN(1024)) // definitions have lower clusters
			}
		case n <= floodBurst:
			list = slices.Clone(known.IDs)
			c.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			lists = append(lists, list)
		default:
			list = lists[n%floodLists]
		}
		if _, err := rig.Fetch(ctx, conn, list); err != nil {
			return err
		}
		c.tally.floods.Add(1)
		if n > floodBurst && !rig.Sleep(ctx, time.Until(c.pace(time.Now()))) || ctx.Err() != nil {
			return nil
		}
	}
}

// newcomers runs clients that come in the middle of a rush, one in each, and returns the ages of their samples after
// the first one. Nobody else fetches their metric.
func (r *run) newcomers(ctx context.Context) (all rig.Durations) {
	const each = 2 * time.Second
	for rig.Sleep(ctx, time.Until(time.Now().Truncate(rushEvery).Add(rushEvery+rushLength/3))) {
		begin := time.Now()
		ages, err := r.clientAges(ctx, "aside", rig.Every(each), int(rushLength*2/3/each))
		switch {
		case err == nil:
			all = append(all, ages[min(1, len(ages)):]...)
		case r.disturbances.affect(begin, time.Now(), pmcdGone, pmcdSIGHUP):
			r.tally.excused.Add(1)
		default:
			r.tally.addProblem(failedCall, "newcomer: %v", err)
		}
	}
	return all
}

// lookUps are connections that look up a metric again and again, and never fetch.
type lookUps struct {
	*shared
	connections int
}

func (c *lookUps) run(ctx context.Context) { c.reconnect(ctx, "connections that look up", c.lookUp) }

// lookUp looks up over one connection after the other. It opens the others one by one: all at once would fill the queue
// in which the daemon waits for a connection, too, when pmcd has been started again.
func (c *lookUps) lookUp(ctx context.Context, first *pmapi.Conn) error {
	all := []*pmapi.Conn{first}
	defer func() {
		for _, conn := range all[1:] {
			_ = conn.Close() // nothing is lost with it
		}
	}()
	for n := 0; rig.Sleep(ctx, lookUpPause/time.Duration(c.connections)); n++ {
		if n > 0 && !c.calm(time.Now()) {
			continue
		}
		if len(all) < c.connections {
			conn, err := rig.Dial(ctx, c.pmcd)
			if err != nil {
				return err
			}
			all = append(all, conn)
		}
		x := c.model.metrics[n%len(c.model.metrics)]
		if _, err := rig.LookUp(ctx, all[n%len(all)], x.name); err != nil {
			return err
		}
		c.tally.lookUps.Add(1)
	}
	return nil
}

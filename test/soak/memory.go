package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/rig"
)

// mmvAge is the greatest age of the figures in mmv.pmdaderived.
const mmvAge = 2 * time.Second

// singleFetch returns a client that fetches once.
func (r *run) singleFetch(name string, metrics int) *client {
	return &client{shared: r.shared, name: name, rand: r.random(), metrics: metrics, pace: rig.Nonstop, fetches: 1}
}

// openConnections opens many connections at once, each with two lists of metrics: two contexts with a history for the
// daemon. It returns the number of these contexts.
func (r *run) openConnections(ctx context.Context) (contexts int, err error) {
	var all []*pmapi.Conn
	defer func() {
		for _, conn := range all {
			err = errors.Join(err, conn.Close())
		}
	}()
	c := r.singleFetch("crowd", 10)
	c.severalLists = true
	for range r.options.Plan.Connections {
		conn, err := rig.Dial(ctx, r.pmcd)
		if err != nil {
			return 0, err
		}
		all = append(all, conn)
		if err := errors.Join(c.fetchList(ctx, conn), c.fetchList(ctx, conn)); err != nil {
			return 0, err
		}
	}
	f, err := r.figures(ctx)
	return f.contexts, err
}

// reconnectOften connects, fetches and disconnects again and again, without a pause.
func (r *run) reconnectOften(ctx context.Context, times int) error {
	c := r.singleFetch("visitor", 3)
	for i := range times {
		if err := r.withConnection(ctx, c.fetchList); err != nil {
			return fmt.Errorf("visit %d: %w", i, err)
		}
	}
	return nil
}

// kernelDelay is the time after a reload until the kernel has the unused memory.
const kernelDelay = time.Second

// maxGrowthAfter is the share by which memory may grow.
const maxGrowthAfter = 0.1

// heldFigures returns the figures after the daemon has looked up all operands again, which returns unused memory to the
// kernel. Otherwise memory differs by 25 %, depending on the time of the last garbage collection.
func (r *run) heldFigures(ctx context.Context) (figures, error) {
	const reload = "derived.control.reload" // its value is the number of reloads
	before, err := rig.ReadFigures(ctx, r.pmcd, reload)
	if err != nil {
		return figures{}, err
	}
	c, err := rig.Open(ctx, r.pmcd, reload)
	if err != nil {
		return figures{}, err
	}
	err = c.Store(ctx, []pdu.ValueSet{{PMID: c.IDs[0], Values: []pdu.Value{pdu.Uint32Value(pdu.NoInst, 1)}}})
	if err := errors.Join(err, c.Close()); err != nil {
		return figures{}, err
	}
	for begin := time.Now(); time.Since(begin) < maxReload && rig.Sleep(ctx, 10*time.Millisecond); {
		now, err := rig.ReadFigures(ctx, r.pmcd, reload)
		if err != nil {
			return figures{}, err
		}
		if now.Numbers[reload] > before.Numbers[reload] {
			rig.Sleep(ctx, kernelDelay)
			return r.figures(ctx)
		}
	}
	return figures{}, errors.New("operands are not looked up again")
}

// readings is the number of readings in a median: memory is low for a moment when old contexts are dropped.
const readings = 3

// medianFigures returns the last of some figures, with the median memory of the last few.
func medianFigures(all []figures) figures {
	f := all[len(all)-1]
	var resident []float64
	for _, one := range all[max(0, len(all)-readings):] {
		resident = append(resident, one.Resident)
	}
	f.Resident = rig.Median(resident)
	return f
}

// awaitReturn waits until the daemon holds about as little memory as before.
func (r *run) awaitReturn(ctx context.Context, before figures) (after figures, err error) {
	var all []figures
	for begin := time.Now(); ; {
		f, err := r.heldFigures(ctx)
		if err != nil {
			return figures{}, err
		}
		all = append(all, f)
		after = medianFigures(all)
		for _, f := range all { // the least: some are those of readers of figures that have just disconnected
			after.contexts = min(after.contexts, f.contexts)
		}
		little := after.Resident <= before.Resident*(1+maxGrowthAfter) && after.contexts <= ownContexts
		if little && len(all) >= readings || time.Since(begin) > r.options.Plan.MemoryReturn {
			return after, nil
		}
	}
}

// warmFigures runs the clients once more, without disturbances, and returns the figures after that, when old contexts
// are dropped. A daemon that pmcd has just started does not yet hold all that it needs for these clients.
func (r *run) warmFigures(ctx context.Context) (figures, error) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(r.options.Plan.Warm, cancel).Stop()
	var running sync.WaitGroup
	for _, c := range r.everyClient() {
		running.Go(func() { c(working) })
	}
	running.Wait()
	var all []figures
	for begin := time.Now(); ; {
		f, err := r.heldFigures(ctx)
		if err != nil {
			return figures{}, err
		}
		all = append(all, f)
		if len(all) >= readings && time.Since(begin) > r.options.Plan.MemoryReturn/2 {
			return medianFigures(all), ctx.Err()
		}
	}
}

// memoryRows returns the rows about many connections and many reconnects.
func (r *run) memoryRows(ctx context.Context) ([]rig.Row, error) {
	p := r.options.Plan
	if p.Connections == 0 {
		return nil, nil
	}
	before, err := r.warmFigures(ctx)
	if err != nil {
		return nil, fmt.Errorf("routine: %w", err)
	}
	contexts, err := r.openConnections(ctx)
	if err != nil {
		return nil, fmt.Errorf("crowd: %w", err)
	}
	afterCrowd, err := r.awaitReturn(ctx, before)
	if err != nil {
		return nil, err
	}
	least := before
	if afterCrowd.Resident < least.Resident {
		least = afterCrowd
	}
	begin := time.Now()
	if err := r.reconnectOften(ctx, p.Reconnects); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	afterVisits, err := r.awaitReturn(ctx, least)
	if err != nil {
		return nil, err
	}
	many := rig.Some(fmt.Sprintf("%d connections with two lists each: contexts with a history", p.Connections),
		int64(contexts))
	many.Target, many.OK = fmt.Sprintf("≥ %d", 2*p.Connections), contexts >= 2*p.Connections
	return []rig.Row{
		many,
		memoryRow(fmt.Sprintf("%d contexts: memory before and after", contexts), before.Resident, afterCrowd.Resident,
			maxGrowthAfter),
		rig.AtMost("contexts with a history when they have gone", int64(afterVisits.contexts), ownContexts),
		memoryRow(fmt.Sprintf("%d connects and disconnects in %.0f s: memory before and after", p.Reconnects, took.Seconds()),
			least.Resident, afterVisits.Resident, maxGrowthAfter),
	}, nil
}

// memoryRow returns a row that compares memory in bytes.
func memoryRow(what string, before, after, most float64) rig.Row {
	more := after/before - 1
	return rig.Row{
		What: what, Measured: fmt.Sprintf("%.1f and %.1f MB, %+.1f %%", before/1e6, after/1e6, more*100),
		Target: fmt.Sprintf("≤ %+.0f %%", most*100), OK: more <= most, Timed: true,
	}
}

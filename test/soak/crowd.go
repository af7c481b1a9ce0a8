package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pmdaderived/pmda/pmapi"
)

// crowd is many connections at once, each with two lists of metrics: two contexts with a history for the daemon.
func (r *run) crowd(ctx context.Context) (contexts int, err error) {
	var all []*pmapi.Conn
	defer func() {
		for _, conn := range all {
			err = errors.Join(err, conn.Close())
		}
	}()
	c := &client{scene: r.scene, name: "crowd", rand: r.random(), metrics: 10}
	for range r.options.Plan.Crowd {
		conn, err := r.dial(ctx)
		if err != nil {
			return 0, err
		}
		all = append(all, conn)
		for range 2 {
			if err := c.fetchOnce(ctx, conn); err != nil {
				return 0, err
			}
		}
	}
	sleep(ctx, 2*mmvAge) // until the figures tell
	f, err := r.figures(ctx)
	return f.contexts, err
}

// mmvAge is how old the figures in mmv.pmdaderived may be.
const mmvAge = time.Second

// fetchOnce looks metrics up and fetches them.
func (c *client) fetchOnce(ctx context.Context, conn *pmapi.Conn) error {
	j := newJudge(c.scene, c.name)
	var err error
	if j.list, err = c.lookUp(ctx, conn, c.choose()); err != nil {
		return err
	}
	sent := time.Now()
	res, err := conn.Fetch(ctx, j.ids())
	if err != nil {
		return err
	}
	j.check(res.Sets, sent, time.Now())
	return nil
}

// visits connects, fetches and disconnects again and again, without a pause.
func (r *run) visits(ctx context.Context, times int) error {
	c := &client{scene: r.scene, name: "visitor", rand: r.random(), metrics: 3}
	for i := range times {
		conn, err := r.dial(ctx)
		if err != nil {
			return fmt.Errorf("visit %d: %w", i, err)
		}
		err = errors.Join(c.fetchOnce(ctx, conn), conn.Close())
		if err != nil {
			return fmt.Errorf("visit %d: %w", i, err)
		}
	}
	return nil
}

// mostMore is how much more memory may be held after a crowd than before.
const mostMore = 0.1

// returns waits until the daemon holds about as little as before.
func (r *run) returns(ctx context.Context, before figures) (after figures, err error) {
	for begin := time.Now(); ; {
		if after, err = r.figures(ctx); err != nil {
			return after, err
		}
		if float64(after.resident) <= float64(before.resident)*(1+mostMore) && after.contexts <= ownContexts {
			return after, nil
		}
		if time.Since(begin) > r.options.Plan.Return || !sleep(ctx, mmvAge) {
			return after, nil
		}
	}
}

// routine has the clients of the run do their work once more, without disturbances, and returns what the daemon holds after that,
// at the least: one that pmcd has just started again does not hold yet what it takes to serve them.
func (r *run) routine(ctx context.Context) (least figures, err error) {
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(r.options.Plan.Routine, cancel).Stop()
	var running sync.WaitGroup
	for _, c := range r.everyClient() {
		running.Go(func() { c(working) })
	}
	running.Wait()
	for begin := time.Now(); ; {
		f, err := r.figures(ctx)
		if err != nil {
			return least, err
		}
		if least.pid == 0 || f.resident < least.resident {
			least = f
		}
		if time.Since(begin) > r.options.Plan.Return/2 || !sleep(ctx, mmvAge) { // what is old is forgotten by then
			return least, ctx.Err()
		}
	}
}

// crowds is the rows about the two.
func (r *run) crowds(ctx context.Context) ([]Row, error) {
	p := r.options.Plan
	if p.Crowd == 0 {
		return nil, nil
	}
	before, err := r.routine(ctx)
	if err != nil {
		return nil, fmt.Errorf("routine: %w", err)
	}
	contexts, err := r.crowd(ctx)
	if err != nil {
		return nil, fmt.Errorf("crowd: %w", err)
	}
	afterCrowd, err := r.returns(ctx, before)
	if err != nil {
		return nil, err
	}
	least := before
	if afterCrowd.resident < least.resident {
		least = afterCrowd
	}
	begin := time.Now()
	if err := r.visits(ctx, p.Visits); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	afterVisits, err := r.returns(ctx, least)
	if err != nil {
		return nil, err
	}
	row := func(what string, before, after figures) Row {
		more := float64(after.resident)/float64(before.resident) - 1
		return Row{
			What:   what + ": memory before and after",
			Found:  fmt.Sprintf("%.1f and %.1f MB, %+.1f %%", megabytes(before.resident), megabytes(after.resident), more*100),
			Wanted: fmt.Sprintf("≤ %+.0f %%", mostMore*100), OK: more <= mostMore, Timed: true,
		}
	}
	return []Row{
		{
			What: fmt.Sprintf("%d connections with two lists each: contexts with a history", p.Crowd), Found: fmt.Sprint(contexts),
			Wanted: fmt.Sprintf("≥ %d", 2*p.Crowd), OK: contexts >= 2*p.Crowd,
		},
		row(fmt.Sprintf("%d contexts", contexts), before, afterCrowd),
		{
			What: "contexts with a history when they have gone", Found: fmt.Sprint(afterVisits.contexts), Wanted: fmt.Sprintf("≤ %d, its own", ownContexts),
			OK: afterVisits.contexts <= ownContexts,
		},
		row(fmt.Sprintf("%d connects and disconnects in %.0f s", p.Visits, took.Seconds()), least, afterVisits),
	}, nil
}

func megabytes(n int) float64 { return float64(n) / 1e6 }

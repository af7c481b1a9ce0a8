package soak

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"pmdaderived/derived/agent/reloadtest"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// redial is the pause after a connection that failed.
const redial = 100 * time.Millisecond

// scene is what all clients share.
type scene struct {
	socket  string
	model   *model
	tally   *tally
	weather *weather
}

// client is a program that looks metrics up once and fetches them again and again.
type client struct {
	*scene
	name    string
	rand    *rand.Rand
	metrics int                  // how many it chooses
	pause   func() time.Duration // between two fetches
	fetches int                  // for each connection; 0: without end
}

// run goes on until ctx ends.
func (c *client) run(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		if err := c.life(ctx); err != nil && ctx.Err() == nil {
			c.failed(c.name, begin, err)
			sleep(ctx, redial)
		}
	}
}

// failed counts a connection that ended. When pmcd goes away is known only from what it takes along.
func (s *scene) failed(who string, since time.Time, err error) {
	if s.weather.bad(since, time.Now(), pmcdGone, pmcdTold) {
		s.tally.excused.Add(1)
		return
	}
	s.tally.problem(failedCall, "%s: %v", who, err)
}

// life is one connection.
func (c *client) life(ctx context.Context) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	c.tally.connects.Add(1)
	j := newJudge(c.scene, c.name)
	if j.list, err = c.lookUp(ctx, conn, c.choose()); err != nil {
		return err
	}
	ids := j.ids()
	for n := 0; ctx.Err() == nil && (c.fetches == 0 || n < c.fetches); n++ {
		if n > 0 && !sleep(ctx, c.pause()) {
			return nil
		}
		sent := time.Now()
		res, err := conn.Fetch(ctx, ids)
		if err != nil {
			return err
		}
		j.check(res.Sets, sent, time.Now())
	}
	return nil
}

func (c *client) choose() []*metric {
	var all []*metric
	for _, i := range c.rand.Perm(len(c.model.metrics))[:min(c.metrics, len(c.model.metrics))] {
		all = append(all, &c.model.metrics[i])
	}
	return all
}

// lookUp finds metrics, which all exist, and those of their tracks.
func (c *client) lookUp(ctx context.Context, conn *pmapi.Conn, metrics []*metric) ([]chosen, error) {
	var list []chosen
	for _, t := range tracks() {
		if !slices.ContainsFunc(metrics, func(m *metric) bool { return m.form.track == t.name }) {
			continue
		}
		for _, r := range t.roles() {
			list = append(list, chosen{name: t.metric(r), track: &t, role: r})
		}
	}
	for _, m := range metrics {
		list = append(list, chosen{name: m.name, metric: m})
	}
	names, ids := make([]string, len(list)), make([]pdu.PMID, len(list))
	for i := range list {
		names[i] = list[i].name
	}
	found, err := conn.LookupNames(ctx, names)
	if err != nil {
		return nil, err
	}
	for i, f := range found {
		if f.Code < 0 {
			return nil, fmt.Errorf("%s: %w", names[i], f.Code)
		}
		ids[i], list[i].id = f.PMID, f.PMID
	}
	descs, err := conn.Descs(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i, d := range descs {
		if d.Code < 0 {
			return nil, fmt.Errorf("descriptor of %s: %w", names[i], d.Code)
		}
		list[i].typ = d.Desc.Type
	}
	return list, nil
}

// dial connects, and asks again while the queue of those who want to is full.
func (s *scene) dial(ctx context.Context) (*pmapi.Conn, error) {
	for begin := time.Now(); ; {
		conn, err := pmapi.Dial(ctx, "unix", s.socket)
		if !errors.Is(err, syscall.EAGAIN) || time.Since(begin) > soon || !sleep(ctx, redial) {
			return conn, err
		}
	}
}

// regular is a fixed interval.
func regular(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// anyPause is between two limits, all orders of magnitude equally likely.
func anyPause(r *rand.Rand, least, most time.Duration) func() time.Duration {
	return func() time.Duration {
		return time.Duration(float64(least) * math.Pow(float64(most)/float64(least), r.Float64()))
	}
}

// sleep returns early, with false, when ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// reader is a client of the definitions that are edited.
type reader struct {
	*scene
	name   string
	client *reloadtest.Client
	pause  time.Duration
}

// run goes on until ctx ends.
func (r *reader) run(ctx context.Context) {
	for ctx.Err() == nil {
		begin := time.Now()
		if r.weather.bad(begin, begin, pmcdGone, pmcdTold) { // what package reloadtest asks for is meant for a pmcd that stays
			sleep(ctx, redial)
			continue
		}
		if err := r.life(ctx); err != nil && ctx.Err() == nil {
			r.failed(r.name, begin, err)
			sleep(ctx, redial)
		}
	}
}

// readerFetches is how often a reader fetches before it looks names up anew.
const readerFetches = 25

// life is one connection.
func (r *reader) life(ctx context.Context) error {
	conn, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	r.tally.connects.Add(1)
	names := r.client.Choose()
	found, err := conn.LookupNames(ctx, names)
	if err != nil {
		return err
	}
	for i, n := range found {
		if n.Code < 0 {
			continue
		}
		desc, err := conn.Desc(ctx, n.PMID)
		switch {
		case conn.Err() != nil:
			return err
		case err == nil:
			if err := r.client.Found(names[i], desc); err != nil {
				r.tally.problem(wrongValue, "%s: %v", r.name, err)
			}
		}
	}
	for range readerFetches {
		sent := time.Now()
		res, err := conn.Fetch(ctx, r.client.IDs())
		if err != nil {
			return err
		}
		r.tally.fetches.Add(1)
		answered := time.Now()
		err = r.client.Check(res.Sets, answered)
		switch {
		case r.weather.bad(sent, answered, pmcdGone, pmcdTold):
			return err
		case onlyMissing(err):
			r.tally.problem(missingValue, "%s: %v", r.name, err)
		case err != nil:
			r.tally.problem(wrongValue, "%s: %v", r.name, err)
		default:
			r.tally.values.Add(int64(len(res.Sets)))
		}
		if !sleep(ctx, r.pause) {
			return nil
		}
	}
	return nil
}

// onlyMissing reports whether all that is wrong with a fetch is that there have been no samples in time.
func onlyMissing(err error) bool {
	all, ok := err.(interface{ Unwrap() []error })
	return ok && !slices.ContainsFunc(all.Unwrap(), func(err error) bool { return !errors.Is(err, pdu.ErrAgain) })
}

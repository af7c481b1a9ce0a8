package soak

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"pmdaderived/internal/agent/reloadtest"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
	"pmdaderived/test/pmcdtest"
	"pmdaderived/test/rig"
)

// redial is the pause after a connection that failed.
const redial = 100 * time.Millisecond

// shared has the parts of a run that all clients use.
type shared struct {
	pmcd         *pmcdtest.PMCD
	model        *model
	tally        *tally
	disturbances *disturbances
	births       *birthTally
	// agents lie. With them pmcd may lose values of other agents, so clients also fetch an operand itself
	lying     bool
	blockedAt atomic.Int64 // in ns: the last answer of pmcd that came so late that a tick may be a gap
}

// reconnect calls life with one connection after the other until ctx ends. An error is excused if pmcd was restarted at
// that time.
func (s *shared) reconnect(ctx context.Context, who string, life func(context.Context, *pmapi.Conn) error) {
	for ctx.Err() == nil {
		begin := time.Now()
		err := s.withConnection(ctx, life)
		switch {
		case err == nil || ctx.Err() != nil:
			continue
		case s.disturbances.affect(begin, time.Now(), pmcdGone, pmcdSIGHUP):
			s.tally.excused.Add(1)
		default:
			s.tally.addProblem(failedCall, "%s: %v", who, err)
		}
		rig.Sleep(ctx, redial)
	}
}

// withConnection calls life with a new connection.
func (s *shared) withConnection(ctx context.Context, life func(context.Context, *pmapi.Conn) error) error {
	conn, err := rig.Dial(ctx, s.pmcd)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is lost with it
	return life(ctx, conn)
}

// client is a program that looks metrics up once and fetches them again and again.
type client struct {
	*shared
	name         string
	rand         *rand.Rand
	metrics      int // number of metrics that it chooses
	pace         rig.Pace
	fetches      int      // for each connection; 0: without end
	severalLists bool     // per connection; a list then does not have all that came since its last fetch
	unchecked    []string // metrics that it also fetches, without a check

	list    []selection // nil: it chooses
	windows *atomic.Int64
}

func (c *client) run(ctx context.Context) { c.reconnect(ctx, c.name, c.fetchList) }

// fetchList chooses a list of metrics and fetches it over a connection.
func (c *client) fetchList(ctx context.Context, conn *pmapi.Conn) error {
	list := c.choose()
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].name
	}
	fetcher, err := rig.LookUp(ctx, conn, names...)
	if err != nil {
		return err
	}
	asked := time.Now()
	descs, err := fetcher.Describe(ctx)
	switch {
	case c.causedByKill(asked, time.Now(), err):
		c.tally.excused.Add(1)
		rig.Sleep(ctx, redial)
		return nil
	case err != nil:
		return err
	}
	for i, d := range descs {
		list[i].desc = d
	}
	if err := c.addUnchecked(ctx, fetcher); err != nil {
		return err
	}
	j, n := newJudge(c.shared, c.name, list, c.windows), 0
	return fetcher.FetchAt(ctx, c.pace, func(f rig.Fetched) bool {
		j.check(f)
		n++
		return n != c.fetches
	})
}

// causedByKill reports whether a call failed because wave was killed before it answered.
func (s *shared) causedByKill(asked, failed time.Time, err error) bool {
	refused, ok := errors.AsType[*rig.Refused](err)
	return ok && refused.Code == pdu.ErrIPC && strings.HasPrefix(refused.Name, waveName+".") &&
		s.disturbances.overlap(asked, failed, agentGone)
}

// choose returns metrics of the model, and before them the metrics of their tracks, unless the client has a list.
func (c *client) choose() (list []selection) {
	if c.list != nil {
		return slices.Clone(c.list)
	}
	for _, i := range c.rand.Perm(len(c.model.metrics))[:min(c.metrics, len(c.model.metrics))] {
		x := &c.model.metrics[i]
		if !c.severalLists || x.form.track != sinceLastFetchTrack {
			list = append(list, selection{name: x.name, metric: x})
		}
	}
	var told []selection
	for _, t := range tracks() {
		if !slices.ContainsFunc(list, func(x selection) bool { return x.metric.form.track == t.name }) {
			continue
		}
		for _, r := range t.roles() {
			told = append(told, selection{name: t.metric(r), track: &t, role: r})
		}
	}
	if c.lying {
		told = append([]selection{{name: plainName}}, told...)
	}
	return append(told, list...)
}

// addUnchecked adds the unchecked metrics that exist to the list of a client.
func (c *client) addUnchecked(ctx context.Context, to *rig.Client) error {
	if len(c.unchecked) == 0 {
		return nil
	}
	found, err := to.LookupNames(ctx, c.unchecked)
	for i, f := range found {
		if f.Code >= 0 {
			to.Names, to.IDs = append(to.Names, c.unchecked[i]), append(to.IDs, f.PMID)
		}
	}
	return err
}

// reader is a client of the definitions that are edited.
type reader struct {
	*shared
	name   string
	client *reloadtest.Client
	pace   rig.Pace
}

func (r *reader) run(ctx context.Context) {
	r.reconnect(ctx, r.name, func(ctx context.Context, conn *pmapi.Conn) error {
		now := time.Now()
		// the rules of package reloadtest hold for a pmcd that stays
		if r.disturbances.affect(now, now, pmcdGone, pmcdSIGHUP) {
			rig.Sleep(ctx, redial)
			return nil
		}
		return r.fetchChosen(ctx, conn)
	})
}

// readerFetches is the number of fetches of a reader between two lookups of names.
const readerFetches = 25

// fetchChosen looks names up and fetches their metrics over a connection.
func (r *reader) fetchChosen(ctx context.Context, conn *pmapi.Conn) error {
	names := r.client.ChooseNames()
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
			if err := r.client.AddMetric(names[i], desc); err != nil {
				r.tally.addProblem(wrongValue, "%s: %v", r.name, err)
			}
		}
	}
	for range readerFetches {
		f, err := rig.Fetch(ctx, conn, r.client.IDs())
		if err != nil {
			return err
		}
		r.tally.fetches.Add(1)
		err = r.client.Check(f.Sets, f.Answered)
		switch {
		case r.disturbances.affect(f.Sent, f.Answered, pmcdGone, pmcdSIGHUP):
			return err
		case onlyMissing(err):
			r.tally.addProblem(missingValue, "%s: %v", r.name, err)
		case err != nil:
			r.tally.addProblem(wrongValue, "%s: %v", r.name, err)
		default:
			r.tally.values.Add(int64(len(f.Sets)))
		}
		if !rig.Sleep(ctx, time.Until(r.pace(time.Now()))) {
			return nil
		}
	}
	return nil
}

// onlyMissing reports whether missing values are all that is wrong with a fetch.
func onlyMissing(err error) bool {
	all, ok := err.(interface{ Unwrap() []error })
	return ok && !slices.ContainsFunc(all.Unwrap(), func(err error) bool { return !errors.Is(err, pdu.ErrAgain) })
}

package freshbench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"pmdaderived/test/rig"
)

// taken is one fetch of a metric that is a time of day.
type taken struct {
	sent, answered time.Time
	age            time.Duration // when the answer was there
	ok             bool          // there was a value
}

// take fetches the metric of a client at a pace.
func take(ctx context.Context, c *rig.Client, pace rig.Pace) (all []taken, err error) {
	err = c.FetchAt(ctx, pace, func(f rig.Fetched) bool {
		age, ok := f.Age(0)
		all = append(all, taken{f.Sent, f.Answered, age, ok})
		return true
	})
	return all, err
}

// keptClients lets clients that look their metric up once and then only fetch, as pmproxy does for a kept context, fetch for a
// while at paces of their own. It returns the ages of all values, how many fetches there were, and what the daemon says.
func (b *bench) keptClients(ctx context.Context, length time.Duration, pace func(client int) rig.Pace) (
	ages rig.Durations, fetches int, f rig.Figures, err error,
) {
	all, problems := make([][]taken, keptContexts), make([]error, keptContexts)
	f, err = b.during(ctx, func() error {
		var fetching sync.WaitGroup
		defer fetching.Wait()
		for i := range all {
			c, err := rig.Open(ctx, b.pmcd, fmt.Sprintf("derived.kept.k%d", i))
			if err != nil {
				return err
			}
			fetching.Go(func() {
				defer c.Close() //nolint:errcheck // nothing is lost with it
				all[i], problems[i] = take(ctx, c, pace(i).Until(time.Now().Add(length)))
			})
		}
		return nil
	})
	for i, client := range all {
		fetches += len(client)
		for n, f := range client {
			if f.ok {
				ages = append(ages, f.age)
			}
			if !f.ok || f.age > oldestAllowed {
				b.log.Notef("client %d, fetch %d at %v: age %v", i, n+1, f.sent.Sub(client[0].sent), f.age)
			}
		}
	}
	return ages, fetches, f, errors.Join(append(problems, err)...)
}

const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 20 * time.Second
	oldestAllowed = time.Second
)

// irregular lets clients with kept contexts fetch at times that nobody can foretell.
func (b *bench) irregular(ctx context.Context) ([]rig.Row, error) {
	ages, fetches, f, err := b.keptClients(ctx, b.plan.Irregular, func(client int) rig.Pace {
		return rig.Anytime(rand.New(rand.NewPCG(1, uint64(client))), shortestPause, longestPause)
	})
	const what = "clients that fetch at random times"
	complete := allOf(what+": fetches with a value", len(ages), fetches)
	complete.Timed = true
	return []rig.Row{
		rig.Times(what+": age at the client", ages, rig.Limit{Q: 0.5}, rig.Limit{Q: 0.99}, rig.Limit{Q: 1, Most: oldestAllowed}),
		complete, perFetch(what, f, uint64(fetches), 0),
	}, err
}

// togetherInterval is how often the clients of coincide fetch.
const togetherInterval = 500 * time.Millisecond

// coincide lets clients fetch different metrics at the same moments.
func (b *bench) coincide(ctx context.Context) ([]rig.Row, error) {
	ages, fetches, f, err := b.keptClients(ctx, b.plan.Coincide, func(int) rig.Pace { return rig.Every(togetherInterval) })
	what := fmt.Sprintf("%d clients at the same moments", keptContexts)
	upstream := f.Numbers[upstreamFetches]
	return []rig.Row{
		{
			What: what + ": upstream fetches", Measured: fmt.Sprint(upstream), Target: fmt.Sprintf("< %d, their own", fetches),
			OK: upstream < float64(fetches), Timed: true,
		},
		rig.Times(what+": age at the client", ages, rig.Limit{Q: 0.5}, rig.Limit{Q: 0.99}),
	}, err
}

package freshbench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// kept is a client that looks its metric up once and then only fetches, as pmproxy does for a kept context.
type kept struct {
	conn *pmapi.Conn
	id   pdu.PMID
}

// keep opens a context.
func (b *bench) keep(ctx context.Context, metric string) (*kept, error) {
	c, err := dial(ctx, b.host())
	if err != nil {
		return nil, err
	}
	ids, err := lookUp(ctx, c, metric)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &kept{c, ids[0]}, nil
}

// taken is one fetch of a kept context. The value is a time of day, so it has an age.
type taken struct {
	start, end time.Time
	age        time.Duration // when the reply was there; 0: there was no value
}

func (k *kept) fetch(ctx context.Context) (taken, error) {
	f := taken{start: time.Now()}
	res, err := k.conn.Fetch(ctx, []pdu.PMID{k.id})
	f.end = time.Now()
	if err != nil {
		return f, err
	}
	if set := &res.Sets[0]; len(set.Values) == 1 {
		f.age = time.Duration(wallClock(f.end) - set.Values[0].Bits)
	}
	return f, nil
}

// fetchAt fetches until the end at the times that next tells; it is given the time of the fetch before, at
// first that of the lookup.
func (k *kept) fetchAt(ctx context.Context, end time.Time, next func(time.Time) time.Time) ([]taken, error) {
	var all []taken
	for at := next(time.Now()); at.Before(end); at = next(at) {
		if err := pause(ctx, time.Until(at)); err != nil {
			return all, err
		}
		f, err := k.fetch(ctx)
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
	return all, nil
}

// keptClients lets all kept contexts fetch for a while at times of their own and returns what each has taken.
func (b *bench) keptClients(ctx context.Context, length time.Duration, next func(client int) func(time.Time) time.Time) ([][]taken, error) {
	clients := make([]*kept, keptContexts)
	for i := range clients {
		k, err := b.keep(ctx, fmt.Sprintf("derived.kept.k%d", i))
		if err != nil {
			return nil, err
		}
		defer k.conn.Close() //nolint:errcheck // nothing is lost with it
		clients[i] = k
	}
	all, problems := make([][]taken, keptContexts), make([]error, keptContexts)
	end := time.Now().Add(length)
	var fetching sync.WaitGroup
	for i, k := range clients {
		fetching.Go(func() { all[i], problems[i] = k.fetchAt(ctx, end, next(i)) })
	}
	fetching.Wait()
	return all, errors.Join(problems...)
}

const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 20 * time.Second
	oldestAllowed = time.Second
)

// irregular lets clients with kept contexts fetch at times that nobody can foretell.
func irregular(ctx context.Context, b *bench) ([]Row, error) {
	length := b.options.Plan.Irregular
	if length == 0 {
		return nil, nil
	}
	before, err := b.figures(ctx)
	if err != nil {
		return nil, err
	}
	all, err := b.keptClients(ctx, length, func(client int) func(time.Time) time.Time {
		random := rand.New(rand.NewPCG(1, uint64(client)))
		ratio := float64(longestPause) / float64(shortestPause)
		first := true
		return func(last time.Time) time.Time { // pauses of every order of magnitude are equally likely
			if first {
				first = false
				return last
			}
			return last.Add(time.Duration(float64(shortestPause) * math.Pow(ratio, random.Float64())))
		}
	})
	if err != nil {
		return nil, err
	}
	after, err := b.figures(ctx)
	if err != nil {
		return nil, err
	}
	for i, client := range all {
		for n, f := range client {
			if f.age > oldestAllowed || f.age == 0 {
				b.logf("client %d, fetch %d: age %v; fetches before %v", i, n+1, f.age, pauses(client[:n+1]))
			}
		}
	}
	ages, fetches := agesOf(all)
	f := after.since(before)
	measured, _, ok := judge(ages, []limit{{0.5, 0}, {0.99, 0}, {1, oldestAllowed}})
	const what = "clients that fetch at random times"
	return []Row{
		{What: what + ": age at the client", Measured: measured, Target: "max ≤ 1000 ms", OK: ok, Timed: true},
		{
			What: what + ": fetches with a value", Measured: fmt.Sprintf("%d of %d", len(ages), fetches),
			Target: "all", OK: len(ages) == fetches, Timed: true,
		},
		{
			What:     what + ": upstream fetches for a client's fetch",
			Measured: fmt.Sprintf("%d / %d = %.3g", f.upstream, fetches, float64(f.upstream)/float64(max(1, fetches))), OK: true,
		},
	}, nil
}

// pauses are the times between fetches.
func pauses(all []taken) []time.Duration {
	var found []time.Duration
	for i := range all[1:] {
		found = append(found, all[i+1].start.Sub(all[i].start).Round(time.Millisecond))
	}
	return found
}

// agesOf gathers the ages of all values, and counts the fetches.
func agesOf(all [][]taken) (ages durations, fetches int) {
	var found []time.Duration
	for _, client := range all {
		fetches += len(client)
		for _, f := range client {
			if f.age > 0 {
				found = append(found, f.age)
			}
		}
	}
	return newDurations(found), fetches
}

// togetherInterval is how often the clients of coincide fetch.
const togetherInterval = 500 * time.Millisecond

// coincide lets clients fetch different metrics at the same moments.
func coincide(ctx context.Context, b *bench) ([]Row, error) {
	length := b.options.Plan.Coincide
	if length == 0 {
		return nil, nil
	}
	before, err := b.figures(ctx)
	if err != nil {
		return nil, err
	}
	all, err := b.keptClients(ctx, length, func(int) func(time.Time) time.Time {
		return func(last time.Time) time.Time { return last.Truncate(togetherInterval).Add(togetherInterval) }
	})
	if err != nil {
		return nil, err
	}
	after, err := b.figures(ctx)
	if err != nil {
		return nil, err
	}
	ages, fetches := agesOf(all)
	f := after.since(before)
	measured, _, _ := judge(ages, []limit{{0.5, 0}, {0.99, 0}})
	what := fmt.Sprintf("%d clients at the same moments", keptContexts)
	return []Row{
		{
			What: what + ": upstream fetches", Measured: fmt.Sprint(f.upstream), Target: fmt.Sprintf("< %d, their own", fetches),
			OK: f.upstream < uint64(fetches), Timed: true,
		},
		{What: what + ": age at the client", Measured: measured, OK: true, Timed: true},
	}, nil
}
